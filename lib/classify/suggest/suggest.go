// Package suggest reads mail that has already arrived, and finds out what the policy
// should say about the server that received it: which authserv-id to pin, if any, and
// whether the default alignment of DKIM fits (pulse-classify(1)).
//
// Invariant: it counts a mail as verified if identity.Classify verifies it under the
// policy that it prints. What it prints is a valid policy file. Everything in it that
// came out of mail is escaped and, except a pinned id, stands in comments. Memory is
// bounded, however many mails and ids there are.
//
// Caveat: mail is the only witness, and anyone can send mail. A sender can flood a
// mailbox, so numbers alone never make it set a pin, only name one. It sets a pin if
// the id stands where no sender can put it, above every Received field, or if a preset
// has the id for that IMAP server.
package suggest

import (
	"strings"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// Bounds on what is remembered. Anything beyond one is counted without its name.
const (
	maxSources = 64 // of a survey
	maxFirsts  = 32 // different first fields of a source
	maxDomains = 16 // From domains of a first field
	maxSigners = 4  // signing domains that were not aligned, of a first field
	maxName    = 253
)

// alignments are in the order of the columns. Under evidence = "dkim" the third means
// strict, because pulse's own check always compares the domains.
var alignments = [...]policy.Alignment{policy.Strict, policy.Relaxed, policy.Any}

// policies are the policies under which a message is tried, one for each alignment.
type policies [len(alignments)]*policy.Policy

// Survey counts messages. Use New.
type Survey struct {
	owner           string
	authres, signed policies // by the receiver's verdict, by pulse's own check
	sources         []*source
	mails           int
	unnamed         int // mails of sources beyond maxSources
}

// New returns an empty survey. owner is an address. If it is empty, all mail counts as
// mail that should be verified.
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

// Add counts a message. It keeps no reference to m.
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
		if p.AuthservIDs = []string{id}; kind != byID {
			p.AuthservIDs = []string{"none.invalid"}
		}
	}
	f.count(m, s.judge(m, &s.authres, &f.all, &f.own))
}

// judge classifies the message under each policy, counts the results, and returns the
// sender.
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
