package decision

import (
	"reflect"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// state is a decision that is being made.
type state struct {
	Input
	d       Decision
	verdict tools.Verdict // of an effect that names a tool
}

// check is one of the checks that make a decision. run sets the decision, and reports
// whether that is the last word.
type check struct {
	name  string
	run   func(*state) (last bool)
	saw   func(*state) trace.Step // what run looked at; called after run, and only for a log; nil: run notes it
	asked func(*state) bool       // whether there is anything to check; nil: there always is
}

// askChecks decide on an ask, which a sender wants of the agent. The row comes first of
// what can let it pass; every check after it can only tighten, except the last, which
// keeps a listed sender from being lost through an outage.
var askChecks = [...]check{
	{"action", (*state).action, (*state).sawAction, nil},
	{"accept_automatic", (*state).automatic, (*state).sawAutomatic, (*state).isAutomatic},
	{"platform.actions", (*state).platform, (*state).sawPlatform, (*state).onPlatform},
	{"matrix", (*state).row, (*state).sawRow, nil},
	{"accept_unsigned", (*state).unsigned, (*state).sawUnsigned, (*state).passes},
	{"text", (*state).textUnproven, (*state).sawText, (*state).isMail},
	{"max_age", (*state).stale, (*state).sawStale, (*state).isAllowed},
	{"evidence", (*state).unchecked, (*state).sawUnchecked, (*state).isRejected},
}

// effectChecks decide on an effect, which an agent wants to do. The row of the parent's
// trust comes first; every check after it can only tighten.
var effectChecks = [...]check{
	{"action", (*state).action, (*state).sawAction, nil},
	{"matrix", (*state).effectRow, (*state).sawRow, nil},
	{"automatic", (*state).toProgram, (*state).sawProgram, (*state).sends},
	{"target", (*state).target, (*state).sawTarget, (*state).sends},
	{"outbound.allow", (*state).outbound, (*state).sawOutbound, (*state).reaches},
	{"tool", (*state).judge, nil, nil}, // it notes its own steps
	{"flow.deny", (*state).flowDeny, (*state).sawDeny, (*state).hasDeny},
	{"tool_row", (*state).toolRow, (*state).sawToolRow, nil},
	{"person", (*state).person, (*state).sawPerson, nil},
	{"tools.level", (*state).level, (*state).sawLevel, nil},
	{"max_closes_per_run", (*state).bulk, (*state).sawBulk, nil},
	{"flow.confirm", (*state).flowConfirm, (*state).sawConfirm, (*state).hasConfirm},
}

// run makes the checks until one has the last word.
func (s *state) run(list []check) Decision {
	last := false
	for i := range list {
		switch c := &list[i]; {
		case last && s.Log == nil:
			return s.d
		case last:
			s.Log.Skip(c.name, trace.NotReached)
		case c.asked != nil && !c.asked(s):
			s.Log.Skip(c.name, trace.NotAsked)
		default:
			last = s.make(c)
		}
	}
	return s.d
}

// make makes a check, and notes what it made of the decision.
func (s *state) make(c *check) (last bool) {
	if s.Log == nil || c.saw == nil {
		return c.run(s)
	}
	before := s.d
	last = c.run(s)
	step := c.saw(s)
	if !reflect.DeepEqual(s.d, before) {
		step.Result = string(s.d.Outcome)
	}
	s.Log.Add(c.name, step, step.Result)
	return last
}

// decide sets the decision.
func (s *state) decide(o terms.Outcome, rule string, r Reason, format string, args ...any) {
	s.d = s.d.set(o, rule, r, format, args...)
}

func (s *state) action() (last bool) {
	if s.d.Action.Valid() {
		return false
	}
	s.decide(terms.Reject, "action", unknownAction, "there is no action %s", s.d.Action)
	return true
}

func (s *state) isAutomatic() bool { return s.Identity.Automatic }

func (s *state) automatic() (last bool) {
	if address.Listed(s.Policy.AcceptAutomatic, s.Identity.Sender) {
		return false
	}
	s.decide(terms.Reject, "accept_automatic", isAutomatic,
		"a program sent it, and accept_automatic does not list the sender")
	return true
}

func (s *state) onPlatform() bool { return s.Policy.Platform(s.Source) != nil }

func (s *state) platform() (last bool) {
	pl := s.Policy.Platform(s.Source)
	if pl.May(s.d.Action) {
		return false
	}
	s.decide(terms.Reject, "platform.actions", sourceNotAllowed,
		"platform.actions of %s does not list %s", pl.Source, s.d.Action)
	return true
}

func (s *state) row() (last bool) {
	s.d = row(s.d, &s.Input)
	return false
}

func (s *state) passes() bool { return s.d.Outcome == terms.Allow || s.d.Outcome == terms.Confirm }

func (s *state) unsigned() (last bool) {
	field := rests(s.Input)
	if field == "" {
		return false
	}
	s.decide(terms.Review, "accept_unsigned", FieldUnsigned,
		"the policy goes by %s, and no signature covers it: anyone may have written it, so a person has to look at it", field)
	return true
}

// isMail reports whether a message that would pass was proven, and its text may not be.
func (s *state) isMail() bool {
	return s.passes() && s.Identity.Verified && s.Identity.Via == identity.ViaMessage
}

func (s *state) textUnproven() (last bool) {
	if s.Identity.TextProven() {
		return false
	}
	s.decide(terms.Review, "text", TextUnproven,
		"no signature covers how the body is to be read, and the text leaves some of it out or decodes it: a person has to look at both")
	return true
}

func (s *state) isAllowed() bool { return s.d.Outcome == terms.Allow }

func (s *state) stale() (last bool) {
	if s.Identity.Stale {
		s.decide(terms.Review, "max_age", IsStale, "it is older than max_age, so a person has to look at it")
	}
	return s.Identity.Stale
}

func (s *state) isRejected() bool { return s.d.Outcome == terms.Reject }

func (s *state) unchecked() (last bool) {
	if !unchecked(s.d, s.Input) {
		return false
	}
	s.decide(terms.Review, "evidence", Unchecked,
		"the sender is listed and could not be checked, so a person has to look at it")
	return true
}

func (s *state) effectRow() (last bool) {
	s.d = row(s.d, &s.Input)
	return s.d.Outcome == terms.Reject
}

func (s *state) sends() bool { return s.d.Action == terms.ExternalSend }

func (s *state) toProgram() (last bool) {
	if s.Identity.Automatic {
		s.decide(terms.Reject, "effect.automatic", isAutomatic,
			"it began with what a program sent, and programs get no answer")
	}
	return s.Identity.Automatic
}

func (s *state) target() (last bool) {
	if s.Request != nil && len(s.Request.Target) > 0 {
		return false
	}
	s.decide(terms.Reject, "outbound", noTarget, "it names no target, and a target is the whole envelope")
	return true
}

// reaches reports whether the effect, or the draft that it writes, goes to its targets.
func (s *state) reaches() bool {
	return s.d.Action.Outward() || s.Request != nil && s.Request.Tool == tools.Draft
}

func (s *state) outbound() (last bool) {
	if s.Request == nil {
		return false
	}
	for _, t := range s.Request.Target {
		if why := Barred(s.Policy, t); why != "" {
			s.decide(terms.Reject, "outbound.allow", targetNotAllowed, "%s: %s", t, why)
			return true
		}
	}
	return false
}

// judge asks package tools. A verdict other than a rejection waits until the rows are
// known, because it can only tighten them.
func (s *state) judge() (last bool) {
	by := tools.Asker{Trust: s.Identity.Trust, Sender: s.Identity.Sender, Chat: s.Identity.Chat}
	v := tools.Trace(s.Log, s.Policy, s.Request, by, s.World)
	s.verdict = v
	if v.Outcome == terms.Reject {
		s.decide(v.Outcome, v.Rule, Reason(v.Reason), "%s", v.Why)
	}
	return v.Outcome == terms.Reject
}

func (s *state) toolRow() (last bool) {
	s.d = withTool(s.d, s.Input)
	return s.d.Outcome != terms.Allow
}

func (s *state) person() (last bool) {
	if s.d.Action.Outward() {
		s.decide(terms.Confirm, "effect."+string(s.d.Action), EffectPerson,
			"an effect that reaches the outside needs a person's yes%s", s.runsIn())
	}
	return s.d.Action.Outward()
}

// runsIn names the directory of a program that names none, so that a yes is bound to it.
func (s *state) runsIn() string {
	if s.Request == nil {
		return ""
	}
	r := s.Request
	dir := tools.Dir(s.Policy, r.Tool, r.Action, r.Args)
	if dir == "" || tools.Complete(s.Policy, r.Tool, r.Action, r.Args) == r.Args {
		return ""
	}
	return "; without a directory it runs in the workspace, " + dir
}

func (s *state) level() (last bool) {
	v := &s.verdict
	if v.Outcome != terms.Allow {
		s.decide(v.Outcome, v.Rule, Reason(v.Reason), "%s", v.Why)
	}
	return v.Outcome != terms.Allow
}

func (s *state) bulk() (last bool) {
	if s.Identity.Bulk {
		s.decide(terms.Review, "limits.max_closes_per_run", tooManyCloses,
			"one worker wants to close more tasks than max_closes_per_run, so a person looks at all of them")
	}
	return s.Identity.Bulk
}
