package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// What the checks looked at, in a few words and by the key of the policy that they go by.

func (u *use) sawVisible() trace.Step {
	visible, rule := Visible(u.p, u.tool)
	switch {
	case rule == "tools" || rule == "builtin": // no key changes these
		return trace.Step{Saw: u.tool}
	case !visible && rule == "tools.profile":
		return trace.Step{Saw: fmt.Sprintf("%s is neither in tools.allow nor in the profile %s", u.tool, u.p.Tools.Profile), Key: rule}
	}
	return trace.Step{Saw: fmt.Sprintf("%s, by %s", u.tool, rule), Key: rule}
}

func (u *use) sawNarrowed() trace.Step {
	if ok, rule := For(u.p, u.by, u.tool); !ok {
		step := trace.Step{Saw: rule + " does not have " + u.tool, Key: rule}
		if source := strings.LastIndexByte(u.by.Sender, ':'); rule == chatTools && source > 0 {
			step.Nth = max(0, u.p.NthChat(u.by.Sender[:source], u.by.Chat))
		}
		return step
	}
	return trace.Step{Saw: "neither the sender's row nor the chat leaves it out"}
}

func (u *use) sawOwner() trace.Step {
	step := SawLevel(u.p, u.tool)
	step.Saw += "; the sender is " + string(u.by.Trust)
	return step
}

// SawLevel says which levels a tool has, and which entry of the policy gives it the first.
func SawLevel(p *policy.Policy, tool string) trace.Step {
	var list []string
	key := "tools.level"
	for _, glob := range slices.Sorted(maps.Keys(p.Tools.Level)) {
		if level := p.Tools.Level[glob]; policy.Match(glob, tool) && level != open {
			if list = append(list, glob+" is "+level); len(list) == 1 {
				key = "tools.level." + policy.KeyName(glob)
			}
		}
	}
	if list == nil {
		return trace.Step{Saw: tool + " is " + open, Key: key}
	}
	return trace.Step{Saw: strings.Join(list, ", "), Key: key}
}

func (u *use) sawAction() trace.Step {
	key := "tools.action"
	for _, glob := range slices.Sorted(maps.Keys(u.p.Tools.Action)) {
		if policy.Match(glob, u.tool) {
			key = "tools.action." + policy.KeyName(glob)
		}
	}
	return trace.Step{Saw: fmt.Sprintf("%s is a tool for %s, the request says %s", u.tool, Action(u.p, u.tool), u.r.Action), Key: key}
}

func (u *use) sawProgram() trace.Step {
	if u.tool != execTool && (u.r.Action != terms.CodeOrComputer || u.r.Args.Member("argv") == "") {
		return trace.Step{Saw: "no program"}
	}
	return trace.Step{Saw: "args " + shown(u.r.Args), Key: "exec.allow"}
}

func (u *use) sawPaths() trace.Step {
	declared, rule := paths(u.p, u.tool)
	if len(declared) == 0 {
		return trace.Step{Saw: u.tool + " has no paths"}
	}
	if reals, _ := u.refused(); len(reals) > 0 {
		rule = "exec.write"
	}
	given, _ := values(u.r.Args, declared)
	return trace.Step{Saw: fmt.Sprintf("%s: %s in %s", list(declared), list(given), u.p.Exec.Workspace), Key: rule}
}

// shown returns args without the blanks around them.
func shown(args record.Value) string { return strings.TrimSpace(string(args)) }
