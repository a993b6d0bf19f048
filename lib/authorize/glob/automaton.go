package glob

import (
	"encoding/binary"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// special are the runes that have a meaning of their own in a pattern of kind Arg.
const special = "/-+@.=:"

// letters returns the runes that patterns can tell apart: those that stand in one, and
// one for all others.
func letters(list []Pattern, alphabet Alphabet) (out []rune) {
	for _, p := range list {
		out = append(out, []rune(p.Text)...)
		switch p.Kind {
		case Arg:
			out = append(out, []rune(special)...)
		case Path, Hidden:
			out = append(out, []rune("/.")...)
		}
	}
	slices.SortFunc(out, before)
	out = slices.Compact(out)
	if r, ok := other(out, alphabet); ok {
		out = append(out, r)
		slices.SortFunc(out, before)
	}
	return slices.DeleteFunc(out, func(r rune) bool { return !alphabet.has(r) })
}

// other returns the first rune of the alphabet that is none of these.
func other(known []rune, alphabet Alphabet) (rune, bool) {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	for _, r := range first {
		if !slices.Contains(known, r) && alphabet.has(r) {
			return r, true
		}
	}
	for r := rune(1); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && alphabet.has(r) && !slices.Contains(known, r) {
			return r, true
		}
		if alphabet == ToolNames && r > utf8.RuneSelf {
			break
		}
	}
	return 0, false
}

// dead is the state from which a pattern matches nothing more.
const dead = 0

// automata holds the deterministic automata of some patterns. Their states are numbered
// through, so that a set of states says where each pattern is.
type automata struct {
	letters []rune
	next    [][]int32 // by state and letter; the last stands for a rune that no pattern knows
	told    []big.Int // by state: the letters that lead elsewhere than that rune
	accepts []int32   // the pattern that matches what led to a state; -1: none
	left    *budget
}

// costOfLetter is what one entry of automata.next costs to make.
const costOfLetter = 8

// state adds a state.
func (m *automata) state(accepts int32) int32 {
	m.next = append(m.next, nil)
	m.told = append(m.told, big.Int{})
	m.accepts = append(m.accepts, accepts)
	return int32(len(m.accepts) - 1)
}

// lead sets where a state leads to.
func (m *automata) lead(state int32, to []int32) {
	m.next[state] = to
	for l := range m.letters {
		if to[l] != to[len(m.letters)] {
			m.told[state].SetBit(&m.told[state], l, 1)
		}
	}
}

// place is how far a pattern has come: the positions in its text that may be next, in
// order, and what the rules of kind Arg have to remember.
type place struct {
	at   []int
	part part
}

func (p place) key() string {
	b := []byte{byte(p.part)}
	for _, i := range p.at {
		b = binary.AppendUvarint(b, uint64(i))
	}
	return string(b)
}

// part is what an argument has since the last / or = or :, or its beginning.
type part byte

const (
	begin part = iota // nothing, at the beginning of the argument
	none
	dot
	dots // ".."
	more
)

func (p part) step(r rune) part {
	switch {
	case strings.ContainsRune("/=:", r):
		return none
	case r == '.' && p < dots:
		return max(p, none) + 1
	}
	return more
}

// add adds the automaton of a pattern and returns its first state.
func (m *automata) add(p Pattern, nth int32) (int32, error) {
	if p.Kind == Path || p.Kind == Hidden {
		return m.path(nth, p.Kind == Hidden)
	}
	g := reader{text: []rune(p.Text), arg: p.Kind == Arg, stars: p.Kind != Exact && strings.Contains(p.Text, "*")}
	known := map[string]int32{}
	var queue []place
	visit := func(at place) int32 {
		if len(at.at) == 0 {
			return dead
		}
		key := at.key()
		id, ok := known[key]
		if !ok {
			id = m.state(-1)
			if g.accepts(at) {
				m.accepts[id] = nth
			}
			known[key] = id
			queue = append(queue, at)
		}
		return id
	}
	first := visit(place{at: g.from(nil, 0)})
	for id := first; len(queue) > 0; id++ {
		at := queue[0]
		queue = queue[1:]
		if err := m.left.spend(costOfLetter * (len(m.letters) + 1)); err != nil {
			return dead, err
		}
		to := make([]int32, 0, len(m.letters)+1)
		for _, r := range m.letters {
			to = append(to, visit(g.step(at, r)))
		}
		m.lead(id, append(to, visit(g.step(at, -1))))
	}
	return first, nil
}

// paths says, for each state of a path, where a slash, a dot and another rune lead: at the
// beginning of a component, behind its first dot, behind its second, and behind more. The
// last four are those of a path in which a component began with a dot.
var paths = [...][3]int{
	{-1, 1, 3}, {-1, 2, 7}, {-1, 7, 7}, {0, 3, 3},
	{-1, 5, 7}, {-1, 6, 7}, {-1, 7, 7}, {4, 7, 7},
}

// path adds the automaton of Path or Hidden.
func (m *automata) path(nth int32, hidden bool) (first int32, err error) {
	for i := range paths {
		id := m.state(-1)
		if i == 0 {
			first = id
		}
		if i == 7 || i == 3 && !hidden {
			m.accepts[id] = nth
		}
	}
	if err := m.left.spend(len(paths) * costOfLetter * (len(m.letters) + 1)); err != nil {
		return dead, err
	}
	for i, by := range paths {
		var to []int32
		for _, r := range append(slices.Clone(m.letters), -1) {
			next := by[2]
			if n := strings.IndexRune("/.", r); n >= 0 {
				next = by[n]
			}
			if next < 0 {
				to = append(to, dead)
			} else {
				to = append(to, first+int32(next))
			}
		}
		m.lead(first+int32(i), to)
	}
	return first, nil
}

// reader reads strings by the text of one pattern.
type reader struct {
	text  []rune
	arg   bool
	stars bool
}

func (g *reader) star(i int) bool { return g.stars && i < len(g.text) && g.text[i] == '*' }

// from appends a position and those that are reached from it without a rune.
func (g *reader) from(at []int, i int) []int {
	at = append(at, i)
	for ; g.star(i); i++ {
		at = append(at, i+1)
	}
	return at
}

func (g *reader) accepts(p place) bool {
	return p.at[len(p.at)-1] == len(g.text) && p.part != dots
}

// step returns where a rune leads to. matchArg of lib/authorize/tools says in a few lines
// what is decided here for a pattern of kind Arg with a star.
func (g *reader) step(p place, r rune) (to place) {
	rules := g.arg && g.stars
	if rules {
		if p.part == begin && g.star(0) && strings.ContainsRune("-+@", r) {
			return to
		}
		to.part = p.part.step(r)
		if p.part == dots && to.part == none {
			return place{}
		}
	}
	for _, i := range p.at {
		switch {
		case g.star(i):
			if !rules || r != '/' {
				to.at = g.from(to.at, i)
			}
		case i < len(g.text) && g.text[i] == r:
			to.at = g.from(to.at, i+1)
		}
	}
	slices.Sort(to.at)
	to.at = g.last(slices.Compact(to.at))
	return to
}

// last leaves out what stands before the last star that was reached. Whatever matches
// from there matches from the star too.
func (g *reader) last(at []int) []int {
	for i := len(at) - 1; i > 0; i-- {
		if g.star(at[i]) {
			return at[i:]
		}
	}
	return at
}
