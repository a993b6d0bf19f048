package encodedword

import (
	"mime"
	"strings"
	"testing"
	"time"
)

func TestCut(t *testing.T) {
	for _, c := range []struct{ in, before, charset, text, after string }{
		{"a =?UTF-8?q?b_c=3D=5f?= d", "a ", "utf-8", "b c=_", " d"},
		{"=?utf-8?B?aGVsbG8=?=", "", "utf-8", "hello", ""},
		{"=?utf-8?B?aGVsbG8===?=", "", "utf-8", "hello", ""},
		{"=?utf-8?B?aGVsbG8?=", "", "utf-8", "hello", ""},
		{"=?utf-8?B?aGVsbG8=aGVsbG8=?=", "", "utf-8", "hellohello", ""},
		{"=?utf-8?b?aGV *sbG8?=", "", "utf-8", "hello", ""},
		{"=?utf-8?b?aGVsb?=", "", "utf-8", "hel", ""},
		{"=?utf-8?b?!?=", "", "utf-8", "", ""},
		{"=?ISO-8859-1*EN?Q?=E4=4?=", "", "iso-8859-1", "\xe4=4", ""},
		{"=?=?utf-8?q?=40?=", "=?", "utf-8", "@", ""},
		{"=?a?b =?utf-8?q?=40?=", "=?a?b ", "utf-8", "@", ""},
		{"=?utf-8?q?=?=", "", "utf-8", "=", ""},
		{"=?utf-8?q?=?=41?=", "", "utf-8", "=", "41?="},
		{"=?utf-8?q?open", "=?utf-8?q?open", "", "", ""},
		{"=?utf-8?x?a?=", "=?utf-8?x?a?=", "", "", ""},
		{"", "", "", "", ""},
	} {
		before, w, after, ok := Cut(c.in)
		if before != c.before || w.Charset != c.charset || string(w.Text) != c.text || after != c.after || ok != (c.in != c.before) {
			t.Errorf("%q: %q, %s %q, %q, %v", c.in, before, w.Charset, w.Text, after, ok)
		}
	}
}

// TestLinear: no value costs more than its length.
func TestLinear(t *testing.T) {
	for _, s := range []string{"=?a?q? ", "=?", "=?a?", "=?a?q??= ", "=?a?b?====?="} {
		s, start := strings.Repeat(s, 1<<18), time.Now()
		for ok := true; ok; {
			_, _, s, ok = Cut(s)
		}
		if took := time.Since(start); took > 10*time.Minute {
			t.Errorf("%v", took)
		}
	}
}

// FuzzCut: a word that the standard library decodes has the same bytes here.
func FuzzCut(f *testing.F) {
	for _, s := range []string{"=?utf-8?q?a=40_b?= c", "=?utf-8?B?aGVsbG8=?=", "=?utf-8?b?aGVsbG8===?=", "a =?utf-8*en?q?b?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		before, w, after, ok := Cut(s)
		if !ok {
			if before != s {
				t.Fatalf("%q lost %q", s, before)
			}
			return
		}
		word := strings.TrimSuffix(strings.TrimPrefix(s, before), after)
		if before+word+after != s || len(w.Text) > len(word) {
			t.Fatalf("%q: %q, %q, %q", s, before, word, after)
		}
		if want, err := new(mime.WordDecoder).Decode(word); err == nil && w.Charset == "utf-8" && want != string(w.Text) {
			t.Fatalf("%q: %q, want %q", word, w.Text, want)
		}
	})
}
