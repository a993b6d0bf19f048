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
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
)

// Bounds on what is remembered. Anything beyond one is counted without its name.
const (
	maxMails   = 5000     // whose header is looked at
	maxBytes   = 64 << 20 // of these headers
	maxSources = 64       // of a survey
	maxFirsts  = 32       // different first fields of a source
	maxFields  = 20       // Authentication-Results fields of a mail whose id counts
	maxDomains = 16       // From domains of a first field
	maxSigners = 4        // signing domains that were not aligned, of a first field
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
	src.mails = append(src.mails, clone(m, src.example))
}

// clone copies what a verdict may depend on.
func clone(m *envelope.Message, source string) *envelope.Message {
	c := &envelope.Message{Source: source, Received: m.Received, Fetched: m.Fetched, Defects: m.Defects, DKIM: m.DKIM, Left: m.Left}
	c.Headers = make([]envelope.Field, len(m.Headers))
	for i, f := range m.Headers {
		c.Headers[i] = envelope.Field{Name: strings.Clone(f.Name), Value: strings.Clone(f.Value)}
	}
	return c
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

// owns reports whether a sender is the owner.
func (s *Survey) owns(sender string) bool {
	return s.owner != "" && address.Equal(sender, s.owner)
}
