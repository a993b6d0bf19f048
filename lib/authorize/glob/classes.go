package glob

import (
	"encoding/binary"
	"math/big"
	"slices"
)

// node is a state of the automaton of all patterns together, and how it was reached first.
type node struct {
	states []int32 // of the patterns that may still match, in order
	parent int
	letter rune
	length int
}

// search walks through the automaton breadth-first, letters in their order. So each state
// is reached first by the shortest string, and of these the first.
type search struct {
	*automata
	nodes []node
	known map[string]bool
	key   []byte
}

// visit adds a node if its states are new.
func (s *search) visit(n node) error {
	s.key = s.key[:0]
	for _, id := range n.states {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(id))
	}
	if s.known[string(s.key)] {
		return nil
	}
	if len(s.nodes) >= maxStates {
		return errTooMany
	}
	if err := s.left.spend(4 * len(n.states)); err != nil {
		return err
	}
	s.known[string(s.key)] = true
	n.states = slices.Clone(n.states)
	s.nodes = append(s.nodes, n)
	return nil
}

// follow visits what each letter leads to. Those that no pattern tells apart here lead to
// the same place, so the first of them stands for all.
func (s *search) follow(i int) error {
	var told big.Int
	for _, id := range s.nodes[i].states {
		told.Or(&told, &s.told[id])
	}
	rest := false
	var to []int32
	for l, r := range s.letters {
		if told.Bit(l) == 0 {
			if rest {
				continue
			}
			rest = true
		}
		if err := s.left.spend(len(s.nodes[i].states)); err != nil {
			return err
		}
		to = to[:0]
		for _, id := range s.nodes[i].states {
			if next := s.next[id][l]; next != dead {
				to = append(to, next)
			}
		}
		if err := s.visit(node{to, i, r, s.nodes[i].length + 1}); err != nil {
			return err
		}
	}
	return nil
}

// text returns the string that led to a node.
func (s *search) text(i int) string {
	out := make([]rune, s.nodes[i].length)
	for ; s.nodes[i].length > 0; i = s.nodes[i].parent {
		out[s.nodes[i].length-1] = s.nodes[i].letter
	}
	return string(out)
}

// matches returns the patterns that match what led to a node, in order.
func (s *search) matches(i int) (list []int32) {
	for _, id := range s.nodes[i].states {
		if p := s.accepts[id]; p >= 0 {
			list = append(list, p)
		}
	}
	return list
}

// Classes returns a class for each set of patterns such that some string of the alphabet
// is matched by these and no others, the class with the shortest example first.
func Classes(list []Pattern, alphabet Alphabet) ([]Class, error) {
	left := budget(maxWork)
	return classes(list, alphabet, &left)
}

func classes(list []Pattern, alphabet Alphabet, left *budget) ([]Class, error) {
	distinct, index := unique(list)
	s := search{automata: &automata{letters: letters(distinct, alphabet), left: left}, known: map[string]bool{}}
	s.state(-1) // dead
	start := node{}
	for i, p := range distinct {
		first, err := s.add(p, int32(i))
		if err != nil {
			return nil, err
		}
		start.states = append(start.states, first)
	}
	s.nodes = append(s.nodes, start) // not known: a longer string may lead here again
	var out []Class
	found := map[string]bool{}
	for i := 0; i < len(s.nodes); i++ {
		if i > 0 || alphabet.empty() {
			matches := s.matches(i)
			if key := keyOf(matches); !found[key] {
				if err := left.spend(8 * (1 + len(index))); err != nil {
					return nil, err
				}
				found[key] = true
				out = append(out, Class{s.text(i), spread(matches, index)})
			}
		}
		if alphabet.full(s.nodes[i].length) {
			continue
		}
		if err := s.follow(i); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unique returns each pattern once, and where each stands among them.
func unique(list []Pattern) (distinct []Pattern, index []int32) {
	known := map[Pattern]int32{}
	for _, p := range list {
		if _, ok := known[p]; !ok {
			known[p] = int32(len(distinct))
			distinct = append(distinct, p)
		}
		index = append(index, known[p])
	}
	return distinct, index
}

// spread returns for each pattern whether it is among those that match.
func spread(matches, index []int32) []bool {
	out := make([]bool, len(index))
	for i, p := range index {
		_, out[i] = slices.BinarySearch(matches, p)
	}
	return out
}

func keyOf(list []int32) string {
	var key []byte
	for _, n := range list {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	return string(key)
}
