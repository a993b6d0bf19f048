// Package receivers holds what is known about the servers that receive people's mail:
// how their verdict is read, under which authserv-ids, and what that was measured on.
// All the data stand in table.go.
//
// Invariant: the README, the manual, and what pulse-authorize init and check say about
// a receiver are made from the table, so no fact stands twice. Nothing is called
// measured that was not counted in real mail. Caveat: providers change what they
// write without notice. pulse-classify suggest and scripts/probe-receiver look at what
// really arrives.
package receivers

import (
	"cmp"
	"slices"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// Receiver is a preset. Its texts are single lines of printable ASCII without a full
// stop. An empty one means that nothing is known.
type Receiver struct {
	Name    string   // what pulse-authorize init --receiver is given
	Title   string   // what people call it
	Aliases []string // other names for it, see ByName
	IMAP    []string // hosts at which its mail is read, lower case

	Verdict  policy.Verdict  // how its fields are read; none: they prove nothing
	Probed   bool            // the verdict may be chosen only after a probe, so init leaves it out
	IDs      []string        // its authserv-ids; a pattern *.suffix if they differ from host to host
	Example  string          // an id that the pattern stands for
	Yours    bool            // software: its operator chooses the id
	Unsafe   []string        // ids that it writes and that prove nothing
	Evidence policy.Evidence // what init writes

	Writes     string // what its fields look like
	Measured   string // counts, and when; empty: nothing
	Documented string // what manuals or source say and nobody measured
	OwnCheck   string // why pulse's own DKIM check may fail there; empty: no reason is known
	Never      string // what nothing verifies there
	Risk       string // what can go wrong all the same
	Do         string // what to do about it
}

// All returns the presets, sorted by name.
func All() []Receiver { return slices.Clone(table) }

// ByName returns the preset of a name or alias. Case, blanks, dots and the like make
// no difference: Office 365 is office365.
func ByName(name string) (Receiver, bool) {
	key := plain(name)
	return find(func(r *Receiver) bool {
		return slices.ContainsFunc(r.names(), func(n string) bool { return plain(n) == key })
	})
}

// names returns everything that the receiver is called.
func (r *Receiver) names() []string { return append([]string{r.Name}, r.Aliases...) }

// plain returns the letters and digits of a name in lower case.
func plain(name string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" -_.,+/", c) {
			return -1
		}
		return c
	}, address.Fold(name))
}

// Nearest returns the names of all presets, those first that are spelled most like name.
func Nearest(name string) []string {
	type near struct {
		name string
		far  int
	}
	key := plain(name[:min(len(name), 64)])
	var list []near
	for i := range table {
		n := near{table[i].Name, len(key)}
		for _, called := range table[i].names() {
			n.far = min(n.far, distance(key, plain(called)))
		}
		list = append(list, n)
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.far, b.far) })
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	return names
}

// distance returns how many letters have to be changed, added or removed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// BySource returns the preset of the receiver whose IMAP server is named in a
// message.source, imaps://user@host[:port]/MAILBOX.
func BySource(source string) (Receiver, bool) {
	scheme, rest, _ := strings.Cut(source, "://")
	if scheme != "imaps" && scheme != "imap" {
		return Receiver{}, false
	}
	authority, _, _ := strings.Cut(rest, "/")
	host, _, _ := strings.Cut(authority[strings.LastIndexByte(authority, '@')+1:], ":")
	return find(func(r *Receiver) bool { return slices.Contains(r.IMAP, host) })
}

// ByID returns the preset that a pinned authserv-id or pattern belongs to, if that is
// the whole of what the preset pins or a part of it. unsafe reports that it is an id of
// this receiver that proves nothing.
func ByID(id string) (r Receiver, unsafe, ok bool) {
	r, ok = find(func(r *Receiver) bool { return covered(r.Unsafe, id) })
	if ok {
		return r, true, true
	}
	r, ok = find(func(r *Receiver) bool { return covered(r.IDs, id) })
	return r, false, ok
}

// covered reports whether an id is in a list, or below one of its patterns.
func covered(list []string, id string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return policy.Match(p, id) })
}

func find(match func(*Receiver) bool) (Receiver, bool) {
	for i := range table {
		if match(&table[i]) {
			return table[i], true
		}
	}
	return Receiver{}, false
}
