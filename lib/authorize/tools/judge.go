package tools

import (
	"fmt"
	"strings"
	"unicode"

	"pulse/lib/shared/peer"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
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
	pathConfigures Reason = "path_configures"
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
	// Path says where name leads, if that is a file or a directory inside the workspace,
	// or could be made there.
	Path(workspace, name string) (Place, error)
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
	Sender string  // as identity.sender has it
	Chat   peer.ID // as identity.chat has it; empty: none
}

// Trace judges the request of an effect whose chain began with this sender, and notes in the log, if
// there is one, what each check saw. A request without a tool passes, except a request to run code that
// has an argv, which is exec whatever it is called. If world is nil, a request that needs it is rejected.
func Trace(log *trace.Log, p *policy.Policy, r *request.Request, by Asker, world World) Verdict {
	u := use{p: p, r: r, by: by, world: world}
	if u.tool = Of(r); u.tool == "" {
		log.Skip("tool", trace.NotAsked)
		return pass
	}
	if world == nil {
		u.world = blind{}
	}
	return u.judge(log)
}

// Of returns the tool that a request is judged as; empty if it is none.
func Of(r *request.Request) string {
	switch {
	case r == nil:
		return ""
	case r.Tool == "" && r.Action == terms.CodeOrComputer && r.Args.Member("argv") != "":
		return execTool
	}
	return r.Tool
}

// use is the use of a tool that a request asks for.
type use struct {
	p     *policy.Policy
	r     *request.Request
	by    Asker
	world World
	tool  string

	places []Place // where the paths lead, once paths has judged them
}

// useChecks are made until one of them rejects. Only the last can ask for a person.
var useChecks = [...]struct {
	name string
	run  func(*use) Verdict
	saw  func(*use) trace.Step // what run looked at; called after run, and only for a log; nil: the caller tells
}{
	{"tool", (*use).visible, (*use).sawVisible},
	{"narrowed", (*use).narrowed, (*use).sawNarrowed},
	{"owner_only", (*use).owner, (*use).sawOwner},
	{"tools.action", (*use).action, (*use).sawAction},
	{"exec", (*use).program, (*use).sawProgram},
	{"paths", (*use).paths, (*use).sawPaths},
	{"level", (*use).person, nil},
}

func (u *use) judge(log *trace.Log) (v Verdict) {
	v = pass
	for i := range useChecks {
		switch c := &useChecks[i]; {
		case v.rejects() && c.saw != nil:
			log.Skip(c.name, trace.NotReached)
		case v.rejects():
		default:
			if v = c.run(u); log != nil && c.saw != nil {
				log.Add(c.name, c.saw(u), v.found())
			}
		}
	}
	return v
}

// found returns the outcome of a verdict that rejects.
func (v Verdict) found() string {
	if v.rejects() {
		return string(v.Outcome)
	}
	return ""
}

func (u *use) visible() Verdict { return seen(u.p, u.tool, u.r.Action) }

// narrowed judges whether the row of the sender and the chat leave it the tool.
func (u *use) narrowed() Verdict {
	if ok, rule := For(u.p, u.by, u.tool); !ok && !own(u.tool, u.r.Action) {
		return reject(rule, notAllowed, "%s does not have %s", rule, u.tool)
	}
	return pass
}

func (u *use) owner() Verdict {
	if owner, _ := Level(u.p, u.tool); owner && !Owner(u.by.Trust) {
		return reject("tools.level", notOwner,
			"only the owner may have %s used, and %s is not proven to be that", u.tool, u.by.Trust)
	}
	return pass
}

func (u *use) action() Verdict {
	if u.tool != execTool && !fits(u.p, u.tool, u.r.Action) {
		return reject("tools.action", notAllowed,
			"%s is a tool for %s, and not for %s", u.tool, Action(u.p, u.tool), u.r.Action)
	}
	return pass
}

func (u *use) program() Verdict {
	switch {
	case u.tool == execTool:
		return judgeExec(u.p, u.r, u.world)
	case u.r.Action == terms.CodeOrComputer && u.r.Args.Member("argv") != "":
		return reject("tools", badArguments,
			"%s has an argv, and to start a program the tool is %s", u.tool, execTool)
	}
	return pass
}

func (u *use) person() Verdict {
	if _, person := Level(u.p, u.tool); person {
		return Verdict{terms.Confirm, "tools.level", NeedsPerson,
			fmt.Sprintf("what is done through %s needs a person's yes", u.tool)}
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

// paths judges the args that are paths. A request for a tool that has such args must give
// at least one path, or what it touches is unknown.
func (u *use) paths() Verdict {
	declared, rule := paths(u.p, u.tool)
	if len(declared) == 0 {
		return pass
	}
	if u.p.Exec.Workspace == "" {
		return reject("exec.workspace", noWorkspace, "%s uses paths, and there is no workspace", u.tool)
	}
	given, ok := values(u.r.Args, declared)
	if !ok || len(given) == 0 || len(given) > maxPaths {
		return reject(rule, badArguments,
			"%s needs a path, or a list of at most %d paths, in its args %s", u.tool, maxPaths, list(declared))
	}
	for _, name := range given {
		if strings.ContainsFunc(name, unicode.IsControl) {
			return reject(rule, pathRefused, "%s: it has a control character", name)
		}
		at, err := u.world.Path(u.p.Exec.Workspace, name)
		if err != nil {
			return reject(rule, pathRefused, "%v", err)
		}
		u.places = append(u.places, at)
	}
	if at, why := u.refused(); len(at) > 0 {
		return reject("exec.write", pathConfigures, "%s", why)
	}
	return pass
}

// blind is the World of a caller that can't look at the machine.
type blind struct{}

var errBlind = fmt.Errorf("nothing here can look at files")

func (blind) Path(_, name string) (Place, error) {
	return Place{}, fmt.Errorf("%s: %w", name, errBlind)
}
func (blind) Dir(_, name string) error { return fmt.Errorf("%s: %w", name, errBlind) }
func (blind) Program(path string) (Program, error) {
	return Program{}, fmt.Errorf("%s: %w", path, errBlind)
}
