package tools

import (
	"errors"
	"slices"
	"strings"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// call holds the args of exec. They describe the start completely, because it has
// neither an environment nor standard input. Without a directory it starts in the workspace.
type call struct {
	argv []string
	dir  string
}

var errCall = errors.New("not a call")

// decodeCall reads the args of exec. It refuses any other member, because the worker
// might act on it.
func decodeCall(p *policy.Policy, args record.Value) (c call, err error) {
	if args.Member("dir") == "" {
		c.dir = p.Exec.Workspace
	}
	err = each(args, record.Only(errCall, "argv", &c.argv, "dir", &c.dir))
	nul := func(s string) bool { return strings.IndexByte(s, 0) >= 0 }
	if err == nil && (len(c.argv) == 0 || c.argv[0] == "" || slices.ContainsFunc(c.argv, nul) ||
		c.dir == "" || nul(c.dir)) {
		err = errCall
	}
	return c, err
}

// Dir returns the directory in which a request starts a program; empty if it starts none. It is
// the one that the judgement is about, and the screen and the worker are told.
func Dir(p *policy.Policy, tool string, action terms.Action, args record.Value) string {
	if Of(&request.Request{Tool: tool, Action: action, Args: args}) != execTool {
		return ""
	}
	c, err := decodeCall(p, args)
	if err != nil {
		return ""
	}
	return c.dir
}

// Complete returns the args of a request with the directory in which its program starts.
func Complete(p *policy.Policy, tool string, action terms.Action, args record.Value) record.Value {
	dir := Dir(p, tool, action, args)
	if dir == "" || args.Member("dir") != "" {
		return args
	}
	var o record.Object
	_ = args.Each(func(name string, v record.Value) error {
		o.Raw(name, []byte(v))
		return nil
	})
	o.Str("dir", dir)
	return record.Value(o.Bytes())
}

// judgeExec judges the start of a program where exec.mode is not deny. Passing does not
// start the program, because code_or_computer always needs a person.
func judgeExec(p *policy.Policy, r *request.Request, world World) Verdict {
	if r.Action != terms.CodeOrComputer {
		return reject("exec", badArguments, "exec is %s, and never %s", terms.CodeOrComputer, r.Action)
	}
	c, err := decodeCall(p, r.Args)
	if err != nil {
		return reject("exec", badArguments, "exec needs the args argv and dir, and nothing else; without dir it needs exec.workspace")
	}
	if p.Exec.Mode == "full" {
		return pass
	}
	v := reject("exec.allow", execNotListed, "no [[exec.allow]] has this program with these arguments")
	for i := range p.Exec.Allow {
		a := &p.Exec.Allow[i]
		if c.argv[0] != a.Path || !matchArgs(a.Args, c.argv[1:]) {
			continue
		}
		if v = judgeProgram(p, a, &c, world); !v.rejects() {
			return pass
		}
	}
	return v
}

// judgeProgram judges a call by what a matching [[exec.allow]] demands besides the
// arguments.
func judgeProgram(p *policy.Policy, a *policy.Program, c *call, world World) Verdict {
	const rule = "exec.allow"
	if a.Dir != "" && c.dir != a.Dir {
		return reject(rule, execNotListed, "%s may be started in %s only", a.Path, a.Dir)
	}
	if a.Dir == "" { // a valid policy has a workspace then
		if err := world.Dir(p.Exec.Workspace, c.dir); err != nil {
			return reject(rule, pathRefused, "%v", err)
		}
	}
	file, err := world.Program(a.Path)
	switch {
	case err != nil:
		return reject(rule, programRefused, "%v", err)
	case file.Interpreter != "":
		return reject(rule, programRefused, "%s is %s: it runs whatever its arguments say", a.Path, file.Interpreter)
	case file.SHA256 != a.SHA256:
		return reject(rule, programRefused, "%s is not the file whose sha256 the policy has", a.Path)
	}
	return pass
}

// matchArgs reports whether each argument matches its glob.
func matchArgs(globs, args []string) bool {
	return slices.EqualFunc(globs, args, matchArg)
}

// matchArg reports whether an argument matches a glob, in which * stands for any bytes
// except a slash. If a program might take the argument for more than a value, the glob
// must say so too. An argument that begins with -, + or @ matches only a glob that begins
// with the same byte, and one that goes up by .. matches only a glob without a star.
func matchArg(glob, arg string) bool {
	if !strings.Contains(glob, "*") {
		return glob == arg
	}
	if arg != "" && strings.IndexByte("-+@", arg[0]) >= 0 && glob[0] != arg[0] {
		return false
	}
	if slices.Contains(strings.FieldsFunc(arg, func(r rune) bool { return r == '/' || r == '=' || r == ':' }), "..") {
		return false
	}
	want, got := strings.Split(glob, "/"), strings.Split(arg, "/")
	return slices.EqualFunc(want, got, policy.Match)
}

// Call returns the program that a request for exec starts, and the directory.
func Call(p *policy.Policy, args record.Value) (argv []string, dir string, err error) {
	c, err := decodeCall(p, args)
	return c.argv, c.dir, err
}
