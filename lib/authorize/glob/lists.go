package glob

import "slices"

// ListClass is a set of lists of strings: all those that the same lists of patterns match.
type ListClass struct {
	Example []string // of the fewest strings, and of these one of the shortest in all
	Matches []bool   // for each list of patterns
}

// Lists does for lists of strings what Classes does for strings. A list of patterns
// matches a list of as many strings, if each pattern matches the string in its place.
func Lists(list [][]Pattern, alphabet Alphabet) ([]ListClass, error) {
	longest := 0
	has := map[int]bool{}
	for _, patterns := range list {
		longest = max(longest, len(patterns))
		has[len(patterns)] = true
	}
	left := budget(maxWork)
	var out []ListClass
	nothing := false
	for n := 0; n <= longest+1; n++ {
		if nothing && !has[n] {
			continue
		}
		some, err := ofLength(list, n, alphabet, &left)
		if err != nil {
			return nil, err
		}
		for _, c := range some { // no other class has lists of two lengths
			if any := slices.Contains(c.live, true); any || !nothing {
				out = append(out, ListClass{c.example, c.live})
				nothing = nothing || !any
			}
		}
	}
	return out, nil
}

// partial is what is known of lists of strings up to some position.
type partial struct {
	live    []bool // the lists of patterns that have matched so far
	example []string
	size    int // of the example, in bytes
}

// ofLength returns the classes of the lists of n strings.
func ofLength(list [][]Pattern, n int, alphabet Alphabet, left *budget) ([]partial, error) {
	first := partial{live: make([]bool, len(list))}
	for i, patterns := range list {
		first.live[i] = len(patterns) == n
	}
	some := []partial{first}
	for i := range n {
		if err := left.spend(len(list)); err != nil {
			return nil, err
		}
		column, index := columnOf(list, n, i)
		next, err := classes(column, alphabet, left)
		if err != nil {
			return nil, err
		}
		if len(some)*len(next) > maxStates {
			return nil, errTooMany
		}
		if err := left.spend(len(some) * len(next) * (len(list) + 4*i)); err != nil {
			return nil, err
		}
		some = extend(some, next, index)
	}
	return some, nil
}

// columnOf returns the patterns in the ith place of all lists of n patterns, and where
// each list has its own among them.
func columnOf(list [][]Pattern, n, i int) (column []Pattern, index []int) {
	for _, patterns := range list {
		index = append(index, len(column))
		if len(patterns) == n {
			column = append(column, patterns[i])
		}
	}
	return column, index
}

// extend returns what becomes of lists by one more string of each class.
func extend(some []partial, classes []Class, index []int) (out []partial) {
	known := map[string]int{}
	for _, s := range some {
		for _, c := range classes {
			next := partial{live: make([]bool, len(s.live)), size: s.size + len(c.Example)}
			key := make([]byte, len(s.live))
			for i, live := range s.live {
				if live && c.Matches[index[i]] {
					next.live[i], key[i] = true, 1
				}
			}
			at, ok := known[string(key)]
			if ok && out[at].size <= next.size {
				continue
			}
			next.example = append(s.example[:len(s.example):len(s.example)], c.Example)
			if !ok {
				at = len(out)
				known[string(key)] = at
				out = append(out, partial{})
			}
			out[at] = next
		}
	}
	return out
}
