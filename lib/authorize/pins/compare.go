package pins

import (
	"cmp"
	"fmt"
	"slices"

	"pulse/lib/shared/record"
)

// Change is a tool that is not as it was accepted.
type Change struct {
	Old *Tool // nil: it is new
	Now *Tool // nil: it is gone
}

// Compare returns what has changed, by name. Without old, or if nobody knows it, everything
// is new.
func Compare(old, now *Server) (list []Change) {
	if old == nil {
		old = &Server{}
	}
	for i, t := range now.Tools {
		if was, ok := old.Find(t.Name); !ok {
			list = append(list, Change{nil, &now.Tools[i]})
		} else if was.SHA256 != t.SHA256 {
			list = append(list, Change{&was, &now.Tools[i]})
		}
	}
	for i, t := range old.Tools {
		if _, ok := now.Find(t.Name); !ok {
			list = append(list, Change{&old.Tools[i], nil})
		}
	}
	slices.SortFunc(list, func(a, b Change) int { return cmp.Compare(a.name(), b.name()) })
	return list
}

func (c Change) name() string {
	if c.Now == nil {
		return c.Old.Name
	}
	return c.Now.Name
}

// Add adds a tool. A server has one of each name.
func (s *Server) Add(t Tool) error {
	i, found := slices.BinarySearchFunc(s.Tools, t.Name, byName)
	if found {
		return fmt.Errorf("pins: %s has two tools %s", s.Name, t.Name)
	}
	s.Tools = slices.Insert(s.Tools, i, t)
	return nil
}

// Find returns the definition of a tool.
func (s *Server) Find(name string) (t Tool, ok bool) {
	i, ok := slices.BinarySearchFunc(s.Tools, name, byName)
	if ok {
		t = s.Tools[i]
	}
	return t, ok
}

func byName(t Tool, name string) int { return cmp.Compare(t.Name, name) }

// Differ names the members in which two definitions differ.
func Differ(a, b Tool) (names []string) {
	old, now := a.members(), b.members()
	for name, v := range old {
		if now[name] != v {
			names = append(names, name)
		}
	}
	for name := range now {
		if _, ok := old[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Member returns a member of the definition; empty if there is none.
func (t *Tool) Member(name string) record.Value { return t.members()[name] }

func (t *Tool) members() map[string]record.Value {
	m := map[string]record.Value{}
	_ = t.Definition.Each(func(name string, v record.Value) error {
		m[name] = v
		return nil
	})
	return m
}

// Lines returns two texts as one: each line begins with - if only the old one has it, with +
// if only the new one, and with a blank if both have it.
func Lines(old, now []string) (out []string) {
	common := commonLines(old, now)
	i, j := 0, 0
	for _, c := range append(common, [2]int{len(old), len(now)}) {
		for ; i < c[0]; i++ {
			out = append(out, "- "+old[i])
		}
		for ; j < c[1]; j++ {
			out = append(out, "+ "+now[j])
		}
		if i < len(old) && j < len(now) {
			out = append(out, "  "+now[j])
		}
		i, j = i+1, j+1
	}
	return out
}

// maxCells bounds what it takes to compare two texts. Of larger ones no line counts as common.
const maxCells = 4 << 20

// commonLines returns the places of a longest sequence of lines that both have.
func commonLines(a, b []string) (places [][2]int) {
	if len(a)*len(b) > maxCells {
		return nil
	}
	length := make([][]int, len(a)+1) // of the sequence from there on
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			places = append(places, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return places
}
