package decision

import (
	"fmt"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What the checks looked at, in a few words and by the key of the policy that they go by.

func (s *state) sawAction() trace.Step {
	a := string(s.d.Action)
	step := trace.Step{Saw: "no rule matches", Key: "default_action", Result: a}
	if s.Action != "" {
		step.Saw, step.Key = "accepted as "+a, ""
	} else if s.Request != nil {
		step.Saw, step.Key = "request.action", ""
	} else if i := s.ActionRule(); i >= 0 {
		r := &s.Policy.ActionRules[i]
		step.Saw, step.Key, step.Nth = strings.TrimSpace("to "+r.To+" "+r.Source), "action", i
	}
	return step
}

func (s *state) sawAutomatic() trace.Step {
	return trace.Step{Saw: "a program sent it for " + s.Identity.Sender, Key: "accept_automatic"}
}

func (s *state) sawProgram() trace.Step {
	if s.Identity.Automatic {
		return trace.Step{Saw: "it began with what a program sent"}
	}
	return trace.Step{Saw: "it began with what a person sent"}
}

func (s *state) sawPlatform() trace.Step {
	for i := range s.Policy.Platforms {
		if pl := &s.Policy.Platforms[i]; pl.Source == s.Source {
			return trace.Step{Saw: fmt.Sprintf("%s asks for %s", pl.Source, s.d.Action), Key: "platform", Nth: i}
		}
	}
	return trace.Step{Saw: s.Source}
}

func (s *state) sawRow() trace.Step { return s.sawRowFor(s.d.Action) }

// sawRowFor is about the list of the row that has the action, or about the row where none
// has it.
func (s *state) sawRowFor(a terms.Action) trace.Step {
	row, name := s.Policy.Row(s.Identity.Trust, s.Identity.Sender)
	step := trace.Step{Saw: fmt.Sprintf("%s is in no list of %s", a, name), Key: "matrix." + name}
	if o := row.Outcome(a); o != terms.Reject {
		step.Saw = fmt.Sprintf("%s is in %s of %s", a, o, name)
		step.Key += "." + string(o)
	}
	return step
}

func (s *state) sawUnsigned() trace.Step {
	saw := "no field that the policy goes by is unsigned"
	if field := rests(s.Input); field != "" {
		saw = "no signature covers " + field + ", and the policy goes by it"
	}
	return trace.Step{Saw: saw, Key: "accept_unsigned"}
}

func (s *state) sawText() trace.Step {
	if s.Identity.TextProven() {
		return trace.Step{Saw: "the text is what was signed"}
	}
	return trace.Step{Saw: "another header would make another text of the body that was signed"}
}

func (s *state) sawStale() trace.Step {
	saw := "not older than "
	if s.Identity.Stale {
		saw = "without a date, or older than "
	}
	return trace.Step{Saw: saw + duration.Text(s.Policy.MaxAge), Key: "max_age"}
}

func (s *state) sawUnchecked() trace.Step {
	trust := s.Identity.Unchecked(s.Policy)
	if trust == terms.Unknown {
		return trace.Step{Saw: "the sender is not one who is listed and could not be checked"}
	}
	return trace.Step{Saw: "the check is missing; with a good one the sender would be " + string(trust), Key: "evidence"}
}

func (s *state) sawTarget() trace.Step {
	if s.Request == nil || len(s.Request.Target) == 0 {
		return trace.Step{Saw: "no target"}
	}
	return trace.Step{Saw: "target " + strings.Join(s.Request.Target, ", ")}
}

func (s *state) sawOutbound() trace.Step {
	step := s.sawTarget()
	step.Key = "outbound.allow"
	if !s.Policy.Outbound.Restricted {
		step.Saw += "; no list of targets"
	}
	return step
}

func (s *state) sawToolRow() trace.Step {
	if s.Request == nil || s.Request.Tool == "" {
		return trace.Step{Saw: "no tool"}
	}
	does := tools.Action(s.Policy, s.Request.Tool)
	step := s.sawRowFor(does)
	step.Saw = fmt.Sprintf("%s is a tool for %s: %s", s.Request.Tool, does, step.Saw)
	return step
}

func (s *state) sawPerson() trace.Step {
	if s.d.Action.Outward() {
		return trace.Step{Saw: fmt.Sprintf("%s reaches the outside", s.d.Action)}
	}
	return trace.Step{Saw: fmt.Sprintf("%s stays on this machine", s.d.Action)}
}

func (s *state) sawLevel() trace.Step {
	if s.Request == nil || s.Request.Tool == "" {
		return trace.Step{Saw: "no tool"}
	}
	return tools.SawLevel(s.Policy, s.Request.Tool)
}

func (s *state) sawBulk() trace.Step {
	saw := "not one of many closes"
	if s.Identity.Bulk {
		saw = "one run closes more tasks than that"
	}
	return trace.Step{Saw: saw, Key: "limits.max_closes_per_run"}
}
