package taglist

import (
	"strings"
	"testing"
)

// FuzzTags: an accepted list keeps its invariant, and can be written out and read again.
func FuzzTags(f *testing.F) {
	for _, s := range []string{"v=1; a=rsa-sha256", "v=1;;", " a =\r\n\tb = c; ", "a=1; a=2", "=", "a\u00a0=1", "A=1;a=2", "a_1=b=c"} {
		f.Add(s)
	}
	f.Add("v=1; d=example.com; h=from:to;\r\n\tb=\x7fAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := tagBytes(s), eachTagByte(s); got != want {
			t.Fatalf("%q: %v, byte by byte %v", s, got, want)
		}
		list, err := Parse(s)
		if err != nil {
			return
		}
		var again strings.Builder
		seen := map[string]bool{}
		for _, tag := range list {
			if seen[tag.Name] || !tagName(tag.Name) || tag.Value != strings.Trim(tag.Value, Blanks) || strings.Contains(tag.Value, ";") {
				t.Fatalf("%q", tag)
			}
			seen[tag.Name] = true
			again.WriteString(tag.Name + "=" + tag.Value + ";")
		}
		other, err := Parse(again.String())
		if err != nil || len(other) != len(list) {
			t.Fatalf("%q: %v", again.String(), err)
		}
	})
}

// eachTagByte is tagBytes, said in the words of the RFC.
func eachTagByte(s string) bool {
	s = strings.NewReplacer("\r\n ", "  ", "\r\n\t", "  ").Replace(s)
	for i := range len(s) {
		if c := s[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}
