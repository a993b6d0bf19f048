package queue

import (
	"strings"

	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
)

// Sender says whose tasks are meant: those from an address, ignoring case in ASCII; or, given
// as @domain, those from any address of that domain, but not of its subdomains. Empty: all.
type Sender string

// Valid reports whether a domain is one. Any text may be the address of a sender.
func (w Sender) Valid() bool {
	domain, ok := strings.CutPrefix(string(w), "@")
	return !ok || address.Domain(domain)
}

// May reports whether a task may be one of these, by what the agenda says.
func (w Sender) May(e *store.Entry) bool {
	return w == "" || w[0] == '@' || e.Sender == store.KeyOf(string(w))
}

// Is reports whether a task is one of these.
func (w Sender) Is(s *Stored) bool {
	return w == "" || address.Listed([]string{string(w)}, s.Identity.Sender) ||
		address.Equal(string(w), s.Identity.Sender)
}
