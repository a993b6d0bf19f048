// Package decision answers what a record's sender may ask for: identity, request
// and policy in, one of four outcomes out (pulse-authorize(1)).
//
// Invariant: the answer depends on its input alone, and never on text. A word that it
// does not know is rejected. An effect that reaches the outside is never simply
// allowed. Caveat: it believes the identity that it is given.
package decision

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// Reason says why the outcome is what it is. pulse-authorize(1) has the closed list,
// which includes the reasons of package tools.
type Reason string

// The reasons.
const (
	allowed          Reason = "allowed"
	NeedsConfirm     Reason = "needs_confirmation"
	NeedsReview      Reason = "needs_review"
	NotPermitted     Reason = "not_permitted"
	unknownAction    Reason = "unknown_action"
	isAutomatic      Reason = "automatic"
	IsStale          Reason = "stale"
	FieldUnsigned    Reason = "field_unsigned"
	TextUnproven     Reason = "text_unproven"
	Unchecked        Reason = "unchecked"
	EffectPerson     Reason = "effect_needs_person"
	noTarget         Reason = "no_target"
	targetNotAllowed Reason = "target_not_allowed"
	sourceNotAllowed Reason = "source_not_allowed"
	Unsafe           Reason = "unsafe"
	ActionChanged    Reason = "action_changed"
	tooManyCloses    Reason = "too_many_closes"
	FlowPrivate      Reason = "flow_private"
	FlowUntrusted    Reason = "flow_untrusted"
)

// Decision is the `decision` member.
type Decision struct {
	Action  terms.Action
	Outcome terms.Outcome
	Rule    string // the line of the policy that decided
	Reason  Reason
	Why     string        // one sentence for people
	Labels  []label.Label // effects that are not rejected: what they give their root task once they are allowed
	Flow    bool          // an effect that [flow] wants a yes to, whatever else leaves it to a person; no grant is that yes
	Count   int           // how many persons have to say yes; 0: one, if any has to
	Policy  string        // digest of the policy file, or empty
}

// Input is what a decision is made of.
type Input struct {
	Identity   *identity.Identity
	Request    *request.Request // nil for mail
	Source     string           // of the message, or empty
	Recipients []string         // every To and Cc address, nil if they can't be read
	Policy     *policy.Policy
	Action     terms.Action // the action of a task that was accepted; empty: it is worked out
	Trust      terms.Trust  // the level at which a task was accepted; empty: that of Identity
	World      tools.World  // the machine that effects are judged by; nil: an effect that needs it is rejected
	Log        *trace.Log   // takes what each check saw; nil: nobody asks
}

// Reads reports which parts of a message a decision under the policy depends on. A
// caller that leaves out a part not named here gets the same answer.
func Reads(p *policy.Policy) (source, recipients bool) {
	for i := range p.ActionRules {
		r := &p.ActionRules[i]
		source, recipients = source || r.Source != "", recipients || r.To != ""
	}
	for i := range p.Platforms {
		source = source || p.Platforms[i].Actions != nil
	}
	return source, recipients
}

// Decide returns the decision on a record: on an ask, or on an effect.
func Decide(in Input) Decision {
	s := state{Input: in, d: Decision{Action: action(&in), Policy: in.Policy.Digest}}
	if in.Identity.Effect() {
		return s.run(effectChecks[:]).labelled(&in).counted(&in)
	}
	return s.run(askChecks[:]).counted(&in)
}

// labelled sets what an effect gives its root task, and what follows from the labels of that.
func (d Decision) labelled(in *Input) Decision {
	if d.Outcome != terms.Reject && in.Identity.Effect() {
		d.Labels = tools.Labels(in.Policy, tools.Of(in.Request), d.Action)
		d.Flow = asked(in)
	}
	return d
}

func (d Decision) set(o terms.Outcome, rule string, r Reason, format string, args ...any) Decision {
	return d.say(o, rule, r, fmt.Sprintf(format, args...))
}

// say is set for a sentence that is made already.
func (d Decision) say(o terms.Outcome, rule string, r Reason, why string) Decision {
	d.Outcome, d.Rule, d.Reason, d.Why = o, rule, r, clip(why)
	return d
}

// maxWhy bounds Why, in bytes. Why quotes the request, which can be nearly as long as a
// record, and with both in it the record must not be longer than a stage reads.
const maxWhy = 1000

func clip(why string) string {
	if len(why) <= maxWhy {
		return why
	}
	return strings.ToValidUTF8(why[:maxWhy], "") + "…"
}

// action returns the action that is asked for: the request's, else the one that the
// envelope's fields give. The text is never looked at.
func action(in *Input) terms.Action {
	if in.Action != "" {
		return in.Action
	}
	if in.Request != nil {
		return in.Request.Action
	}
	if i := in.ActionRule(); i >= 0 {
		return in.Policy.ActionRules[i].Action
	}
	return in.Policy.DefaultAction
}

// ActionRule returns which [[action]] counts for a message, or -1.
func (in *Input) ActionRule() int {
	return slices.IndexFunc(in.Policy.ActionRules, func(r policy.ActionRule) bool {
		to := r.To == "" || len(in.Recipients) == 1 && address.Equal(in.Recipients[0], r.To)
		return to && (r.Source == "" || policy.Match(r.Source, in.Source))
	})
}

// row applies the matrix. Nearly every record comes here, so the sentences are not
// formatted.
func row(d Decision, in *Input) Decision {
	trust, action := string(in.Identity.Trust), string(d.Action)
	row, name := in.Policy.Row(in.Identity.Trust, in.Identity.Sender)
	o := row.Outcome(d.Action)
	rule := "matrix." + name + "." + string(o)
	switch o {
	case terms.Allow:
		return d.say(o, rule, allowed, trust+" may ask for "+action)
	case terms.Confirm:
		return d.say(o, rule, NeedsConfirm, trust+" may ask for "+action+" once a person confirms it")
	case terms.Review:
		return d.say(o, rule, NeedsReview, action+" from "+trust+" waits until a person has read it")
	}
	return d.say(terms.Reject, rule, NotPermitted, trust+" may not ask for "+action)
}

// unchecked reports whether the sender could ask for the action, had it been possible to
// check who sent the message.
func unchecked(d Decision, in Input) bool {
	trust := in.Identity.Unchecked(in.Policy)
	row, _ := in.Policy.Row(trust, in.Identity.Sender)
	return trust != terms.Unknown && row.Outcome(d.Action) != terms.Reject
}

// rests returns a field that the policy relies on and that no signature covers, unless
// accept_unsigned takes that risk.
func rests(in Input) string {
	for _, field := range in.Identity.Unsigned.Names() {
		if in.Policy.Relies(field) && !slices.Contains(in.Policy.AcceptUnsigned, field) {
			return field
		}
	}
	return ""
}

// withTool applies the row to the action of the request's tool too: a file that is
// read under the name of write_local is still read.
func withTool(d Decision, in Input) Decision {
	if in.Request == nil || in.Request.Tool == "" {
		return d
	}
	does := d
	does.Action = tools.Action(in.Policy, in.Request.Tool)
	does = row(does, &in)
	if slices.Index(terms.Outcomes, does.Outcome) <= slices.Index(terms.Outcomes, d.Outcome) {
		return d
	}
	does.Action = d.Action
	return does
}

// ForNow reports whether d is a rejection because of the state of the machine: a program
// was changed, a file is gone. The next decision may differ.
func (d *Decision) ForNow() bool {
	return d.Outcome == terms.Reject && tools.Reason(d.Reason).OfTheWorld()
}

// Barred says why nothing may be sent to a target under a policy, whoever says yes, or
// returns the empty string.
func Barred(p *policy.Policy, target string) string {
	switch _, err := address.Target(target, p.Outbound.Scheme); {
	case errors.Is(err, address.ErrForm):
		return err.Error()
	case address.Relayed(target):
		return "a mail server may take it for an address of another host: want a plain address, without % and !"
	case p.Outbound.Restricted && !p.Outbound.Lists(target):
		return "it is not among the allowed targets"
	}
	return ""
}

// Again decides with today's policy on a record that was decided on before. A task that
// was accepted as one action is never started as another. If today's rules give it
// another action, a person has to look.
func Again(in Input, settled terms.Action) Decision {
	today := action(&in)
	in.Action = settled
	d := Decide(in)
	if today != settled && d.Outcome == terms.Allow {
		return d.set(terms.Review, "action", ActionChanged,
			"it was accepted as %s, and the policy makes it %s now", settled, today)
	}
	return d
}

// AllowAll returns what --unsafe-allow-all decides.
func AllowAll(in Input) Decision {
	d := Decision{Action: action(&in), Policy: in.Policy.Digest}
	d = d.set(terms.Allow, "unsafe_allow_all", Unsafe, "--unsafe-allow-all: nothing was checked")
	return d.labelled(&in)
}
