// Package tools judges what an effect that names a tool may do: the tool itself, its
// level, the program it would start and the paths it would touch (pulse-policy(5)).
//
// Invariant: a judgement can only tighten what the matrix says. A request that can't be
// checked against a rule is rejected. Caveat: it judges the request, not the worker that
// carries it out, which has to use exactly the bytes of the request.
package tools

import (
	"maps"
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// execTool is the tool that starts programs.
const execTool = "exec"

// The levels of a tool. Every level whose glob matches the tool applies.
const (
	open      = "open"
	ownerOnly = "owner_only"
	approval  = "approval_required"
)

// Profile is a set of tools that agents may see unless the policy denies them.
type Profile struct {
	Name  string
	Tools []string // globs
}

var minimal = []string{"fs.list", "fs.read", "fs.search"}

var standard = append(minimal[:len(minimal):len(minimal)],
	"fs.edit", "fs.write", "calendar.read", "mail.draft", "mail.read", "mail.search", "mail.send", "web.fetch", "web.search")

var coding = append(standard[:len(standard):len(standard)], "fs.*", execTool)

// Profiles lists the profiles. Each includes the tools of the one before it.
var Profiles = []Profile{{"minimal", minimal}, {"standard", standard}, {"coding", coding}, {"full", []string{"*"}}}

// builtin are the tools that pulse-queue carries out itself, as write_local. Every
// agent may see them.
var builtin = []string{"task.*", "draft"}

// match returns the first glob of the list that matches a tool.
func match(list []string, tool string) (glob string, ok bool) {
	for _, g := range list {
		if policy.Match(g, tool) {
			return g, true
		}
	}
	return "", false
}

// Visible reports whether an agent may see a tool, and by which rule. A tool is visible
// even if only a more trusted sender may have it used; see Level.
func Visible(p *policy.Policy, tool string) (visible bool, rule string) {
	if !policy.ToolName(tool) {
		return false, "tools"
	}
	if _, ok := match(p.Tools.Deny, tool); ok {
		return false, "tools.deny"
	}
	if tool == execTool && p.Exec.Mode == "deny" {
		return false, "exec.mode"
	}
	if _, ok := match(builtin, tool); ok {
		return true, "builtin"
	}
	return listed(p, tool)
}

// own reports whether pulse-queue itself carries out a request for the tool.
func own(tool string, action terms.Action) bool {
	_, ok := match(builtin, tool)
	return ok && action == terms.WriteLocal
}

// chatTools is the key of the tools that a chat leaves to effects which began there.
const chatTools = "platform.chat.tools.allow"

// For reports whether the row of the sender and the chat leave a tool to effects that
// began there, or by which rule not. They narrow what Visible allows, and add nothing.
// The row of a sender narrows at every trust level, so that less trust never means more
// tools.
func For(p *policy.Policy, by Asker, tool string) (ok bool, rule string) {
	if row := p.Sender(by.Sender); row != nil && row.Tools != nil {
		if _, ok := match(row.Tools, tool); !ok {
			return false, "matrix." + row.Name() + ".tools.allow"
		}
	}
	if chat := p.Chat(by.Sender, by.Chat); chat != nil && chat.Tools != nil {
		if _, ok := match(chat.Tools, tool); !ok {
			return false, chatTools
		}
	}
	return true, ""
}

// Shown reports whether an agent that works for a sender may see a tool, and by which rule.
// Without a trust level, what only the owner may have used is shown, too.
func Shown(p *policy.Policy, tool string, by Asker) (shown bool, rule string) {
	shown, rule = Visible(p, tool)
	if ok, narrower := For(p, by, tool); shown && rule != "builtin" && !ok {
		return false, narrower
	}
	if owner, _ := Level(p, tool); shown && owner && by.Trust != "" && !Owner(by.Trust) {
		return false, "tools.level"
	}
	return shown, rule
}

// listed reports whether tools.allow or the profile has a tool, and which.
func listed(p *policy.Policy, tool string) (ok bool, rule string) {
	if _, ok := match(p.Tools.Allow, tool); ok {
		return true, "tools.allow"
	}
	for _, profile := range Profiles {
		if profile.Name == p.Tools.Profile {
			_, ok = match(profile.Tools, tool)
		}
	}
	return ok, "tools.profile"
}

// Level returns what a tool demands: the owner as sender, a person's yes, both or
// neither. Every glob that matches can only add a demand.
func Level(p *policy.Policy, tool string) (owner, person bool) {
	for glob, level := range p.Tools.Level {
		if policy.Match(glob, tool) {
			owner = owner || level == ownerOnly
			person = person || level == approval
		}
	}
	return owner, person
}

// LevelName returns the level that is shown for a tool: the strictest.
func LevelName(p *policy.Policy, tool string) string {
	switch owner, person := Level(p, tool); {
	case person:
		return approval
	case owner:
		return ownerOnly
	}
	return open
}

// Owner reports whether a trust level suffices for a tool that is owner_only.
func Owner(t terms.Trust) bool {
	return t == terms.OwnerVerifiedEmail || t == terms.ApprovedSession || t == terms.System
}

// paths returns the args of a tool that are paths in the workspace, those of every rule
// that matches, and the last such rule.
func paths(p *policy.Policy, tool string) (args []string, rule string) {
	for _, glob := range slices.Sorted(maps.Keys(p.Tools.Paths)) {
		if policy.Match(glob, tool) {
			args, rule = append(args, p.Tools.Paths[glob]...), "tools.paths."+policy.KeyName(glob)
		}
	}
	if args == nil && policy.Match("fs.*", tool) {
		return []string{"path"}, "tools.paths"
	}
	return args, rule
}
