// Package explain says why a record is decided as it is: every check in its order, what
// each saw, which line of the policy decided, and the smallest change of the policy or of
// the mail that would decide otherwise (pulse-authorize(1)).
//
// Invariant: the steps are noted by the code that decides, and a change is only named if
// that code, run again with the change made, decides otherwise. Caveat: a change that helps
// is not a change that is wise; its Risk says what else it lets in.
package explain

import (
	"slices"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/replay"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// Subject is what is decided on.
type Subject struct {
	replay.Case
	Policy  *policy.Policy
	World   tools.World  // as in decision.Input
	partly  string       // who gave the first of two yeses, as the queue says
	Settled terms.Action // of a task in the queue: what it was accepted as; then Given is there and counts, not the message
}

// Members lists the members of a record that Read looks at.
var Members = append(slices.Clip(replay.Members), task.Member)

// Read returns the subject of a record of any stage that pulse-classify would take.
func Read(rec *record.Record, p *policy.Policy, world tools.World) (Subject, error) {
	c, err := replay.ReadPiped(rec)
	s := Subject{Case: c, Policy: p, World: world}
	if err == nil && rec.Has(task.Member) {
		err = rec.Decode(task.Member, func(v record.Value) error { return v.Each(record.To("partly", &s.partly)) })
	}
	return s, err
}

// given reports whether the identity is that of the record: only the queue knows the sender of
// an effect or of a submitted ask, and a task was classified once.
func (s *Subject) given() bool { return s.Message == nil || s.Settled != "" }

// answer is what becomes of a subject.
type answer struct {
	id identity.Identity
	d  decision.Follows
}

// decide classifies and decides, as pulse-classify and pulse-authorize do. What is in a
// queue it decides on as pulse-queue run does.
func (s *Subject) decide(log *trace.Log) answer {
	if s.Settled == "" {
		a := s.Trace(log, s.Policy, s.World)
		return answer{a.Identity, a.Decision}
	}
	stored := identity.Origin{Given: s.Given}
	a := answer{id: stored.Trace(log, s.Policy)}
	in := s.Input(&a.id, s.Policy, s.World)
	in.Log, in.Trust = log, s.Given.Trust
	a.d = decision.Again(in, s.Settled).Follow(&in)
	return a
}

// Explanation says why a record is decided as it is.
type Explanation struct {
	Identity identity.Identity
	Decision decision.Follows
	Steps    []trace.Step
	Decided  int      // which of the steps decided
	OfPolicy []Change // changes of the policy that would decide otherwise, the smallest first
	OfMail   []Change // changes of the mail or the request that would

	s Subject
}

// Of explains a subject.
func Of(s Subject) *Explanation {
	var log trace.Log
	a := s.decide(&log)
	x := &Explanation{s: s, Identity: a.id, Decision: a.d, Steps: log.Steps}
	for i := range x.Steps {
		if x.Steps[i].Result == string(a.d.Outcome) {
			x.Decided = i
		}
	}
	x.advise(a)
	return x
}
