package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// many returns n members with different names, then more.
func many(n int, more string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":%d,`, i, i)
	}
	return "{" + b.String() + more + "}"
}

var lines = []struct {
	in   string
	want error // nil: a record
}{
	{`{}`, nil},
	{" \t{ } \r", nil},
	{`{"a":1,"b":[true,false,null,-0.5e+3,"x"],"c":{"d":{}}}`, nil},
	{`{"a":0,"b":-0,"c":10,"d":1.0,"e":1E5,"f":1e-5}`, nil},
	{`{"":""}`, nil},
	{`{"a":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"}`, nil},
	{`{"a":"é😀` + "\x7f\u0085\ufffd\ufffe" + `"}`, nil},
	{`{"a":` + nested(maxDepth-1) + `}`, nil},
	{many(100, `"x":1`), nil},

	{``, errNotObject},
	{`null`, errNotObject},
	{`[{}]`, errNotObject},
	{"\xef\xbb\xbf{}", errNotObject}, // a byte order mark
	{"\u00a0{}", errNotObject},

	{`{`, errSyntax},
	{`{"a"`, errSyntax},
	{`{"a":`, errSyntax},
	{`{"a":1`, errSyntax},
	{`{"a":1,`, errSyntax},
	{`{"a":1,}`, errSyntax},
	{`{,}`, errSyntax},
	{`{a:1}`, errSyntax},
	{`{'a':1}`, errSyntax},
	{`{"a" 1}`, errSyntax},
	{`{"a":1 "b":2}`, errSyntax},
	{`{"a":[1,]}`, errSyntax},
	{`{"a":[1 2]}`, errSyntax},
	{`{"a":[}`, errSyntax},
	{`{"a":01}`, errSyntax},
	{`{"a":+1}`, errSyntax},
	{`{"a":1.}`, errSyntax},
	{`{"a":.5}`, errSyntax},
	{`{"a":-}`, errSyntax},
	{`{"a":1e}`, errSyntax},
	{`{"a":1e+}`, errSyntax},
	{`{"a":0x10}`, errSyntax},
	{`{"a":NaN}`, errSyntax},
	{`{"a":True}`, errSyntax},
	{`{"a":tru}`, errSyntax},
	{`{"a":nul`, errSyntax},
	{`{"a":truefalse}`, errSyntax},
	{`{"a":"x}`, errSyntax},
	{`{"a":"\x"}`, errSyntax},
	{`{"a":"\u12"}`, errSyntax},
	{`{"a":"\u12g4"}`, errSyntax},
	{`{"a":"\`, errSyntax},
	{"{\"a\":\"\x00\"}", errSyntax},
	{"{\"a\":\"1234567\x1f\"}", errSyntax},
	{"{\"a\":\"\t\"}", errSyntax},
	{"{\v}", errSyntax},
	{`{}{}`, errSyntax},
	{`{} x`, errSyntax},
	{`{}//`, errSyntax},
	{"{}\x00", errSyntax},

	{"{\"a\":\"\xff\"}", errUTF8},
	{"{\"\xc3\":1}", errUTF8},
	{"{\"a\":\"\xc0\x80\"}", errUTF8},     // overlong NUL
	{"{\"a\":\"\xed\xa0\x80\"}", errUTF8}, // a surrogate
	{"{\"a\":\"\xf4\x90\x80\x80\"}", errUTF8},
	{`{"a":"\ud800"}`, errUTF8},
	{`{"a":"\udc00\ud800"}`, errUTF8},
	{`{"a":"\ud800\u0041"}`, errUTF8},
	{`{"a":"\ud800\n"}`, errUTF8},

	{`{"a":` + nested(maxDepth) + `}`, errTooDeep},
	{`{"a":` + strings.Repeat(`{"a":`, 100_000), errTooDeep},

	{`{"a":1,"a":2}`, errDuplicate},
	{`{"a":1,"b":2,"\u0061":3}`, errDuplicate},
	{`{"\u00e9":1,"é":2}`, errDuplicate},
	{`{"":1,"":2}`, errDuplicate},
	{many(100, `"n7":1`), errDuplicate},
	{many(100, `"\u006e99":1`), errDuplicate},
	{`{"read":{"x":1,"x":2}}`, errDuplicate},
	{`{"read":[[{"y":{"x":1,"\u0078":2}}]]}`, errDuplicate},
	{`{"\u0072ead":{"x":1,"x":2}}`, errDuplicate},
	{`{"read":` + many(100, `"n0":1`) + `}`, errDuplicate},
	{`{"read":{"x":{"x":{"x":1}},"y":{"x":2}}}`, nil},
	{`{"read":[{"x":1},{"x":1}]}`, nil},
	{`{"other":{"x":1,"x":2}}`, nil}, // not read here, so it may repeat
	{`{"other":{"read":{"x":1,"x":2}}}`, nil},
	{`{"read":1,"Read":2,"read ":3}`, nil},
}

func TestParse(t *testing.T) {
	for _, c := range lines {
		_, err := Parse([]byte(c.in), "read")
		if !errors.Is(err, c.want) || err == nil && c.want != nil {
			t.Errorf("%.80q: %v, want %v", c.in, err, c.want)
		}
	}
}

// TestEveryByteInEveryPlace: plain reads eight bytes at a time. It must see a special
// byte wherever it stands, and whatever surrounds it.
func TestEveryByteInEveryPlace(t *testing.T) {
	for pos := range 20 {
		for c := range 256 {
			for _, filler := range []byte{'a', ' ', '!', '#', '[', ']', 0x7f} {
				in := []byte(`{"a":"` + strings.Repeat(string(rune(filler)), 20) + `"}`)
				in[6+pos] = byte(c)
				_, err := Parse(in)
				if (err == nil) != jsontext.Value(in).IsValid() {
					t.Fatalf("%q: %v", in, err)
				}
			}
		}
	}
}

// oracle reports whether jsontext accepts a line as a record by pulse's rules.
func oracle(b []byte, reads ...string) bool {
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	if !bytes.HasPrefix(trimmed, []byte("{")) || deepest(b) > maxDepth {
		return false
	}
	if !jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true)) {
		return false
	}
	seen := map[string]bool{}
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	for dec.ReadToken(); dec.PeekKind() != '}'; {
		token, _ := dec.ReadToken()
		name := token.String()
		value, _ := dec.ReadValue()
		if seen[name] || slices.Contains(reads, name) && !value.IsValid() {
			return false
		}
		seen[name] = true
	}
	return true
}

// deepest returns how deeply b nests, as far as it can be read.
func deepest(b []byte) (depth int) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowDuplicateNames(true))
	for {
		if _, err := dec.ReadToken(); err != nil {
			return depth
		}
		depth = max(depth, dec.StackDepth())
	}
}

// FuzzScan: a line is a record exactly if jsontext says so, and replacing the
// owned member leaves all other bytes alone.
func FuzzScan(f *testing.F) {
	for _, c := range lines {
		if len(c.in) < 4096 {
			f.Add([]byte(c.in))
		}
	}
	f.Add([]byte(`{"own":1,"x":"\ud83d\ude00" , "read" : [ "a" ] }`))
	f.Add([]byte(`{ "x" : 1 , "own" : {} , "y" : 2 }`))
	f.Add([]byte(`{"o\u0077n":null}`))
	f.Add([]byte(` {"other":{"a":1}, "read": {"a":{"b":1,"c":[{"d":2}]} , "\u0061b":"\"","":[]},"own":{},"more":{"x":1}}`))
	f.Add([]byte(`{"read":{"a":1,"unread":"` + strings.Repeat("x", 1000) + `","b":"` + strings.Repeat("y", 1000) + `"}}`))
	f.Add([]byte(`{"read":` + many(maxNoted+1, `"x":{"y":1}`) + `,"own":{"a":1}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		rec, err := Parse(b, "read", "own")
		if want := oracle(b, "read", "own"); (err == nil) != want {
			t.Fatalf("%q: %v, jsontext says %v", b, err, want)
		}
		if err == nil {
			checkReplaced(t, rec)
			checkEach(t, rec, "read")
			checkEach(t, rec, "own")
			checkEach(t, rec, "other")
		}
	})
}

// checkEach compares the walk by the notes of the scan with the one that looks at the bytes.
func checkEach(t *testing.T, rec *Record, name string) {
	t.Helper()
	var got, want []string
	note := func(list *[]string) func(string, Value) error {
		return func(name string, v Value) error {
			if *list = append(*list, name, string(v)); v == "0" {
				return ErrType
			}
			return nil
		}
	}
	gotErr := rec.Each(name, note(&got), "unread")
	wantErr := rec.Decode(name, func(v Value) error {
		keep := note(&want)
		return v.Each(func(name string, v Value) error {
			if name == "unread" && len(v) > 2*long {
				return nil
			}
			return keep(name, v)
		})
	})
	if !slices.Equal(got, want) || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
		t.Fatalf("%q in %q: %q, %v; want %q, %v", name, rec.raw, got, gotErr, want, wantErr)
	}
}

func checkReplaced(t *testing.T, rec *Record) {
	t.Helper()
	var kept [][]byte
	for _, m := range rec.members {
		if string(m.name) != "own" {
			kept = append(kept, rec.raw[m.start:m.end])
		}
	}
	value := []byte(`{"new":[1]}`)
	out := rec.AppendReplaced(nil, "own", value)
	check(t, out, append(kept, slices.Concat([]byte(`"own":`), value)))
	check(t, rec.AppendWithout(nil, "own"), kept)
	// Blanks around a member are removed with it; everything else stays as it is.
	second := replaced(t, out, value)
	if third := replaced(t, second, value); !bytes.Equal(third, second) {
		t.Fatalf("%q became %q", second, third)
	}
	if !rec.Has("own") {
		open := rec.raw[:len(rec.raw)-1]
		if !bytes.HasPrefix(out, open) {
			t.Fatalf("%q does not go on from %q", out, open)
		}
	}
}

func replaced(t *testing.T, line, value []byte) []byte {
	t.Helper()
	rec, err := Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	return rec.AppendReplaced(nil, "own", value)
}

// check parses a line and compares its members' bytes.
func check(t *testing.T, line []byte, want [][]byte) {
	t.Helper()
	rec, err := Parse(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	var got [][]byte
	for _, m := range rec.members {
		got = append(got, rec.raw[m.start:m.end])
	}
	if !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("%q has %q, want %q", line, got, want)
	}
}

func TestAppendReplaced(t *testing.T) {
	for _, c := range []struct{ in, replaced, without string }{
		{`{}`, `{"own":0}`, `{}`},
		{`{ }`, `{ "own":0}`, `{ }`},
		{`{"own":1}`, `{"own":0}`, `{}`},
		{`{ "own" : 1 }`, `{"own":0}`, `{}`},
		{`{"a":1}`, `{"a":1,"own":0}`, `{"a":1}`},
		{` { "a" : 1 } `, `{ "a" : 1 ,"own":0}`, `{ "a" : 1 }`},
		{`{"own":1,"a":2}`, `{"a":2,"own":0}`, `{"a":2}`},
		{`{"a":1,"own":2}`, `{"a":1,"own":0}`, `{"a":1}`},
		{`{"a":1 , "own":{"x":[]} , "b":3}`, `{"a":1 , "b":3,"own":0}`, `{"a":1 , "b":3}`},
		{`{"\u006fwn":1,"a":2}`, `{"a":2,"own":0}`, `{"a":2}`},
	} {
		rec, err := Parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		if got := rec.AppendReplaced([]byte("> "), "own", []byte("0")); string(got) != "> "+c.replaced {
			t.Errorf("%s: replaced gives %s, want %s", c.in, got, c.replaced)
		}
		if got := rec.AppendWithout([]byte("> "), "own"); string(got) != "> "+c.without {
			t.Errorf("%s: without gives %s, want %s", c.in, got, c.without)
		}
	}
}

// TestHugeObjectIsLinear: a million names would take hours if each were compared
// with all before it.
func TestHugeObjectIsLinear(t *testing.T) {
	huge := []byte(`{"read":` + many(200_000, `"x":1`) + `}`)
	rec, err := Parse(huge, "read")
	if err != nil || !rec.Has("read") {
		t.Fatal(err)
	}
	if n := cap(rec.inner); n > 2*maxNoted {
		t.Errorf("%d places are kept", n)
	}
}

// sample returns a record of 3 kB like those of real mail.
func sample() []byte {
	var b strings.Builder
	b.WriteString(`{"message":{"source":"imaps://me@imap.example.com/INBOX","uid":42,"headers":[`)
	for i := range 20 {
		fmt.Fprintf(&b, `["X-Field-%d","%s"],`, i, strings.Repeat("bar baz quux ", 4))
	}
	fmt.Fprintf(&b, `["Subject","x"]],"text":"%s","truncated":true}}`, strings.Repeat(`Dear agent, \"read\" this.\n`, 40))
	return append([]byte(b.String()), '\n')
}

func BenchmarkStage(b *testing.B) {
	input := bytes.Repeat(sample(), 1000)
	value := []byte(`{"sender":"me@example.com"}`)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := stageTo(io.Discard, bytes.NewReader(input), func(*Record) ([]byte, error) { n++; return value, nil })
		if err != nil || n != 1000 {
			b.Fatal(n, err)
		}
	}
}
