// Package receivers holds what is known about the servers that receive people's mail:
// whether their verdict can be pinned, under which authserv-id, and what they write.
// All the data stand in table.go.
//
// Invariant: a preset has an authserv-id, or says why it can't have one, or belongs
// to software whose operator chooses the id; never two of these. Caveat: nothing
// here was measured unless Checked is a date. Providers change what they write
// without notice; pulse-classify suggest and scripts/probe-receiver look at what
// really arrives.
package receivers

import (
	"slices"
	"strings"
)

// unchecked is the value of Checked until scripts/probe-receiver was run against the
// receiver.
const unchecked = "unchecked"

// Receiver is a preset. Each of its texts is one line of printable ASCII.
type Receiver struct {
	Name       string   // what pulse-authorize init --receiver is given
	AuthservID string   // byte for byte as it is written; empty if there is no one id
	Unpinnable string   // why its verdict can't be used; empty if it can
	Stamps     string   // what its field holds
	Strips     string   // which forgeries it is known to remove
	Inside     string   // what its default setup leaves undone on mail of its own users; empty if nothing is known
	Checked    string   // when scripts/probe-receiver was last run against it: 2026-11-21, or unchecked
	Basis      string   // where Stamps and Unpinnable are known from
	IMAP       []string // hosts at which its mail is read, lower case
}

// Yours reports whether the receiver is software that writes an id chosen by its
// operator, which no preset can know.
func (r *Receiver) Yours() bool { return r.AuthservID == "" && r.Unpinnable == "" }

// All returns the presets, sorted by name.
func All() []Receiver { return slices.Clone(table) }

// ByName returns the preset of a name.
func ByName(name string) (Receiver, bool) {
	return find(func(r *Receiver) bool { return r.Name == name })
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

func find(match func(*Receiver) bool) (Receiver, bool) {
	for i := range table {
		if match(&table[i]) {
			return table[i], true
		}
	}
	return Receiver{}, false
}
