package compare_test

import (
	"fmt"
	"slices"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// What follows from an ask besides the decision, from first principles: each word is followed
// by how far it lets the ask go.
func beyond(id *identity.Identity, d *decision.Decision, p *policy.Policy) map[string]int {
	flag := func(far bool) int {
		if far {
			return 1
		}
		return 0
	}
	private := d.Action == terms.ReadPrivate
	untrusted := false
	if id.Effect() {
		private, untrusted = slices.Contains(d.Labels, label.Private), slices.Contains(d.Labels, label.Untrusted)
	}
	stranger := untrusted || id.Trust == terms.Unknown || id.Trust == terms.OwnerClaim || id.Trust == terms.ExternalVerified
	return map[string]int{
		"text":      flag(id.Effect() || !slices.Contains(p.Extract.Require, id.Trust)),
		"caps":      flag(id.Trust != terms.ExternalVerified),
		"untrusted": flag(!stranger),
		"private":   flag(!private),
		"grants":    flag(!id.Effect() || !d.Flow || !d.Action.Outward()),
	}
}

// worker returns the identity that an effect of the ask's worker has.
func worker(id *identity.Identity, d *decision.Decision) *identity.Identity {
	out := *id
	out.Via, out.Parent, out.Root, out.Depth = identity.ViaAgent, "p", "p", 1
	out.Labels = out.Labels.Union(label.Of(id.Trust))
	if d.Action == terms.ReadPrivate {
		out.Labels, _ = out.Labels.Named([]string{"private"})
	}
	return &out
}

// counts is what an effect is judged by of whose it is.
func counts(id *identity.Identity) string {
	return fmt.Sprint(id.Trust, id.Sender, id.Chat, id.Labels.Words())
}

// follows compares what else follows under both policies from an ask that neither rejects.
func (s *space) follows(p *party, ds [2]decision.Decision, show func() string) {
	if ds[0].Outcome == terms.Reject || ds[1].Outcome == terms.Reject {
		return
	}
	was, is := beyond(&p.ids[0], &ds[0], s.policies[0]), beyond(&p.ids[1], &ds[1], s.policies[1])
	for name := range was {
		s.goes(was[name], is[name], name, show)
	}
	if p.ids[0].Effect() {
		return
	}
	a, b := worker(&p.ids[0], &ds[0]), worker(&p.ids[1], &ds[1])
	if counts(a) == counts(b) {
		return // the effects of one identity are compared as effects
	}
	key := fmt.Sprint(a.Trust, b.Trust, a.Sender, a.Chat, a.Labels.Words(), b.Labels.Words(), a.Automatic)
	if s.workers[key] {
		return
	}
	s.workers[key] = true
	s.work(a, b, "bob@partner.example", show)
	if s.private() {
		a.Audience, b.Audience = audience.Anyone, audience.Anyone
		for _, to := range persons {
			s.work(a, b, to, show)
		}
	}
}

// work compares what the worker of an ask may do.
func (s *space) work(a, b *identity.Identity, to string, show func() string) {
	for _, tool := range append([]string{"", "zzz"}, names...) {
		for _, action := range terms.Actions {
			r := &request.Request{Tool: tool, Action: action, Args: `{"path":"ok"}`, Target: []string{to}}
			w := tools.World(machine(sums[0]))
			was := decision.Decide(decision.Input{Identity: a, Request: r, Policy: s.policies[0], World: w})
			is := decision.Decide(decision.Input{Identity: b, Request: r, Policy: s.policies[1], World: w})
			s.decided++
			s.goes(was.Outcome.Reach(), is.Outcome.Reach(), fmt.Sprintf("%s to %s as %s of its worker", tool, to, action), show)
		}
	}
}

// goes notes that something goes further under one of the policies.
func (s *space) goes(was, is int, what string, show func() string) {
	way := compare.Wider
	switch {
	case was == is:
		return
	case is < was:
		way = compare.Narrower
	}
	if _, ok := s.beyond[way]; !ok {
		s.beyond[way] = what + ": " + show()
	}
}

// wrongAspect says what is wrong about a difference of something besides the decision.
func wrongAspect(d *compare.Difference, old, new *policy.Policy) string {
	if way := compare.Way(d.Old, d.New); way != d.Direction || way == compare.Other {
		return fmt.Sprintf("%+v -> %+v is not %s", d.Old, d.New, d.Direction)
	}
	wrong := ""
	for _, w := range machines {
		if wrong = wrongOn(d, old, new, w); wrong == "" {
			break
		}
	}
	return wrong
}

// wrongOn is wrongAspect on one machine.
func wrongOn(d *compare.Difference, old, new *policy.Policy, w tools.World) string {
	o, asked, err := readBack(d.Witness)
	if err != nil {
		return err.Error()
	}
	var got [2]map[string]int
	var ids [2]*identity.Identity
	for n, p := range []*policy.Policy{old, new} {
		id := o.identity(p)
		in := decision.Input{Identity: &id, Request: asked, Policy: p, World: w}
		if o.message != nil {
			in.Source, in.Recipients = o.message.Source, identity.Recipients(o.message)
		}
		dec := decision.Decide(in)
		if dec.Outcome == terms.Reject {
			return "it is rejected by " + p.Name
		}
		got[n], ids[n] = beyond(&id, &dec, p), worker(&id, &dec)
	}
	if d.Old.Name == "effect" {
		if counts(ids[0]) == counts(ids[1]) {
			return "its worker counts alike under both"
		}
		return ""
	}
	if was, is := got[0][d.Old.Name], got[1][d.New.Name]; was != d.Old.Reach || is != d.New.Reach {
		return fmt.Sprintf("%s is %d and %d", d.Old.Name, was, is)
	}
	return ""
}
