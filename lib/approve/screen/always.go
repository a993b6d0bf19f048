package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/address"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Always returns what a person may put into the policy so as not to be asked about
// such a task again, and what that would risk. Nothing is stored. Plain addresses are the
// only content from outside that gets into a line to be pasted.
func Always(s *queue.Stored, p *policy.Policy) []string {
	n := steps{lines: []string{"always"}}
	switch d := &s.Decision; {
	case s.Kind() == task.Effect && d.Action.Outward():
		n.narrow(s, p)
	case s.Kind() == task.Effect && strings.HasPrefix(s.Task.Reason, "flow_"):
		n.say("it follows what was read before: %s", decision.Reason(s.Task.Reason).Advice())
	case s.Kind() == task.Effect:
		n.say("no line of the policy does: whatever its worker wants to do, the outcome of %s is that of %s",
			d.Action, s.Identity.Trust)
	case s.OpensText():
		n.say("no line of the policy does: its reader has to print what fits the schema of [extract]")
	case s.Task.Reason == string(decision.ActionChanged):
		n.actionChanged(s)
	case d.Reason == decision.IsStale:
		n.stale(s)
	case d.Reason == decision.TextUnproven:
		n.say("no line of the policy does: %s", d.Reason.Advice())
	case d.Reason == decision.FieldUnsigned:
		n.unsigned(s, p)
	default:
		n.matrixRow(s, p)
	}
	n.say("nothing was stored, and this task still wants an answer")
	return n.lines
}

// narrow is for effects that reach the outside: all that a policy can do is to
// refuse the others.
func (n *steps) narrow(s *queue.Stored, p *policy.Policy) {
	n.say("what reaches the outside is asked about each time: no line of the policy changes that")
	allow := slices.Clone(p.Outbound.Allow)
	for _, t := range s.Target() {
		spelled, err := address.Spell(t, p.Outbound.Scheme)
		if err != nil || address.Relayed(t) {
			n.say("nor can outbound.allow list %s: an entry is a plain address, @domain, or a target with a scheme", escape.ASCII(t))
			return
		}
		if lookalikes(t) != nil {
			n.say("look twice at %s: there is a warning about its letters", t)
		}
		if !p.Outbound.Lists(t) && !slices.Contains(allow, spelled) {
			allow = append(allow, spelled)
		}
	}
	if len(s.Target()) == 0 || p.Outbound.Restricted && len(allow) == len(p.Outbound.Allow) {
		n.say("outbound.allow has these targets already, or there are none")
		return
	}
	n.say("to have every other target refused unasked:")
	n.command("[outbound]")
	n.command("allow = %s", array(allow))
	n.say("risk: other targets are refused without asking; these are still asked about each time")
}

// actionChanged is for mail that asks for another action by today's rules.
func (n *steps) actionChanged(s *queue.Stored) {
	var to []string
	if s.Message != nil {
		to = identity.Recipients(s.Message)
	}
	if len(to) != 1 {
		n.say("no line of the policy does: it is not a mail to one address alone")
		return
	}
	n.say("before all other [[action]] entries, because the first match wins:")
	n.command("[[action]]")
	n.command("to     = %q", to[0])
	n.command("action = %q", s.Decision.Action)
	n.say("risk: all mail that goes to this address alone asks for %s then", s.Decision.Action)
}

// stale is for mail that was old when it came.
func (n *steps) stale(s *queue.Stored) {
	var age time.Duration
	if s.Message != nil {
		age = s.Message.Fetched.Sub(s.Message.Received)
	}
	if age <= 0 || age > 90*24*time.Hour {
		n.say("no line of the policy should: its date is missing, or too far off")
		return
	}
	n.command("max_age = \"%dh\"", 24*(int(age/(24*time.Hour))+1))
	n.say("risk: a copy of a mail that is no older than that, sent again by anyone, starts a worker unasked")
}

// unsigned is for mail in which a field that decides is not signed.
func (n *steps) unsigned(s *queue.Stored, p *policy.Policy) {
	list := slices.Clone(p.AcceptUnsigned)
	for _, field := range s.Identity.Unsigned.Names() {
		if p.Relies(field) && !slices.Contains(list, field) {
			list = append(list, field)
		}
	}
	n.say("better have your mail program or provider sign To, Cc, Subject and Date")
	n.command("accept_unsigned = [\"%s\"]", strings.Join(list, "\", \""))
	n.say("risk: anyone who gets a mail of such a sender can send it on with these fields rewritten, and it counts")
}

// matrixRow is for what the matrix leaves to a person.
func (n *steps) matrixRow(s *queue.Stored, p *policy.Policy) {
	trust, action := s.Identity.Trust, s.Decision.Action
	row, name := p.Row(trust, s.Identity.Sender)
	if row.Outcome(action) == terms.Reject {
		n.say("today's policy rejects it: %s may not ask for %s", trust, action)
		return
	}
	if row.Outcome(action) == terms.Allow {
		n.say("today's matrix allows it; it was asked about for another reason: %s", s.Decision.Reason)
		return
	}
	lists := map[terms.Outcome][]string{terms.Allow: {}, terms.Confirm: {}, terms.Review: {}}
	for _, a := range terms.Actions {
		o := row.Outcome(a)
		if a == action {
			o = terms.Allow
		}
		if o != terms.Reject {
			lists[o] = append(lists[o], string(a))
		}
	}
	n.say("in place of that row of the matrix:")
	n.command("[matrix.%s]", name)
	for _, o := range []terms.Outcome{terms.Allow, terms.Confirm, terms.Review} {
		n.command("%s = %s", o, array(lists[o]))
	}
	whose := "any sender of this level"
	if name != string(trust) {
		whose = name
	}
	n.say("risk: whatever %s writes starts a worker for %s, unread", whose, action)
}

// array returns plain words as a TOML array.
func array(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
