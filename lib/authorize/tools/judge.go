package tools

import (
	"fmt"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Reason says why a tool may not do what the request asks. pulse-authorize(1) has the
// closed list.
type Reason string

// The reasons.
const (
	NeedsPerson    Reason = "tool_needs_person"
	notAllowed     Reason = "tool_not_allowed"
	notOwner       Reason = "tool_owner_only"
	badArguments   Reason = "tool_bad_arguments"
	noWorkspace    Reason = "no_workspace"
	pathRefused    Reason = "path_refused"
	execDenied     Reason = "exec_denied"
	execNotListed  Reason = "exec_not_listed"
	programRefused Reason = "program_refused"
)

// OfTheWorld reports whether the reason lies in the state of the machine, and not in the
// policy or the request. The next judgement may differ.
func (r Reason) OfTheWorld() bool { return r == pathRefused || r == programRefused }

// World looks at the machine, which is judged besides policy and request. If it can't
// tell, it returns an error, and an error rejects.
type World interface {
	// Path returns nil if name is a file or a directory inside the workspace, or
	// could be made there.
	Path(workspace, name string) error
	// Dir returns nil if name is a directory inside the workspace.
	Dir(workspace, name string) error
	// Program looks at the file that a path leads to.
	Program(path string) (Program, error)
}

// Program is a file that can be started.
type Program struct {
	SHA256      string // in hex
	Interpreter string // what interpreter or wrapper it is, under any name; empty if none
	Script      bool   // another program reads it
}

// Verdict is the judgement on a request by the rules for tools.
type Verdict struct {
	Outcome terms.Outcome // Allow: the matrix decides; else Confirm or Reject
	Rule    string
	Reason  Reason
	Why     string
}

var pass = Verdict{Outcome: terms.Allow}

func reject(rule string, r Reason, format string, args ...any) Verdict {
	return Verdict{terms.Reject, rule, r, fmt.Sprintf(format, args...)}
}

func (v Verdict) rejects() bool { return v.Outcome == terms.Reject }

// Asker is the sender with whom the chain of an effect began.
type Asker struct {
	Trust  terms.Trust
	Sender string // as identity.sender has it
	Chat   int64  // as identity.chat has it; 0: none
}

// Judge judges the request of an effect whose chain began with this sender.
// A request without a tool passes, except a request to run code that has an argv, which
// is exec whatever it is called. If world is nil, a request that needs it is rejected.
func Judge(p *policy.Policy, r *request.Request, by Asker, world World) Verdict {
	if r == nil {
		return pass
	}
	tool := r.Tool
	if tool == "" && r.Action == terms.CodeOrComputer && has(r.Args, "argv") {
		tool = execTool
	}
	if tool == "" {
		return pass
	}
	if world == nil {
		world = blind{}
	}
	if v := seen(p, tool, r.Action); v.rejects() {
		return v
	}
	if ok, rule := For(p, by, tool); !ok && !own(tool, r.Action) {
		return reject(rule, notAllowed, "%s does not have %s", rule, tool)
	}
	owner, person := Level(p, tool)
	if owner && !Owner(by.Trust) {
		return reject("tools.level", notOwner,
			"only the owner may have %s used, and %s is not proven to be that", tool, by.Trust)
	}
	if tool != execTool && !fits(p, tool, r.Action) {
		return reject("tools.action", notAllowed,
			"%s is a tool for %s, and not for %s", tool, Action(p, tool), r.Action)
	}
	if tool == execTool {
		if v := judgeExec(p, r, world); v.rejects() {
			return v
		}
	} else if r.Action == terms.CodeOrComputer && has(r.Args, "argv") {
		return reject("tools", badArguments,
			"%s has an argv, and to start a program the tool is %s", tool, execTool)
	}
	if v := judgePaths(p, tool, r.Args, world); v.rejects() {
		return v
	}
	if person {
		return Verdict{terms.Confirm, "tools.level", NeedsPerson,
			fmt.Sprintf("what is done through %s needs a person's yes", tool)}
	}
	return pass
}

// seen judges whether the agent may know the tool at all.
func seen(p *policy.Policy, tool string, action terms.Action) Verdict {
	visible, rule := Visible(p, tool)
	if rule == "builtin" && !own(tool, action) {
		if visible, rule = listed(p, tool); !visible {
			return reject(rule, notAllowed, "%s without %s is not a tool that the agent may use", tool, terms.WriteLocal)
		}
	}
	switch {
	case visible:
		return pass
	case rule == "exec.mode":
		return reject(rule, execDenied, "exec.mode is deny: no programs")
	case rule == "tools":
		return reject(rule, notAllowed, "%s is not the name of a tool: lower case, digits and ._-:/", tool)
	case rule == "tools.deny":
		return reject(rule, notAllowed, "tools.deny has %s", tool)
	}
	return reject(rule, notAllowed, "neither the profile %s nor tools.allow has %s", p.Tools.Profile, tool)
}

// maxPaths bounds the paths of one request, because they are looked at while the queue is
// locked.
const maxPaths = 100

// judgePaths judges the args that are paths. A request for a tool that has such args
// must give at least one path, or what it touches is unknown.
func judgePaths(p *policy.Policy, tool string, args record.Value, world World) Verdict {
	declared, rule := paths(p, tool)
	if len(declared) == 0 {
		return pass
	}
	if p.Exec.Workspace == "" {
		return reject("exec.workspace", noWorkspace, "%s uses paths, and there is no workspace", tool)
	}
	given, ok := values(args, declared)
	if !ok || len(given) == 0 || len(given) > maxPaths {
		return reject(rule, badArguments,
			"%s needs a path, or a list of at most %d paths, in its args %s", tool, maxPaths, list(declared))
	}
	for _, name := range given {
		if err := world.Path(p.Exec.Workspace, name); err != nil {
			return reject(rule, pathRefused, "%v", err)
		}
	}
	return pass
}

// blind is the World of a caller that can't look at the machine.
type blind struct{}

var errBlind = fmt.Errorf("nothing here can look at files")

func (blind) Path(_, name string) error { return fmt.Errorf("%s: %w", name, errBlind) }
func (blind) Dir(_, name string) error  { return fmt.Errorf("%s: %w", name, errBlind) }
func (blind) Program(path string) (Program, error) {
	return Program{}, fmt.Errorf("%s: %w", path, errBlind)
}
