package audit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/shared/escape"
)

func TestLastSaid(t *testing.T) {
	for stderr, want := range map[string]string{
		"":                    "",
		" \n\r\n\t":           "",
		"oops":                "oops",
		"oops\n":              "oops",
		"one\ntwo\r\n\n":      "two",
		"10%\r99%\rno luck\r": "no luck",
		"\x1b[2J\x1b]0;x\x07": `\x1b[2J\x1b]0;x\x07`,
		"\u202etxt\u2028more": `\u202etxt more`,
		"\xff\xfe\x00":        `\xff\xfe\x00`,
		"ok" + strings.Repeat(" ", 78) + "\u3000  2026-11-22T20:50:00Z approved": "ok 2026-11-22T20:50:00Z approved",
		`C:\temp`:                                `C:\temp`,
		strings.Repeat("x", 201):                 strings.Repeat("x", 200),
		strings.Repeat("x", 199) + "\u00e9":      strings.Repeat("x", 199),
		"first\n" + strings.Repeat("\x00", 4096): strings.Repeat(`\x00`, 50),
	} {
		if got := LastSaid([]byte(stderr)); got != want {
			t.Errorf("%q: %q, want %q", stderr, got, want)
		}
	}
}

// FuzzLastSaid: whatever a worker writes, what is kept of it is one short line that is safe
// to print, also once it was written to the log and read back.
func FuzzLastSaid(f *testing.F) {
	for _, s := range []string{"oops\n", "a\rb\r\n", "\x1b[2J\xff\u202e", strings.Repeat("\u00e9", 300), `\x1b\`, "e\u0301\u0301\u0301\u0301"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stderr []byte) {
		said := LastSaid(stderr)
		if len(said) > maxSaid || !utf8.ValidString(said) || strings.ContainsAny(said, "\n\r") || escape.Message(said) != said {
			t.Errorf("%q: %q", stderr, said)
		}
		l := Line{Time: now, Event: Ended, End: &End{Exit: 1, Said: said}, Prev: Origin}
		if got, err := Parse(l.Append(nil)); err != nil || got.End == nil || *got.End != *l.End {
			t.Errorf("%q: %+v, %v", stderr, got.End, err)
		}
	})
}
