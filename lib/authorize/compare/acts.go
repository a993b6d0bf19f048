package compare

import (
	"fmt"
	"slices"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Follower compares what follows from records under two policies.
type Follower struct {
	old, new *policy.Policy
	acts     *acts
}

// NewFollower returns a follower for two policies.
func NewFollower(old, new *policy.Policy) *Follower { return &Follower{old: old, new: new} }

// Change is one thing that follows otherwise.
type Change struct {
	Old, New decision.Aspect
	act      *act // an effect of the worker; nil: it is none
}

// Direction says which policy lets more follow.
func (c *Change) Direction() Direction { return Way(c.Old, c.New) }

// String says what changes. An outcome speaks for itself.
func (c *Change) String() string {
	what := c.Old.Value + " -> " + c.New.Value
	switch {
	case c.act != nil:
		return c.act.what() + ": " + what
	case c.Old.Name != decision.OutcomeAspect && c.Old.Name != effectAspect:
		return c.Old.Name + " " + what
	}
	return what
}

// Append appends the change as an object.
func (c *Change) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	o.Str("direction", string(c.Direction()))
	o.Str("of", c.Old.Name)
	if c.act != nil {
		o.Str("what", c.act.what())
	}
	o.Str("old", c.Old.Value)
	o.Str("new", c.New.Value)
	return o.Bytes()
}

// Changes returns what follows otherwise from a record: was under OLD, is under NEW. Of the
// effects that its worker may propose, these are the two that go furthest another way. An
// action that is let through as another is a change of the outcome. The error says that it
// could not be found out what the worker may do.
func (f *Follower) Changes(was, is *decision.Follows) (list []Change, err error) {
	rejected := was.Outcome == terms.Reject || is.Outcome == terms.Reject
	if was.Outcome != is.Outcome || was.Action != is.Action && !rejected {
		list = append(list, Change{Old: was.Aspects()[0], New: is.Aspects()[0]})
	}
	if rejected || onlyOutcome(was, is) {
		return list, nil
	}
	from, to := was.Aspects(), is.Aspects()
	for i := 1; i < len(from); i++ {
		if from[i] != to[i] {
			list = append(list, Change{Old: from[i], New: to[i]})
		}
	}
	if !was.Ask || alike(f.old, f.new, was.As(), is.As()) {
		return list, nil
	}
	if f.acts == nil {
		f.acts = newActs(f.old, f.new)
	}
	acts, err := f.acts.differ(was, is)
	for i := range acts {
		list = append(list, Change{acts[i].was, acts[i].is, &acts[i]})
	}
	return list, err
}

// onlyOutcome reports whether nothing but the outcome can differ.
func onlyOutcome(was, is *decision.Follows) bool {
	return was.Trust == is.Trust && was.Text == is.Text && was.Shared == is.Shared && was.Flow == is.Flow && slices.Equal(was.Brings, is.Brings) &&
		was.As().Sender == is.As().Sender && was.As().Chat == is.As().Chat
}

// acts are the effects that two policies can tell apart: every kind of call, action and
// target. They show what trust decides about the effects of an ask, where the policies do not
// trust its sender alike.
type acts struct {
	old, new *policy.Policy
	calls    []call
	targets  [][]string
	messages []call // to within, and everyone there has seen what they are made of
	within   [][]string
	err      error
	seen     map[string][]act
}

// act is an effect that a worker may propose, and what becomes of it.
type act struct {
	call
	request request.Request
	seen    audience.Audience
	was, is decision.Aspect
}

// newActs returns the effects that two policies can tell apart.
func newActs(old, new *policy.Policy) *acts {
	a := &acts{old: old, new: new, targets: targetsOf(old, new), seen: map[string][]act{}}
	names, err := toolsOf(old, new)
	a.calls = []call{{}}
	for _, name := range names {
		if err != nil {
			break
		}
		var some []call
		if some, err = callsOf(old, new, name, nil); len(a.calls)+len(some) > maxActs {
			err = errTooMany
		}
		a.calls = append(a.calls, some...)
	}
	if err == nil {
		a.messages, a.within, err = messagesOf(old, new)
	}
	a.err = err
	return a
}

// maxActs bounds the calls that are tried for each pair of trust.
const maxActs = 2000

// differ returns the effects that go furthest another way under NEW, one for each way.
func (a *acts) differ(was, is *decision.Follows) ([]act, error) {
	key := trusted(a.old, was.As()) + trusted(a.new, is.As())
	if a.err != nil {
		return nil, a.err
	}
	if list, ok := a.seen[key]; ok {
		return list, nil
	}
	var list []act
	for i := range a.calls {
		for _, target := range a.targets {
			for _, action := range terms.Actions {
				list = keep(list, a.calls[i].try(action, target, audience.Audience{}, was, is))
			}
		}
	}
	for _, target := range a.within {
		for i := range a.messages {
			list = keep(list, a.messages[i].try(a.messages[i].actions[0], target, audience.Of(target...), was, is))
		}
	}
	a.seen[key] = list
	return list, nil
}

// alike reports whether both policies judge the effects of either as those of the other. What
// differs between the policies then is found where effects are compared.
func alike(old, new *policy.Policy, a, b *identity.Identity) bool {
	same := a.Trust == b.Trust && a.Sender == b.Sender && a.Chat == b.Chat && slices.Equal(a.Labels.Words(), b.Labels.Words())
	return same || trusted(old, a) == trusted(old, b) && trusted(new, a) == trusted(new, b)
}

// trusted is what a policy can tell those apart by whose effects these are.
func trusted(p *policy.Policy, id *identity.Identity) string {
	sender := ""
	if row := p.Sender(id.Sender); row != nil {
		sender = row.Sender
	}
	if p.Chat(id.Sender, id.Chat) != nil {
		sender = id.Sender
	}
	return fmt.Sprintf("%q", []string{string(id.Trust), sender, string(id.Chat), fmt.Sprint(id.Labels.Words(), id.Automatic)})
}

// try decides on an effect of either.
func (c *call) try(action terms.Action, target []string, seen audience.Audience, was, is *decision.Follows) act {
	r := request.Request{Action: action, Tool: c.tool, Target: target, Args: record.Value(c.args)}
	out := act{call: *c, request: r, seen: seen}
	before, after := was.Effect(&out.request, seen, c.machine()), is.Effect(&out.request, seen, c.machine())
	out.was, out.is = effect(before.Outcome), effect(after.Outcome)
	return out
}

func effect(o terms.Outcome) decision.Aspect {
	return decision.Aspect{Name: effectAspect, Value: string(o), Reach: o.Reach()}
}

// effectAspect is the name of what is no aspect of a record: the outcome of an effect of its
// worker.
const effectAspect = "effect"

// keep adds an effect to those that go furthest in their direction.
func keep(list []act, a act) []act {
	if a.was.Reach == a.is.Reach {
		return list
	}
	for i := range list {
		if Way(list[i].was, list[i].is) == Way(a.was, a.is) {
			if abs(a.is.Reach-a.was.Reach) > abs(list[i].is.Reach-list[i].was.Reach) {
				list[i] = a
			}
			return list
		}
	}
	return append(list, a)
}

func abs(n int) int { return max(n, -n) }

// what describes an effect.
func (a *act) what() string {
	what := " as " + string(a.request.Action)
	if a.tool != "" {
		what = " " + a.tool + a.call.what + what
	}
	if !a.seen.None() {
		what += " to " + a.seen.String() + ", who has seen what it is made of"
	}
	return "effect of its worker" + what
}
