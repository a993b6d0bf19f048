package screen

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFold(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"short", "short"},
		{strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{"target   " + strings.Repeat("x", 12), "target   " + strings.Repeat("x", 11) + "\n" + indent + "x"},
		{Gutter + strings.Repeat("y", 17), Gutter + strings.Repeat("y", 16) + "\n" + Gutter + "y"},
		{Gutter + strings.Repeat("世", 9), Gutter + strings.Repeat("世", 8) + "\n" + Gutter + "世"},
	} {
		if got := strings.Join(Fold([]string{c.in}, 20), "\n"); got != c.want {
			t.Errorf("%q\n%q\n%q", c.in, got, c.want)
		}
	}
}

// FuzzFold: no line is too wide, nothing gets lost, and a broken line does not continue
// in the first column.
func FuzzFold(f *testing.F) {
	f.Add(Gutter+strings.Repeat(" ", 100)+"code: abcd", 80)
	f.Add("世界\u0301\xff", 0)
	f.Fuzz(func(t *testing.T, line string, columns int) {
		columns %= 200
		folded := Fold([]string{line}, columns)
		prefix := indent
		if strings.HasPrefix(line, Gutter) {
			prefix = Gutter
		}
		whole := ""
		for i, l := range folded {
			if n := utf8.RuneCountInString(l); n > max(columns, 16) {
				t.Errorf("%d of %d columns: %q", n, columns, l)
			}
			if i > 0 {
				if !strings.HasPrefix(l, prefix) || l == prefix {
					t.Errorf("%q goes on as %q", line, l)
				}
				l = strings.TrimPrefix(l, prefix)
			}
			whole += l
		}
		if whole != line {
			t.Errorf("%q became %q", line, whole)
		}
	})
}
