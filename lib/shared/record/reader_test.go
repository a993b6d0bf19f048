package record

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll returns the records as lines, and the error at which they ended.
func readAll(r *Reader) (got []string, err error) {
	for {
		rec, err := r.Next()
		if err != nil {
			return got, err
		}
		got = append(got, string(rec.raw))
	}
}

func TestReader(t *testing.T) {
	const limit = 20
	fits, tooLong := `{"a":"`+strings.Repeat("x", limit-8)+`"}`, `{"a":"`+strings.Repeat("x", limit-7)+`"}`
	for _, c := range []struct {
		name, in string
		want     string // records, joined with blanks
		err      string // empty: the end
	}{
		{"nothing", "", "", ""},
		{"blank lines", "\n \t\r\n{}\n\n{}\n\n", "{} {}", ""},
		{"no final newline", "{}\n{\"a\":1}", `{} {"a":1}`, ""},
		{"CRLF", "{}\r\n{}\r\n", "{} {}", ""},
		{"a cut line", "{}\n{\"a\":1", "{}", "stdin:2: not valid JSON: ends early, want a comma or }"},
		{"bad in the middle", "{}\n\n{\"a\":1 x}\n{}\n", "{}", "stdin:3: not valid JSON: column 8: want a comma or }"},
		{"two on a line", "{}{}\n", "", "stdin:1: not valid JSON: column 3: want the end of the line"},
		{"not an object", "{}\n[]\n", "{}", "stdin:2: not a JSON object"},
		{"as long as allowed", fits + "\n" + fits, fits + " " + fits, ""},
		{"too long", "{}\n" + tooLong + "\n{}\n", "{}", "stdin:2: longer than the limit of 20 bytes (--max-record)"},
		{"too long, no newline", "{}\n" + tooLong, "{}", "stdin:2: longer than the limit of 20 bytes (--max-record)"},
		{"too long and blank", strings.Repeat(" ", limit+1) + "\n{}\n", "", "stdin:1: longer than the limit of 20 bytes (--max-record)"},
	} {
		for how, in := range map[string]io.Reader{
			"whole":       strings.NewReader(c.in),
			"bytewise":    iotest.OneByteReader(strings.NewReader(c.in)),
			"end with it": iotest.DataErrReader(strings.NewReader(c.in)),
		} {
			r := NewReader(in, "stdin", limit)
			got, err := readAll(r)
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s, %s: %q, want %q", c.name, how, got, c.want)
			}
			if c.err == "" && !errors.Is(err, io.EOF) || c.err != "" && err.Error() != c.err {
				t.Errorf("%s, %s: %v, want %s", c.name, how, err, c.err)
			}
			if _, again := r.Next(); again != err {
				t.Errorf("%s, %s: %v, then %v", c.name, how, err, again)
			}
		}
	}
}

// TestOneLine: what was printed over several lines is no record, and the error says what makes it
// one.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"{\n  \"message\": {}\n}\n": "jq -c . FILE, because each record is one line",
		"{}\n[\r\n  {}\n]\n":        "jq -c '.[]' FILE, because each record is one line",
		"{\"message\":{\n":          "",
	} {
		_, err := readAll(NewReader(strings.NewReader(in), "stdin", DefaultMax))
		var e interface{ Hint() string }
		if !errors.As(err, &e) || e.Hint() != want {
			t.Errorf("%q: %v, want the hint %q", in, err, want)
		}
	}
}

// TestReaderStopsForGood: an input that fails gives its error again and again, and the
// line that it left incomplete is not a record.
func TestReaderStopsForGood(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(io.MultiReader(strings.NewReader("{}\n{}"), iotest.ErrReader(broken), strings.NewReader("\n{}\n")), "stdin", DefaultMax)
	got, err := readAll(r)
	if len(got) != 1 || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	if _, again := r.Next(); !errors.Is(again, broken) {
		t.Error(again)
	}
}

// idle is an input that never gives a byte and never ends.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderGivesUpOnAnIdleInput(t *testing.T) {
	if _, err := NewReader(idle{}, "stdin", DefaultMax).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// endless is one line without end, and counts the bytes that were read from it.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.n += len(p)
	return len(p), nil
}

func TestReaderMemoryIsBounded(t *testing.T) {
	const limit = 1 << 20
	in := &endless{}
	r := NewReader(in, "stdin", limit)
	if _, err := r.Next(); !errors.Is(err, errTooLong) {
		t.Fatal(err)
	}
	if in.n > 2*limit || cap(r.buf) > limit+1 {
		t.Errorf("read %d bytes into %d", in.n, cap(r.buf))
	}
}

// FuzzReader: however the input is split into reads, the records are those of a naive
// reading, up to the first bad line.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n\n{\"a\":1}\n{\"a\":1,\"a\":2}\n{}"), 3)
	f.Add([]byte(strings.Repeat("{\"a\":\"x\"}\n", 20)), 7)
	f.Add([]byte("{}\r\n \r\n{"), 1)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		const limit = 30
		want, bad := naive(in, limit)
		src := &chunked{in, chunk}
		got, err := readAll(NewReader(src, "fuzz", limit))
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("%q, want %q", got, want)
		}
		var e *lineError
		if errors.As(err, &e) != (bad > 0) || e != nil && e.Line != bad {
			t.Fatalf("%v, want line %d", err, bad)
		}
	})
}

// naive returns the records of in and the number of the first bad line, or 0.
func naive(in []byte, limit int) (records []string, bad int) {
	for i, line := range bytes.Split(in, []byte("\n")) {
		if len(line) > limit {
			return records, i + 1
		}
		if len(bytes.Trim(line, " \t\r")) == 0 {
			continue
		}
		rec, err := Parse(line)
		if err != nil {
			return records, i + 1
		}
		records = append(records, string(rec.raw))
	}
	return records, 0
}

// chunked gives n bytes at each read, at least one.
type chunked struct {
	b []byte
	n int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(max(c.n, 1), len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

func stageTo(w io.Writer, r io.Reader, member func(*Record) ([]byte, error)) error {
	return Stage(NewReader(r, "stdin", DefaultMax), bufio.NewWriterSize(w, 1<<10), "own", member)
}

// writes keeps the bytes of each Write apart.
type writes [][]byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}

// TestStageWritesWholeLines: a process that is killed between two writes leaves no half
// of a line, even where a line is longer than the buffer.
func TestStageWritesWholeLines(t *testing.T) {
	var in strings.Builder
	for n := range 60 {
		in.WriteString(`{"a":"` + strings.Repeat("x", n*n) + "\"}\n")
	}
	var w writes
	if err := stageTo(&w, strings.NewReader(in.String()), func(*Record) ([]byte, error) { return []byte("0"), nil }); err != nil {
		t.Fatal(err)
	}
	if len(w) < 10 {
		t.Fatalf("%d writes prove nothing", len(w))
	}
	for _, p := range w {
		if p[len(p)-1] != '\n' {
			t.Fatalf("a write ends with %.40q", p[max(0, len(p)-40):])
		}
	}
	want := strings.ReplaceAll(in.String(), "\"}\n", "\",\"own\":0}\n")
	if got := string(bytes.Join(w, nil)); got != want {
		t.Error("the lines are not those that went in")
	}
}

// TestStagePrefix: at a bad record, or one that the stage can't judge, the records before
// it have been written and nothing else.
func TestStagePrefix(t *testing.T) {
	refuse := errors.New("refused")
	for in, want := range map[string]error{
		"{}\n{\"n\":1}\n{\"n\":1\n{}\n":   errSyntax,
		"{}\n{\"n\":1}\n{\"no\":1}\n{}\n": refuse,
		"{}\n{\"n\":1}\n[]":               errNotObject,
	} {
		var out bytes.Buffer
		err := stageTo(&out, strings.NewReader(in), func(rec *Record) ([]byte, error) {
			if rec.Has("no") {
				return nil, rec.Bad(refuse)
			}
			return []byte("0"), nil
		})
		if !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "stdin:3: ") {
			t.Errorf("%q: %v, want %v on line 3", in, err, want)
		}
		if got := out.String(); got != "{\"own\":0}\n{\"n\":1,\"own\":0}\n" {
			t.Errorf("%q: wrote %q", in, got)
		}
	}
}

// TestStageReportsItsOutput: a full disk is an error, not silence.
func TestStageReportsItsOutput(t *testing.T) {
	full := errors.New("full")
	for _, n := range []int{1, 1000} {
		in := strings.NewReader(strings.Repeat("{}\n", n))
		if err := stageTo(failing{full}, in, func(*Record) ([]byte, error) { return []byte("0"), nil }); !errors.Is(err, full) {
			t.Errorf("%d records: %v", n, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
