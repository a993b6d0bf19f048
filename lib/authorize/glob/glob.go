// Package glob decides what patterns of a policy match, for all strings at once: which
// of the patterns can match together, which alone, and which string shows it.
//
// Invariant: the answer is exact, because it comes from the automata of the patterns and
// not from samples. Caveat: patterns that are independent of each other have as many
// combinations as subsets, so the work is bounded and may end with errTooMany.
package glob

import (
	"errors"
	"strings"
	"unicode"

	"pulse/lib/shared/policy"
)

// errTooMany reports that patterns have more combinations than Classes or Lists looks at.
var errTooMany = errors.New("glob: the patterns have too many combinations")

// maxStates bounds the states of the automaton of all patterns together.
const maxStates = 1 << 16

// maxWork bounds what is stored and looked at, because a state is as long as the list of
// the patterns that may still match.
const maxWork = 1 << 24

// budget is how much work is left.
type budget int

func (b *budget) spend(n int) error {
	if *b -= budget(n); *b < 0 {
		return errTooMany
	}
	return nil
}

// Kind says how a pattern is read.
type Kind int

// The kinds of patterns.
const (
	Any    Kind = iota // policy.Match: * stands for any runes
	Arg                // an argument in [[exec.allow]]: see lib/authorize/tools
	Exact              // the text itself
	Path               // any path that is clean, relative and not the directory itself
	Hidden             // such a path with a component that begins with a dot
)

// Pattern is a pattern of a policy, in valid UTF-8.
type Pattern struct {
	Text string // empty for Path and Hidden
	Kind Kind
}

// Alphabet says which strings there are.
type Alphabet int

// The alphabets.
const (
	ToolNames Alphabet = iota // policy.ToolName
	Sources                   // valid UTF-8 without controls, not empty
	Args                      // valid UTF-8 without NUL
)

// Class is a set of strings: all those that the same patterns match.
type Class struct {
	Example string // a shortest, and of these the first by the order of runes in before
	Matches []bool // for each pattern
}

// has reports whether strings of the alphabet may hold a rune.
func (a Alphabet) has(r rune) bool {
	switch a {
	case ToolNames:
		return policy.ToolName(string(r))
	case Sources:
		return !unicode.IsControl(r)
	}
	return r != 0
}

// empty reports whether the empty string is one of the alphabet's.
func (a Alphabet) empty() bool { return a == Args }

// full reports whether no string of the alphabet has more than n runes.
func (a Alphabet) full(n int) bool {
	return a == ToolNames && !policy.ToolName(strings.Repeat("a", n+1))
}

// before orders runes: letters and digits come first, because people read the examples.
func before(a, b rune) int {
	return int(rank(a)) - int(rank(b))
}

func rank(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' - 64
	case '0' <= r && r <= '9':
		return r - '0' - 32
	}
	return r
}
