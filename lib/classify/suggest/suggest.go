// Package suggest reads mail that has already arrived, and finds out what the policy
// should say about the server that received it: whom to believe, which kind of verdict
// fits, what pulse's own check of DKIM adds, and which alignment (pulse-classify(1)).
//
// Invariant: it counts a mail as verified if identity.Classify verifies it under the
// lines that it prints. What it prints is a valid policy file. Everything in it that
// came out of mail is escaped and, except a pinned id, stands in comments. Memory and
// time are bounded, however many mails and ids there are.
//
// Caveat: mail is the only witness, and anyone can send mail. A sender can flood a
// mailbox, so numbers alone never make it set a pin, only name one. It sets a pin if
// the IMAP server is that of a known receiver, or if the fields with the id alone stand
// where no sender can put them, above every Received field. It never sets the kind
// microsoft, which a person chooses after a probe.
package suggest

import (
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// Bounds on what is remembered. Anything beyond one is counted without its name.
const (
	maxMails   = 5000     // whose header is looked at
	maxBytes   = 64 << 20 // of these headers
	maxSources = 64       // of a survey
	maxFirsts  = 32       // different first fields of a source
	maxFields  = 20       // Authentication-Results fields of a mail whose id counts
	maxDomains = 16       // From domains of a first field
	maxSigners = 4        // signing domains that were not aligned, of a way
	maxName    = 253
)

// Survey collects messages. Use New.
type Survey struct {
	owner   string
	sources []*source
	mails   int
	bytes   int // of the headers kept
	kept    int // mails
	unnamed int // mails of sources beyond maxSources
	unread  int // mails beyond maxMails and maxBytes
}

// New returns an empty survey. owner is an address. If it is empty, all mail counts as
// mail that should be verified.
func New(owner string) *Survey { return &Survey{owner: owner} }

// Add takes a message in. It keeps no reference to m.
func (s *Survey) Add(m *envelope.Message) {
	if m.Webhook != nil {
		return // a request: no server vouches for it
	}
	s.mails++
	src := s.source(m.Source)
	if src == nil {
		s.unnamed++
		return
	}
	size := 0
	for i := range m.Headers {
		size += len(m.Headers[i].Name) + len(m.Headers[i].Value) + 32
	}
	if s.kept == maxMails || s.bytes+size > maxBytes {
		s.unread++
		return
	}
	s.kept++
	s.bytes += size
	src.mails = append(src.mails, s.look(m, src.example))
}

// seen is a message with what its header shows.
type seen struct {
	*envelope.Message
	sender    string
	own       bool     // it is the owner's
	kind      kind     // of its first Authentication-Results field
	id        string   // of that field, if kind is byID
	fields    int      // how many it has
	ids       []string // their different ids, wherever they stand
	above     []string // those of fields above every Received field
	received  bool
	microsoft bool // it has a field that servers of Microsoft write
}

// kind tells what the first Authentication-Results field of a message looks like.
type kind int

const (
	none kind = iota
	byID
	oddName
	noID
	unreadable
)

// look copies what a verdict may depend on, and reads the names and ids of the fields. A
// server puts its Received field on top of the message that it was sent (RFC 5321 §4.4),
// so the sender did not write what stands above all of them, unless the server orders the
// fields anew.
func (s *Survey) look(m *envelope.Message, source string) *seen {
	c := &seen{Message: &envelope.Message{
		Source: source, Received: m.Received, Fetched: m.Fetched, Defects: m.Defects, DKIM: m.DKIM, Left: m.Left,
		Headers: make([]envelope.Field, len(m.Headers)),
	}}
	for i, f := range m.Headers {
		c.Headers[i] = envelope.Field{Name: strings.Clone(f.Name), Value: strings.Clone(f.Value)}
		c.field(&c.Headers[i])
	}
	c.sender = identity.Classify(c.Message, policy.Default()).Sender
	c.own = s.owner != "" && address.Equal(c.sender, s.owner)
	return c
}

func (c *seen) field(f *envelope.Field) {
	switch address.Fold(f.Name) {
	case "received":
		c.received = true
	case "x-ms-exchange-organization-authas":
		c.microsoft = true
	}
	is, odd := authres.Named(f.Name)
	if !is {
		return
	}
	id := authres.ID(f.Value)
	if len(id) > maxName {
		id = ""
	}
	if c.fields++; c.fields == 1 {
		c.kind, c.id = kindOf(f.Value, id, odd)
	}
	if odd || c.fields > maxFields {
		return
	}
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
	if !c.received && !slices.Contains(c.above, id) {
		c.above = append(c.above, id)
	}
}

// kindOf returns the kind of a field, and its id if it has one. One without an id begins
// with method=result.
func kindOf(value, id string, odd bool) (kind, string) {
	word := strings.TrimLeft(value, " \t\r\n")
	if end := strings.IndexAny(word, " \t\r\n;("); end >= 0 {
		word = word[:end]
	}
	switch {
	case odd:
		return oddName, ""
	case id != "":
		return byID, id
	case strings.IndexByte(word, '=') > 0:
		return noID, ""
	}
	return unreadable, ""
}

// source returns the entry of a message.source, or nil if there are too many.
func (s *Survey) source(name string) *source {
	pattern := account(name)
	for _, src := range s.sources {
		if src.name == pattern {
			return src
		}
	}
	if len(s.sources) == maxSources {
		return nil
	}
	src := &source{name: strings.Clone(pattern), example: strings.Clone(name)}
	s.sources = append(s.sources, src)
	return src
}
