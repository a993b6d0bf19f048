package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The bounds of what is kept of proofs, whatever the log holds.
const (
	maxProofs = 10_000 // senders
	maxSender = 320    // bytes; an address is shorter
	proven    = 7 * day
)

// Proofs says how far the mail of each sender was proven lately. It is given the lines of the log
// newest first.
type Proofs struct{ by map[string]*Proof }

// Proof is how far the mail of one sender was proven.
type Proof struct {
	Sender   string
	Passed   time.Time // the newest that was proven; zero: none
	Failed   time.Time // the first that was not, since then; zero: the newest was
	Mails    int       // since then
	Reason   string    // of the newest
	External bool      // it was proven as the mail of an external sender
}

// Add takes a line, which is so old.
func (p *Proofs) Add(l *audit.Line, age time.Duration) {
	if l.Event != task.Added && l.Event != task.Refused || l.Source == "" || l.Sender == "" || age >= proven {
		return
	}
	reason := identity.Reason(l.IdentityReason)
	if !reason.Good() && !reason.Unproven() {
		return
	}
	sender := l.Sender[:min(len(l.Sender), maxSender)]
	one := p.by[sender]
	switch {
	case one == nil && len(p.by) >= maxProofs:
		return
	case one == nil:
		if p.by == nil {
			p.by = map[string]*Proof{}
		}
		one = &Proof{Sender: strings.Clone(sender)}
		if p.by[one.Sender] = one; !reason.Good() {
			one.Reason = strings.Clone(string(reason))
		}
	case !one.Passed.IsZero():
		return
	}
	if reason.Good() {
		one.Passed, one.External = l.Time, l.Trust == terms.ExternalVerified
	} else {
		one.Failed, one.Mails = l.Time, one.Mails+1
	}
}

// Failing returns the senders whose mail was proven within a week, and is not any more, by address.
func (p *Proofs) Failing() (list []Proof) {
	for _, one := range p.by {
		if !one.Failed.IsZero() && !one.Passed.IsZero() {
			list = append(list, *one)
		}
	}
	slices.SortFunc(list, func(a, b Proof) int { return strings.Compare(a.Sender, b.Sender) })
	return list
}

// failing finds the external senders whose mail is not proven any more. They are not told, and nor
// is the agent. An owner notices that no answer comes; and it is an owner's address that is forged.
// One mail says nothing: anyone can write it, or a receiver had a bad moment.
func (p *Proofs) failing() []Finding {
	var s some
	for _, one := range p.Failing() {
		if !one.External || one.Mails < 2 {
			continue
		}
		s.add(Finding{
			Code: codeFailing, About: one.Sender, Do: "pulse-queue log --event refused",
			Text: fmt.Sprintf("mail of %s was proven until %s, and since %s it is not (%d mails): %s; or it is not theirs",
				one.Sender, stamp(one.Passed), stamp(one.Failed), one.Mails, one.Reason),
		})
	}
	return s.findings(codeFailing, "pulse-queue stats")
}
