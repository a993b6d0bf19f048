package escape

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
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
}

// FuzzLine: nothing that moves a cursor, reorders or hides survives, the result
// is its own kind of stable, and no two texts look alike.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a", "\x1b[0m", "\u202e", "\xff", `\x1b`, "e\u0301\u0301\u0301\u0301", "\U000e0041"} {
		f.Add(s, `\x1b[0m`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := Line(a)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		marks := 0
		for i, r := range got {
			if !unicode.IsPrint(r) || unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector) {
				t.Fatalf("Line(%q) shows %U", a, r)
			}
			if marks++; !unicode.Is(unicode.M, r) {
				marks = 0
			}
			if marks > maxMarks || i == 0 && marks > 0 {
				t.Fatalf("Line(%q) piles up marks", a)
			}
		}
		if a != b && got == Line(b) {
			t.Fatalf("%q and %q look the same: %q", a, b, got)
		}
		if ascii := ASCII(a); strings.IndexFunc(ascii, func(r rune) bool { return r > '~' || r < ' ' }) >= 0 {
			t.Fatalf("ASCII(%q) = %q", a, ascii)
		}
		for _, l := range Text(a) {
			if strings.ContainsAny(l, "\n\r\x1b") {
				t.Fatalf("Text(%q) = %q", a, l)
			}
		}
	})
}
