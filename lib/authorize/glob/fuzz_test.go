package glob

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzClasses: every example is a string of the alphabet, and matched by what is said.
// No string belongs to a class that is missing.
func FuzzClasses(f *testing.F) {
	f.Add("fs.*\nfs.read\n*.read", "fs.read", uint8(0))
	f.Add("imaps://me@example.com/*\n*INBOX\n*\n\x00*", "mbox:é", uint8(1))
	f.Add("**a*b\na*a*a", "aba", uint8(2))
	f.Fuzz(func(t *testing.T, patterns, s string, alphabet uint8) {
		if !utf8.ValidString(patterns) || len(patterns) > 40 {
			return
		}
		var list []Pattern
		for i, text := range strings.Split(patterns, "\n") {
			list = append(list, Pattern{text, Any})
			if i%4 == 3 {
				list[i].Kind = Exact
			}
		}
		if len(list) > 8 {
			return
		}
		a := Alphabet(alphabet % 3)
		classes, err := Classes(list, a)
		if err != nil {
			return
		}
		found := false
		for _, c := range classes {
			if !stringOf(a, c.Example) {
				t.Fatalf("%v: %q is none of the strings", list, c.Example)
			}
			same := stringOf(a, s)
			for i, p := range list {
				if matches(p, c.Example) != c.Matches[i] {
					t.Fatalf("%v: %q and %q: not %v", list, p.Text, c.Example, c.Matches[i])
				}
				same = same && matches(p, s) == c.Matches[i]
			}
			found = found || same
		}
		if stringOf(a, s) && !found {
			t.Fatalf("%v: %q has no class in %v", list, s, classes)
		}
		examples(t, list, classes)
	})
}

func stringOf(a Alphabet, s string) bool {
	if !utf8.ValidString(s) || s == "" && !a.empty() || a == ToolNames && len(s) > 100 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return !a.has(r) })
}
