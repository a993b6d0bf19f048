package screen

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// TestPunycode: the examples of RFC 3492 §7.1 are decoded; broken ones are refused.
func TestPunycode(t *testing.T) {
	for code, want := range map[string]string{
		"egbpdaj6bu4bxfgehfvwxn":         "\u0644\u064a\u0647\u0645\u0627\u0628\u062a\u0643\u0644\u0645\u0648\u0634\u0639\u0631\u0628\u064a\u061f",
		"ihqwcrb4cv8a8dqg056pqjye":       "\u4ed6\u4eec\u4e3a\u4ec0\u4e48\u4e0d\u8bf4\u4e2d\u6587",
		"Proprostnemluvesky-uyb24dma41a": "Pro\u010dprost\u011bnemluv\u00ed\u010desky",
		"3B-ww4c5e180e575a65lsy2b":       "3\u5e74B\u7d44\u91d1\u516b\u5148\u751f",
		"-> $1.00 <--":                   "-> $1.00 <-",
		"80ak6aa92e":                     "\u0430\u0440\u0440\u04cf\u0435",
		"bcher-kva":                      "b\u00fccher",
	} {
		if got, ok := punycode(code); !ok || got != want {
			t.Errorf("%s: %q, %v; want %q", code, got, ok, want)
		}
	}
	for _, bad := range []string{"-", "-abc", "ab\u00fc", "99999999", "a-9", "ls8h=", strings.Repeat("a", 64), "80ak6aa92", "\xff"} {
		if got, ok := punycode(bad); ok {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

// FuzzPunycode: it does not panic, returns UTF-8, and agrees with another decoder.
func FuzzPunycode(f *testing.F) {
	for _, s := range []string{"80ak6aa92e", "bcher-kva", "-", "a-", "99999999", "maana-pta"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := punycode(s)
		if ok && !utf8.ValidString(got) {
			t.Fatalf("%q: %q", s, got)
		}
		if !ok || ascii(got) || strings.ContainsAny(s, ".\u3002\uff0e\uff61") {
			return // the other one refuses a text that need not have been encoded
		}
		if want, err := idna.Punycode.ToUnicode("xn--" + s); err != nil || got != want {
			t.Fatalf("%q: %q, want %q (%v)", s, got, want, err)
		}
	})
}

func TestAlike(t *testing.T) {
	for target, want := range map[string]string{
		"bob@partner.example":                "",
		"/srv/agent/report-2.txt":            "",
		"https://example.com/a?b=c":          "",
		"bob@xn--80ak6aa92e.com":             `xn--80ak6aa92e stands for \u0430\u0440\u0440\u04cf\u0435: letters are Cyrillic; it looks like apple`,
		"bob@XN--80AK6AA92E.com":             `XN--80AK6AA92E stands for \u0430\u0440\u0440\u04cf\u0435: letters are Cyrillic; it looks like apple`,
		"bob@xn--e1afmkfd.example":           `xn--e1afmkfd stands for \u043f\u0440\u0438\u043c\u0435\u0440: letters are Cyrillic`,
		"bob@xn--a.example":                  `xn--a stands for \u0080: it has no letters`,
		"bob@xn--9999999.example":            "xn--9999999 says it is written in other letters, and can't be decoded",
		"bob@ex\u0430mple.com":               `ex\u0430mple: it MIXES letters that are Cyrillic and Latin; it looks like example`,
		"b\u03bfb@example.com":               `b\u03bfb: it MIXES letters that are Greek and Latin; it looks like bob`,
		"bob@\u4e16\u754c.example":           `\u4e16\u754c: letters are Han`,
		"bob@\u65e5\u672c\u306e.example":     `\u65e5\u672c\u306e: letters are Han and Hiragana`,
		"bob@a\u65e5.example":                `a\u65e5: it MIXES letters that are Han and Latin`,
		"\u0430@\u0430":                      `\u0430: letters are Cyrillic; it looks like a`,
		"\uff42ob@example.com":               `\uff42ob: letters are Latin`,
		"bob@xn--1-7sbd.example\u200b":       `xn--1-7sbd stands for \u0430\u04311: letters are Cyrillic; it looks like a61`,
		strings.Repeat("a", 1001) + "\u0430": "1003 bytes long: only the first 1000 were looked at",
	} {
		if got := strings.Join(lookalikes(target), "|"); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", target, got, want)
		}
	}
}

// TestTwins: the table maps letters beyond ASCII to ASCII ones.
func TestTwins(t *testing.T) {
	if len(twins()) < 80 {
		t.Errorf("%d twins", len(twins()))
	}
	for r, plain := range twins() {
		if r < utf8.RuneSelf || plain >= utf8.RuneSelf {
			t.Errorf("%q looks like %q", r, plain)
		}
	}
}

// FuzzAlike: whatever a target holds, its notes are safe to print and bounded.
func FuzzAlike(f *testing.F) {
	f.Add("bob@xn--80ak6aa92e.com")
	f.Add("\x1b[2J\u202e\u0430a\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, n := range lookalikes(s) {
			if strings.IndexFunc(n, func(r rune) bool { return r < ' ' || r > '~' }) >= 0 {
				t.Errorf("%q: %q", s, n)
			}
		}
	})
}
