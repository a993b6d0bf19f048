package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// mails looks at mail: every kind of source, sender, proof, recipients and age.
func (s *search) mails() error {
	sources, err := sourcesOf(s.old, s.new)
	if err != nil {
		return err
	}
	all, senders := proofs{}, sendersOf(s.old, s.new)
	for _, source := range sources {
		proven := all.of(s, source)
		if err := s.enough(); err != nil {
			return err
		}
		recipients, err := s.recipientsOf(source)
		if err != nil {
			return err
		}
		for _, from := range senders {
			for _, by := range proven {
				for _, to := range recipients {
					s.mail(letter{source: source, from: from.address, proof: by, to: to}, &from)
				}
			}
			if err := s.enough(); err != nil {
				return err
			}
		}
	}
	return nil
}

// mail looks at one mail at every age, by a person and by a program, and in a session.
func (s *search) mail(l letter, from *sender) {
	for _, l.age = range agesOf(s.old, s.new) {
		for _, l.automatic = range []bool{false, true} {
			if l.automatic && !from.program {
				continue
			}
			c := candidate{message: l.message(), what: l.what(from, s), group: from.address + " " + l.source, odd: l.odd()}
			s.message(c)
			ofOwner := func(p *policy.Policy) bool { return c.identity(p).Trust == terms.OwnerVerifiedEmail }
			if from.owner && !l.automatic && (ofOwner(s.old) || ofOwner(s.new)) {
				c.session, c.what = true, c.what+", in a session"
				s.message(c)
			}
		}
	}
}

// agesOf returns how old mail may be: fresh, and old enough for one of the policies alone.
// What is too old for both waits under both.
func agesOf(old, new *policy.Policy) []time.Duration {
	if old.MaxAge == new.MaxAge {
		return []time.Duration{0}
	}
	limit, other := min(old.MaxAge, new.MaxAge), max(old.MaxAge, new.MaxAge)
	if limit == 0 { // not checked
		return []time.Duration{0, other + time.Second}
	}
	return []time.Duration{0, limit + min(time.Second, other-limit)}
}

// letter is a mail that the policies may judge differently.
type letter struct {
	source, from string
	proof        proof
	to           []string
	age          time.Duration
	automatic    bool
}

// message writes the mail.
func (l *letter) message() *envelope.Message {
	sent := fetched.Add(-l.age)
	_, domain, _ := strings.Cut(l.from, "@")
	m := &envelope.Message{
		Source: l.source, ID: "<1@" + domain + ">", Digest: "sha256:" + strings.Repeat("0", 64),
		Received: sent, Fetched: fetched, From: l.from, Scope: envelope.Headers,
		Left: envelope.NothingLeft(),
	}
	add := func(name, value string) { m.Headers = append(m.Headers, envelope.Field{Name: name, Value: value}) }
	l.proof.write(m, l.from, func() {
		add("From", l.from)
		if to := strings.Join(l.to, ", "); to != "" {
			add(l.proof.recipients(), to)
		}
		add("Date", sent.Add(time.Second-1).Truncate(time.Second).Format("Mon, 2 Jan 2006 15:04:05 -0700"))
		if l.proof.unsigned == "Subject" {
			add("Subject", "News")
		}
		if l.automatic {
			add("Auto-Submitted", "auto-generated")
		}
	})
	return m
}

// odd counts what is not usual about the mail.
func (l *letter) odd() (n int) {
	for _, is := range []bool{l.age > 0, l.automatic, len(l.to) > 1, l.proof.unsigned != "",
		l.proof.signer != itself, l.proof.form != &forms[0]} {
		if is {
			n++
		}
	}
	return n
}

// what describes the mail by what the policies ask about.
func (l *letter) what(from *sender, s *search) string {
	what := "mail of " + from.name()
	if l.to != nil {
		what += " to " + strings.Join(slices.Compact(slices.Clone(l.to)), ", ")
		if len(l.to) > 1 {
			what += " twice"
		}
	}
	if l.source != usual {
		what += " in " + l.source
	}
	if l.age > 0 {
		what += fmt.Sprintf(", %s old", short(l.age.Truncate(time.Minute)))
	}
	if l.automatic {
		what += ", sent by a program"
	}
	return what + l.proof.what(s)
}

// stateOf says how a policy takes a proof, without looking at the recipients.
func stateOf(p *policy.Policy, m *envelope.Message) (st state) {
	alone := *p
	alone.Recipients = nil
	id := identity.Classify(m, &alone)
	st.proven = id.Verified
	st.unchecked = id.Open()
	for _, f := range id.Unsigned.Names() {
		believed := slices.Contains(p.AcceptUnsigned, f)
		st.rests = st.rests || !believed && p.Relies(f)
		st.undated = st.undated || !believed && f == "Date"
	}
	return st
}

// state is how a policy takes a proof of who sent a mail.
type state struct {
	proven    bool
	unchecked bool // only pulse's own check is missing
	rests     bool // the policy goes by a field that is not signed
	undated   bool // no session takes it
}
