package message

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

// seeds are the broken messages in testdata and some that are whole.
func seeds(f *testing.F) {
	names, err := filepath.Glob("testdata/broken/*.eml")
	if err != nil || len(names) < 20 {
		f.Fatalf("%d seeds in testdata/broken: %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// check checks what every later stage relies on in a message.
func check(t *testing.T, raw []byte, opt Options) envelope.Message {
	t.Helper()
	m := Parse(Raw{Header: raw, Size: int64(len(raw))}, opt)
	if len(m.Headers) > maxFields || len([]rune(m.Text)) > opt.limit() || len(m.Attachments) > maxParts {
		t.Fatalf("over a bound: %d fields, %d bytes of text, %d attachments", len(m.Headers), len(m.Text), len(m.Attachments))
	}
	for _, s := range []string{m.Text, m.From, m.Subject} {
		if !utf8.ValidString(s) {
			t.Fatalf("not UTF-8: %q", s)
		}
		if i := strings.IndexFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }); i >= 0 {
			t.Fatalf("a control in %q", s)
		}
	}
	line := append(append([]byte(`{"message":`), m.Append(nil)...), '}')
	if len(line) > record.DefaultMax {
		t.Fatalf("a record of %d bytes", len(line))
	}
	rec, err := record.Parse(line, envelope.Member)
	if err != nil {
		t.Fatalf("a bad record: %v", err)
	}
	var back envelope.Message
	if err := back.Read(rec); err != nil {
		t.Fatalf("a record that a stage refuses: %v", err)
	}
	if !reflect.DeepEqual(back.Headers, m.Headers) || back.ID != m.ID || back.Digest != m.Digest {
		t.Fatalf("another message comes back:\n%q\n%q", back.Headers, m.Headers)
	}
	if fmt.Sprintf("%q", back.Thread) != fmt.Sprintf("%q", m.Thread) {
		t.Fatalf("another thread comes back: %q, %q", back.Thread, m.Thread)
	}
	return m
}

// FuzzHeader: any header gives a record that every stage accepts. Line ends do not change
// it. Every byte of a header without a defect stands in its fields.
func FuzzHeader(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := check(t, raw, Options{Scope: envelope.Headers})
		if bytes.Contains(raw, []byte("\r")) {
			return
		}
		crlf := check(t, bytes.ReplaceAll(raw, []byte("\n"), []byte("\r\n")), Options{Scope: envelope.Headers})
		if crlf.Digest != m.Digest || !reflect.DeepEqual(crlf.Headers, m.Headers) {
			t.Fatalf("CRLF changes the header:\n%q\n%q", crlf.Headers, m.Headers)
		}
		if len(m.Defects) > 0 {
			return
		}
		head, _, _ := splitHeader(raw)
		if got, want := rebuilt(m.Headers), squeezed(string(head)); got != want {
			t.Fatalf("fields say\n%q\nheader says\n%q", got, want)
		}
	})
}

// FuzzLineEnds: where lines end with CRLF, any other LF or CR is a defect that bars.
// Elsewhere a single kind of line end is not a defect.
func FuzzLineEnds(f *testing.F) {
	seeds(f)
	for _, s := range []string{"A: b\r\n\r\nbody\r\n", "A: b\r\n\nbody", "A: b\n\r\n", "A: b\rC: d\r\n", "A: b\r\n\r\n\r", "A: b\r\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > MaxHeader {
			return
		}
		strict := Parse(Raw{Header: raw, Size: int64(len(raw)), CRLF: true}, Options{Scope: envelope.Headers})
		if want := strings.ContainsAny(strings.ReplaceAll(string(raw), "\r\n", ""), "\r\n"); strict.Has(envelope.LineEnds) != want || want && strict.Unverifiable() == "" {
			t.Fatalf("%q: %q", raw, strict.Defects)
		}
		lf := bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))
		if m := check(t, lf, Options{Scope: envelope.Headers}); m.Has(envelope.LineEnds) && !bytes.Contains(lf, []byte("\r\n")) {
			t.Fatalf("%q: %q", lf, m.Defects)
		}
	})
}

// rebuilt and squeezed return a header without the blanks after its colons.
func rebuilt(fields []envelope.Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + ":" + f.Value + "\r\n")
	}
	return squeezed(b.String())
}

func squeezed(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.ReplaceAll(strings.TrimSuffix(s, "\n"), " ", "")
}

// FuzzText: any message gives bounded, printable text. The full text begins with the
// snippet.
func FuzzText(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		full := check(t, raw, Options{Scope: envelope.Full})
		snippet := check(t, raw, Options{Scope: envelope.Snippet})
		if len(raw) < snippetWindow && !strings.HasPrefix(full.Text, snippet.Text) {
			t.Fatalf("full text\n%q\ndoes not begin with the snippet\n%q", full.Text, snippet.Text)
		}
	})
}

// FuzzAttachments: what is attached is whole, within the bounds, and read back by those who
// check it; nothing else in the record changes.
func FuzzAttachments(f *testing.F) {
	seeds(f)
	f.Add([]byte(mixedParts(b64("abc"), "Content-Transfer-Encoding: quoted-printable\r\n\r\n=41=\r\n")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := check(t, raw, Options{Scope: envelope.Attachments, MaxAttachments: 1000})
		full := check(t, raw, Options{Scope: envelope.Full})
		if m.Text != full.Text || !reflect.DeepEqual(m.Defects, full.Defects) || len(m.Attachments) != len(full.Attachments) {
			t.Fatalf("another message:\n%+v\n%+v", m, full)
		}
		total := 0
		for i, a := range m.Attachments {
			total += len(a.Data)
			if (a.Data != nil) == a.Omitted || a.Data != nil && a.Digest == "" || full.Attachments[i].Data != nil || full.Attachments[i].Omitted {
				t.Fatalf("%+v", a)
			}
		}
		if total > 1000 {
			t.Fatalf("%d bytes", total)
		}
		rec, err := record.Parse(append(m.Append([]byte(`{"message":`)), '}'), envelope.Member)
		if err != nil {
			t.Fatal(err)
		}
		err = rec.Decode(envelope.Member, func(v record.Value) error {
			back, err := envelope.Show(v)
			if err == nil && len(m.Attachments) > 0 && !reflect.DeepEqual(back.Attachments, m.Attachments) {
				t.Fatalf("%+v\n%+v", back.Attachments, m.Attachments)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzHTML: no markup and no attribute survives. A marker in one never reaches the text.
func FuzzHTML(f *testing.F) {
	f.Add("<p>a</p>", "x")
	f.Add("<div style='display:none'>", "</span>")
	f.Add("<style>.a{display:none}</style><b class=a>", "</b>")
	f.Fuzz(func(t *testing.T, before, inside string) {
		const marker = "MARKER7f3a"
		if strings.ContainsAny(before+inside, "'\"<>&-/=\x00") {
			before, inside = strings.NewReplacer("'", "", "\"", "", "<", "", ">", "", "&", "", "-", "", "/", "", "=", "", "\x00", "").Replace(before), ""
		}
		for _, page := range []string{
			before + "<a href='data:text/html," + inside + marker + "'>x</a>",
			before + "<!-- " + inside + marker + " -->",
			before + "<script>" + inside + marker + "</script>",
			before + "<p hidden>" + inside + marker,
			"<p class=h>" + inside + marker + "</p><style>.h{display:none}</style>",
			before + "<div style='display:none'><p>" + inside + marker + "</span></b>" + marker,
		} {
			out := collector{limit: defaultMaxText}
			sheet, err := readSheet(strings.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			if sheet == nil {
				continue
			}
			if err := readHTML(&out, strings.NewReader(page), sheet, new(envelope.Left)); err != nil && err != errFull {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), marker) {
				t.Fatalf("%q shows %q", page, out.String())
			}
		}
	})
}

// FuzzSheet: no style sheet prevents a later one from hiding text, and none costs more than
// its bounds.
func FuzzSheet(f *testing.F) {
	for _, css := range []string{
		".a{content:\"{\"}", `.a{b:\7b`, "@media (min-width:1px){.a{", "@import url(a;b);", "<!-- .a{} -->", ".a{.b{.c{", "/*", "a:url(",
		"[class='a']{display:none}", strings.Repeat("[", 2000) + "{display:none}", "'\\", ".a.b.c,p.d>e+.f~g{color:hsl(0 0% 100%/0)}",
	} {
		f.Add(css)
	}
	f.Fuzz(func(t *testing.T, css string) {
		if strings.Contains(css, "<") {
			return // it could end the element
		}
		page := "<p class=z>MARKER</p><style>" + css + "</style><style>.z{display:none}</style><p class=z>MARKER</p>"
		sheet, err := readSheet(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		if sheet == nil {
			return
		}
		if sheet.n > maxRules || len(sheet.rules) > maxRules {
			t.Fatalf("%d rules", sheet.n)
		}
		out := collector{limit: defaultMaxText}
		if err := readHTML(&out, strings.NewReader(page), sheet, new(envelope.Left)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "MARKER") {
			t.Fatalf("%q shows %q", page, out.String())
		}
	})
}

// FuzzCollector: text that is added in pieces, many characters at once, comes out as if each
// character was added alone.
func FuzzCollector(f *testing.F) {
	for _, s := range []string{"  a b  \r\n\r\n\tc \n", "a\u200c\u200db \u2028 \x00\U000e0041", "gr\xc3\xbc\xc3n \xe2\x82", "\ufffd\ufe0f\u200d \x7f~", strings.Repeat("word ", 20)} {
		f.Add([]byte(s), 10, 3, false)
		f.Add([]byte(s), 1000, 1, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, limit, size int, line bool) {
		limit, size = max(limit, 0), max(size, 1)
		one, many := collector{limit: limit, line: line}, collector{limit: limit, line: line}
		var want error
		for rest := b; len(rest) > 0 && want == nil; {
			r, n := utf8.DecodeRune(rest)
			one.invalid = one.invalid || r == utf8.RuneError && n == 1
			want = one.rune(r)
			rest = rest[n:]
		}
		got := many.readFrom(inPieces{bytes.NewReader(b), size})
		if got != want || many.String() != one.String() || many.n != one.n || many.invalid != one.invalid || many.control != one.control {
			t.Fatalf("%q: %q %v, one by one %q %v", b, many.String(), got, one.String(), want)
		}
	})
}

// inPieces reads at most n bytes at a time.
type inPieces struct {
	r io.Reader
	n int
}

func (s inPieces) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }
