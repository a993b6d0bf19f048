package hook

import (
	"maps"
	"slices"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// row says what a client's tool is among pulse's.
type row struct {
	tool   string
	action terms.Action
	args   func(in input) args
}

// Offer is a tool that a client has for its model.
type Offer struct {
	Name   string // as the client calls it
	Tool   string
	Action terms.Action
}

// tables has the tools of Claude Code 2.1, Codex CLI 0.169 and Gemini CLI 0.61. Codex calls
// its shell Bash, whatever the model calls it. A shell runs whatever its argument says, so
// no [[exec.allow]] lists it.
var tables = map[Client]map[string]row{
	ClaudeCode: {
		"Read":         {"fs.read", terms.ReadPrivate, path("file_path")},
		"Glob":         {"fs.list", terms.ReadPrivate, within("path", "pattern")},
		"LS":           {"fs.list", terms.ReadPrivate, path("path")},
		"Grep":         {"fs.search", terms.ReadPrivate, within("path", "glob")},
		"Write":        {"fs.write", terms.WriteLocal, path("file_path", "content=text")},
		"Edit":         {"fs.write", terms.WriteLocal, path("file_path", "old_string=old", "new_string=new", "replace_all=all")},
		"MultiEdit":    {"fs.write", terms.WriteLocal, path("file_path", "edits")},
		"NotebookEdit": {"fs.write", terms.WriteLocal, path("notebook_path", "cell_id=cell", "new_source=new", "edit_mode=edit")},
		"WebFetch":     {"web.fetch", terms.ReadPublic, only("url", "prompt")},
		"WebSearch":    {"web.search", terms.ReadPublic, only("query", "allowed_domains", "blocked_domains")},
		"Bash":         {"exec", terms.CodeOrComputer, shell("")},
	},
	Codex: {
		"apply_patch": {"fs.write", terms.WriteLocal, patch},
		"view_image":  {"fs.read", terms.ReadPrivate, path("path")},
		"Bash":        {"exec", terms.CodeOrComputer, shell("")},
	},
	Gemini: {
		"read_file":         {"fs.read", terms.ReadPrivate, path("file_path")},
		"list_directory":    {"fs.list", terms.ReadPrivate, path("dir_path")},
		"glob":              {"fs.list", terms.ReadPrivate, within("dir_path", "pattern")},
		"grep_search":       {"fs.search", terms.ReadPrivate, within("dir_path", "include_pattern")},
		"write_file":        {"fs.write", terms.WriteLocal, path("file_path", "content=text")},
		"replace":           {"fs.write", terms.WriteLocal, path("file_path", "old_string=old", "new_string=new", "allow_multiple=all")},
		"web_fetch":         {"web.fetch", terms.ReadPublic, only("prompt", "url")},
		"google_web_search": {"web.search", terms.ReadPublic, only("query")},
		"run_shell_command": {"exec", terms.CodeOrComputer, shell("dir_path")},
	},
}

// Offers lists the tools that a client has for its model, sorted.
func (c Client) Offers() (list []Offer) {
	for _, name := range slices.Sorted(maps.Keys(tables[c])) {
		r := tables[c][name]
		list = append(list, Offer{name, r.tool, r.action})
	}
	return list
}

// Request returns the use as a request. A tool that is in no table has the action that the
// policy gives it, or counts as running code.
func (u *Use) Request(p *policy.Policy) (request.Request, error) {
	r, listed := tables[u.Client][u.Name]
	if !listed || u.Server != "" {
		tool := u.tool()
		return made(tool, tools.Action(p, tool), []byte(u.Input))
	}
	in := input{u.Input, u.Dir}
	action := r.action
	if u.Client == Codex && u.Name == "apply_patch" && deletes(in) {
		action = terms.Destructive
	}
	a := r.args(in)
	return made(r.tool, action, a.o.Bytes())
}

// made returns a request that reads as one of a record does.
func made(tool string, action terms.Action, args []byte) (request.Request, error) {
	var o record.Object
	o.Str("action", string(action))
	o.Str("tool", tool)
	o.Raw("args", args)
	v, err := record.ParseValue(o.Bytes())
	if err != nil {
		return request.Request{}, err
	}
	return request.Decode(v)
}

// input is the input of a use.
type input struct {
	v   record.Value
	dir string
}

// value returns a member; empty if there is none, or null.
func (in input) value(name string) record.Value {
	if v := in.v.Member(name); v != "null" {
		return v
	}
	return ""
}

// text returns a member that is a string.
func (in input) text(name string) (s string, ok bool) {
	v := in.value(name)
	if v == "" || v[0] != '"' {
		return "", false
	}
	s, err := v.String()
	return s, err == nil
}

// args are the arguments of a request that is being made.
type args struct{ o record.Object }

// path adds the member path. One that is no string, or is missing, is null, which no tool
// takes.
func (a *args) path(p *string) { a.o.Raw("path", appendPath(&p, nil)) }

// paths is path for several.
func (a *args) paths(list []*string) { a.o.Raw("path", record.List(nil, list, appendPath)) }

func appendPath(p **string, dst []byte) []byte {
	if *p == nil {
		return append(dst, "null"...)
	}
	return record.AppendString(dst, **p)
}

// copy adds members as they are: NAME, or NAME=OURS.
func (a *args) copy(in input, names ...string) {
	for _, name := range names {
		name, ours, renamed := strings.Cut(name, "=")
		if !renamed {
			ours = name
		}
		if v := in.value(name); v != "" {
			a.o.Raw(ours, []byte(v))
		}
	}
}

func path(name string, more ...string) func(input) args {
	return func(in input) (a args) {
		a.path(in.absolute(name, ""))
		a.copy(in, more...)
		return a
	}
}

// absolute returns a path among the input, or the other one if there is none.
func (in input) absolute(name, missing string) *string {
	s, ok := in.text(name)
	if in.value(name) == "" {
		s, ok = missing, missing != ""
	}
	if !ok {
		return nil
	}
	s = absolute(s, in.dir)
	return &s
}

// within is the args of a tool that looks for what fits a pattern in a directory.
func within(dir, pattern string) func(input) args {
	return func(in input) (a args) {
		list := []*string{in.absolute(dir, ".")}
		s, ok := in.text(pattern)
		if in.value(pattern) != "" && !ok {
			list = append(list, nil)
		}
		for _, out := range away(s) {
			list = append(list, &out)
		}
		a.paths(list)
		return a
	}
}

func only(names ...string) func(input) args {
	return func(in input) (a args) {
		a.copy(in, names...)
		return a
	}
}

// shell is the args of a tool that gives a command to a shell, in a directory that the input
// may name.
func shell(dir string) func(input) args {
	return func(in input) (a args) {
		if command, ok := in.text("command"); ok {
			a.o.Strs("argv", []string{"/bin/sh", "-c", command})
		}
		where := &in.dir
		if dir != "" {
			where = in.absolute(dir, ".")
		}
		if where == nil { // it is not known; without dir it would be judged as one in the workspace
			where = new(string)
		}
		a.o.Str("dir", *where)
		return a
	}
}
