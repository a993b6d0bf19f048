package glob

import (
	"math/rand"
	"slices"
	"testing"
)

// tuples returns all lists of so many words.
func tuples(words []string, n int) (out [][]string) {
	if n == 0 {
		return [][]string{{}}
	}
	for _, head := range tuples(words, n-1) {
		for _, w := range words {
			out = append(out, append(slices.Clone(head), w))
		}
	}
	return out
}

func matchesList(patterns []Pattern, list []string) bool {
	return slices.EqualFunc(patterns, list, matches)
}

// TestLists compares Lists with a look at all lists of up to four words of up to two
// letters. Patterns of up to two runes can't tell longer words apart.
func TestLists(t *testing.T) {
	var all [][]string
	for n := range 5 {
		all = append(all, tuples(words("ab", min(2, 4-n)), n)...)
	}
	r := rand.New(rand.NewSource(1))
	got := make([]bool, 4)
	for range 2000 {
		list := make([][]Pattern, len(got))
		for i := range list {
			for range r.Intn(3) {
				list[i] = append(list[i], Pattern{word(r, "a*", 2), Any})
			}
		}
		want, shortest := map[int]int{}, map[int]int{}
		for _, words := range all {
			for i := range list {
				got[i] = matchesList(list[i], words)
			}
			n := 0
			for _, w := range words {
				n += len(w)
			}
			if old, ok := want[bits(got)]; !ok || old == len(words) && shortest[bits(got)] > n {
				want[bits(got)], shortest[bits(got)] = len(words), n
			}
		}
		classes, err := Lists(list, Args)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range classes {
			n := 0
			for _, w := range c.Example {
				n += len(w)
			}
			for i := range list {
				got[i] = matchesList(list[i], c.Example)
			}
			strings, ok := want[bits(c.Matches)]
			if !ok || strings != len(c.Example) || shortest[bits(c.Matches)] != n || !slices.Equal(got, c.Matches) {
				t.Fatalf("%v: %+v, matches %v, want %d strings of %d letters", list, c, got, strings, shortest[bits(c.Matches)])
			}
			delete(want, bits(c.Matches))
		}
		if len(want) != 0 {
			t.Fatalf("%v: %v is missing", list, want)
		}
	}
}

func TestListsOfNothing(t *testing.T) {
	for _, c := range []struct {
		list [][]Pattern
		want [][]string
	}{
		{nil, [][]string{nil}},
		{[][]Pattern{{}}, [][]string{nil, {"a"}}},
		{[][]Pattern{{}, {{"*", Any}}}, [][]string{nil, {"a"}, {"a", "a"}}},
	} {
		got, err := Lists(c.list, Sources)
		if err != nil || !slices.EqualFunc(got, c.want, func(c ListClass, want []string) bool { return slices.Equal(c.Example, want) }) {
			t.Errorf("%v: %v, %v", c.list, got, err)
		}
	}
}
