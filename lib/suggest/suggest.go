// Package suggest finds out from mail that has already come what the policy should
// say about the server that received it: which authserv-id to pin, if any, and
// whether the default alignment of DKIM fits (pulse-classify(1)).
//
// Invariant: what it counts as verified is what identity.Classify verifies under
// the policy it prints; what it prints is a valid policy file in which everything
// that came out of mail is escaped and, but for a pinned id, stands in comments;
// memory is bounded, however many mails and ids there are.
//
// Caveat: mail is the witness, and anyone can send mail. Numbers alone never make
// it set a pin, only name one: a sender can flood a mailbox. It sets one that
// stands where no sender can put it, above every Received field, or that a preset
// knows of the IMAP server.
package suggest

import (
	"strings"

	"pulse/lib/address"
	"pulse/lib/envelope"
	"pulse/lib/identity"
	"pulse/lib/policy"
)

// Bounds on what is remembered; what exceeds one is counted without its name.
const (
	maxSources = 64 // of a survey
	maxFirsts  = 32 // different first fields of a source
	maxDomains = 16 // From domains of a first field
	maxSigners = 4  // signing domains that were not aligned, of a first field
	maxName    = 253
)

// alignments in the order of the columns. Our own check knows no third: it always
// compares the domains.
var alignments = [...]policy.Alignment{policy.Strict, policy.Relaxed, policy.Any}

// policies are those under which a message is tried, one for each alignment.
type policies [len(alignments)]*policy.Policy

// Survey counts messages. Use New.
type Survey struct {
	owner           string
	authres, signed policies // by the receiver's word, by our own check
	sources         []*source
	mails           int
	unnamed         int // mails of sources beyond maxSources
}

// New returns an empty survey. owner is an address, or empty: then all mail is
// taken for mail that should be verified.
func New(owner string) *Survey {
	s := &Survey{owner: owner}
	s.authres.fill(policy.ByAuthRes)
	s.signed.fill(policy.ByDKIM)
	return s
}

func (p *policies) fill(e policy.Evidence) {
	for i, a := range alignments {
		p[i] = policy.Default()
		p[i].DKIMAlignment, p[i].Evidence = a, e
	}
}

// Add counts a message. It keeps nothing of m.
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
	src.mails++
	if m.DKIM != nil {
		s.judge(m, &s.signed, &src.signed, &src.ownSigned)
	}
	kind, id := firstField(m)
	f := src.first(kind, id)
	if f == nil {
		src.uncounted++
		return
	}
	for _, p := range s.authres {
		if p.AuthservID = id; kind != byID {
			p.AuthservID = "none.invalid"
		}
	}
	f.count(m, s.judge(m, &s.authres, &f.all, &f.own))
}

// judge classifies the message under each policy, counts what comes of it, and
// returns the sender.
func (s *Survey) judge(m *envelope.Message, ps *policies, all, own *tally) string {
	var found results
	for i, p := range ps {
		found[i] = identity.Classify(m, p)
	}
	sender := found[0].Sender
	all.add(m, &found)
	if s.owner != "" && address.Equal(sender, s.owner) {
		own.add(m, &found)
	}
	return sender
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
