package escape

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pulse/lib/shared/escape/escapetest"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain text ~", "plain text ~"},
		{"a\nb\tc\r", `a\nb\tc\r`},
		{"\x1b[2K\rallow", `\x1b[2K\rallow`},
		{"\u009b31m", `\u009b31m`},
		{"\x7f", `\x7f`},
		{"evil\u202etxt.exe", `evil\u202etxt.exe`},
		{"\u2066iso\u2069", `\u2066iso\u2069`},
		{"ze\u200bro\ufeff", `ze\u200bro\ufeff`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"sep\u2028\u2029", `sep\u2028\u2029`},
		{"bad\xff\xc3(", `bad\xff\xc3(`},
		{`back\slash`, `back\\slash`},
		{"Grüße, 世界", "Grüße, 世界"},
		{"e\u0301", "e\u0301"},
		{"\u0301e", `\u0301e`},
		{"z" + strings.Repeat("\u0300", 6), "z" + strings.Repeat("\u0300", 3) + strings.Repeat(`\u0300`, 3)},
		{"filler\u3164\u115f\u2800", `filler\u3164\u115f\u2800`},
		{"vs\ufe0f", `vs\ufe0f`},
		{"blank\U00013441", `blank\U00013441`},
		{"\u1112\u1161\u11ab", "\u1112\u1161\u11ab"},
		{"\u1161", `\u1161`},
		{"\u1112" + strings.Repeat("\u1161", 4), "\u1112" + strings.Repeat("\u1161", 3) + `\u1161`},
		{"nbsp\u00a0", `nbsp\u00a0`},
		{"pua\ue000", `pua\ue000`},
		{"\ufffd", "\ufffd"},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("Line(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestASCII(t *testing.T) {
	if got := ASCII("раypal\n@example.com"); got != `\u0440\u0430ypal\n@example.com` {
		t.Error(got)
	}
}

func TestMessageKeepsBackslashes(t *testing.T) {
	if got := Message("C:\\x\x1b[0m"); got != `C:\x\x1b[0m` {
		t.Error(got)
	}
}

func TestText(t *testing.T) {
	got := strings.Join(Text("a\r\nb\tc\n\x1b]0;x\a\nd\re\n"), "|")
	if want := `a|b    c|\x1b]0;x\x07|d\re`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = strings.Join(Exact("a \\\r\nb\tc \t\n  \nd\\ \n"), "|")
	if want := `a \\\r|b    c\x20\t|  |d\\\x20`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestEveryCharacter: no code point that moves a cursor, reorders or hides text, or is
// invisible is shown, wherever it stands. An unassigned code point counts as one of
// these.
func TestEveryCharacter(t *testing.T) {
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || Line("a"+string(r)) != "a"+string(r) {
			continue
		}
		n++
		if why := escapetest.Harmful(r); why != "" || r == '\\' {
			t.Errorf("%U is shown: %s", r, why)
		}
	}
	if n < 100_000 { // the letters of the world
		t.Errorf("only %d characters are shown", n)
	}
}

// FuzzLine: no character that moves a cursor, reorders or hides text survives, no two
// texts look alike in Line, and Message changes nothing the second time.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a", "\x1b[0m", "\u202e", "\xff", `\x1b`, "e\u0301\u0301\u0301\u0301", "\U000e0041"} {
		f.Add(s, `\x1b[0m`)
	}
	for _, a := range escapetest.Attacks {
		f.Add(a.Text, "")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := Line(a)
		if why := escapetest.Wrong(got); why != "" || strings.Contains(got, "\n") {
			t.Fatalf("Line(%q) = %q: %s", a, got, why)
		}
		if a != b && got == Line(b) {
			t.Fatalf("%q and %q look the same: %q", a, b, got)
		}
		if ascii := ASCII(a); strings.IndexFunc(ascii, func(r rune) bool { return r > '~' || r < ' ' }) >= 0 {
			t.Fatalf("ASCII(%q) = %q", a, ascii)
		}
		if m := Message(a); escapetest.Wrong(m) != "" || strings.Contains(m, "\n") || Message(m) != m {
			t.Fatalf("Message(%q) = %q", a, m)
		}
		for _, l := range append(Text(a), Exact(a)...) {
			if why := escapetest.Wrong(l); why != "" || strings.Contains(l, "\n") {
				t.Fatalf("%q has the line %q: %s", a, l, why)
			}
		}
	})
}

// TestClip: a text is cut before what has no room, with its mark, and never between a letter and its mark.
func TestClip(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"", 5, ""}, {"abcde", 5, "abcde"}, {"abcdef", 5, "ab..."}, {"a b cdef", 7, "a b ..."}, {"家家家", 6, "家家家"}, {"家家家家", 6, "家..."},
		{"ae\u0301cdefg", 6, "a..."}, {"abc", 0, "..."},
	} {
		if got := Clip(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
