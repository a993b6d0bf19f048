package compare

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"pulse/lib/authorize/glob"
	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// differentTools reports whether the policies say anything different about tools.
func differentTools(old, new *policy.Policy) bool {
	return !reflect.DeepEqual(old.Tools, new.Tools) || !reflect.DeepEqual(old.Exec, new.Exec) ||
		!reflect.DeepEqual(narrowing(old), narrowing(new)) || !reflect.DeepEqual(old.Flow, new.Flow)
}

// narrowing returns the lists of tools of senders and chats. A row without a list is among
// them if another row has one: it may stand before that.
func narrowing(p *policy.Policy) map[string][]string {
	all := map[string][]string{}
	narrows := func(r policy.SenderRow) bool { return r.Tools != nil }
	if slices.ContainsFunc(p.Senders, narrows) {
		for i := range p.Senders {
			all[p.Senders[i].Sender] = p.Senders[i].Tools
		}
	}
	for i := range p.Platforms {
		for _, c := range p.Platforms[i].Chats {
			if c.Tools != nil {
				all[fmt.Sprint(p.Platforms[i].Source, " ", c.ID)] = c.Tools
			}
		}
	}
	return all
}

// toolsOf returns a tool for each way in which the patterns of both policies, and those
// that are built in, match one.
func toolsOf(old, new *policy.Policy) ([]string, error) {
	texts := append([]string{tools.Draft, "exec", "fs.*", "task.*"}, tools.Carried...)
	for _, b := range tools.Bindings {
		texts = append(texts, b.Tool)
	}
	for _, p := range []*policy.Policy{old, new} {
		texts = slices.Concat(texts, p.Tools.Allow, p.Tools.Deny, slices.Sorted(maps.Keys(p.Tools.Level)),
			slices.Sorted(maps.Keys(p.Tools.Action)), slices.Sorted(maps.Keys(p.Tools.Paths)), flowEntries(p))
		for _, profile := range tools.Profiles {
			if profile.Name == p.Tools.Profile {
				texts = append(texts, profile.Tools...)
			}
		}
		lists := narrowing(p)
		for _, name := range slices.Sorted(maps.Keys(lists)) {
			texts = append(texts, lists[name]...)
		}
	}
	slices.Sort(texts)
	var patterns []glob.Pattern
	for _, text := range slices.Compact(texts) {
		patterns = append(patterns, glob.Pattern{Text: text, Kind: glob.Any})
	}
	classes, err := glob.Classes(patterns, glob.ToolNames)
	if err != nil {
		return nil, fmt.Errorf("%w: the patterns of tools", err)
	}
	names := make([]string, len(classes))
	for i := range classes {
		names[i] = classes[i].Example
	}
	return names, nil
}

// callsOf returns the calls of a tool that the policies may judge differently.
func callsOf(old, new *policy.Policy, tool string, spots []spot) ([]call, error) {
	if tool == "exec" {
		return starts(old, new)
	}
	var groups, both []string
	seen := map[int]bool{}
	declared := argsOf(old, new, tool)
	for _, arg := range slices.Sorted(maps.Keys(declared)) {
		if by := declared[arg]; !seen[by] {
			seen[by] = true
			if groups = append(groups, arg); by >= 3 {
				both = append(both, arg)
			}
		}
	}
	list := call{tool: tool}.with(groups, &world{}, places(old, new)...)
	for _, at := range spots { // an arg that one policy does not look at shows what an arg of places shows
		some := call{tool: tool}.with(both, &world{repository: at.repository}, at.path, ".")
		list = append(list, slices.DeleteFunc(some, func(c call) bool { return !strings.Contains(c.what, "="+at.path) })...)
	}
	return list, nil
}

// with returns the call with each choice of paths for some of the args.
func (c call) with(args []string, w *world, paths ...string) []call {
	list := []call{c}
	for _, arg := range args {
		for _, c := range list {
			for _, where := range paths {
				list = append(list, c.and(arg, where, w))
			}
		}
	}
	return list
}

// and adds an arg that is a path.
func (c call) and(arg, where string, w *world) call {
	pair := string(record.AppendString(append(record.AppendString(nil, arg), ':'), where))
	if c.args == "" {
		c.args = "{" + pair + "}"
	} else {
		c.args = strings.TrimSuffix(c.args, "}") + "," + pair + "}"
	}
	c.what += fmt.Sprintf(" %s=%s", arg, where)
	if c.world = w; w.repository && !strings.HasPrefix(c.what, inRepository) {
		c.what = inRepository + c.what
	}
	return c
}

const inRepository = " where the workspace has a HEAD:"

// spot is a path that exec.write may name.
type spot struct {
	path       string
	repository bool // it configures the next run only where the workspace is a repository
}

// spotsOf returns paths that configure the next run and that one of the policies lets be
// written. Where nothing by that name does, any path will do: it configures the next run
// where the workspace has a HEAD. What both let be written, or neither, shows nothing that
// another path does not show, unless they mean another workspace by it.
func spotsOf(old, new *policy.Policy) (list []spot, err error) {
	was, is := path.Clean(old.Exec.Workspace), path.Clean(new.Exec.Workspace)
	nested := was != is && (below(was, is) || below(is, was))
	if old.Exec.Workspace == "" || new.Exec.Workspace == "" || slices.Equal(old.Exec.Write, new.Exec.Write) && !nested {
		return nil, nil
	}
	patterns := []glob.Pattern{{Kind: glob.Path}, {Kind: glob.Hidden}}
	for _, text := range slices.Concat(old.Exec.Write, new.Exec.Write) {
		patterns = append(patterns, glob.Pattern{Text: text, Kind: glob.Any})
	}
	classes, err := glob.Classes(patterns, glob.Sources)
	if err != nil {
		return nil, fmt.Errorf("%w: the patterns in exec.write", err)
	}
	slices.SortStableFunc(classes, func(a, b glob.Class) int { return named(&b) - named(&a) })
	known := map[[2]bool]bool{}
	for i := range classes {
		c := &classes[i]
		globs := c.Matches[2:]
		key := [2]bool{slices.Contains(globs[:len(old.Exec.Write)], true), slices.Contains(globs[len(old.Exec.Write):], true)}
		if !c.Matches[0] || known[key] || key[0] == key[1] && !nested {
			continue
		}
		known[key] = true
		list = append(list, spot{c.Example, named(c) == 0})
		if nested {
			list = append(list, spot{path.Join(was, c.Example), named(c) == 0}, spot{path.Join(is, c.Example), named(c) == 0})
		}
	}
	return list, nil
}

// named returns 1 if the example of a class configures the next run by its name.
func named(c *glob.Class) int {
	if name, _ := tools.Configures(c.Example); name == "" {
		return 0
	}
	return 1
}

// argsOf returns the args of a tool that are paths, each with a number that says by which
// policy, or by what is built in.
func argsOf(old, new *policy.Policy, tool string) map[string]int {
	by := map[string]int{}
	for i, p := range []*policy.Policy{old, new} {
		for g, args := range p.Tools.Paths {
			for _, arg := range args {
				if policy.Match(g, tool) {
					by[arg] |= 1 << i
				}
			}
		}
	}
	if policy.Match("fs.*", tool) {
		by["path"] |= 4
	}
	return by
}

// places returns paths that the workspaces of the policies tell apart: each workspace
// itself, and a place outside.
func places(old, new *policy.Policy) []string {
	list := []string{"."}
	for _, p := range []*policy.Policy{old, new} {
		if p.Exec.Workspace != "" {
			list = append(list, path.Clean(p.Exec.Workspace))
		}
	}
	list = append(list, "/") // outside, unless it is a workspace itself
	slices.Sort(list)
	return slices.Compact(list)
}

// starts returns calls of exec: every kind of command line that the allowlists tell apart,
// in every directory, with every content that one of them names.
func starts(old, new *policy.Policy) ([]call, error) {
	programs := slices.Concat(old.Exec.Allow, new.Exec.Allow)
	var lists [][]glob.Pattern
	for _, p := range programs {
		list := []glob.Pattern{{Text: p.Path, Kind: glob.Exact}}
		for _, arg := range p.Args {
			list = append(list, glob.Pattern{Text: arg, Kind: glob.Arg})
		}
		lists = append(lists, list)
	}
	classes, err := glob.Lists(lists, glob.Args)
	if err != nil {
		return nil, fmt.Errorf("%w: the arguments in exec.allow", err)
	}
	dirs := places(old, new)
	for _, p := range programs {
		if p.Dir != "" && !slices.Contains(dirs, p.Dir) {
			dirs = append(dirs, p.Dir)
		}
	}
	out := []call{start([]string{"/unlisted"}, dirs[0], "")}
	for _, c := range classes {
		sums := []string{""}
		for i, p := range programs {
			if c.Matches[i] && !slices.Contains(sums, p.SHA256) {
				sums = append(sums, p.SHA256)
			}
		}
		if len(c.Example) == 0 || c.Example[0] == "" {
			continue
		}
		for _, dir := range dirs {
			for _, sum := range sums {
				if len(out) > maxRecords/len(terms.Actions) {
					return nil, errTooMany
				}
				out = append(out, start(c.Example, dir, sum))
			}
		}
	}
	return out, nil
}

func start(argv []string, dir, sum string) call {
	var o record.Object
	o.Strs("argv", argv)
	o.Str("dir", dir)
	what := fmt.Sprintf(" %q in %s", argv, dir)
	if sum != "" {
		what += " with sha256 " + sum[:8]
	}
	return call{tool: "exec", args: string(o.Bytes()), what: what, world: &world{sum: sum}}
}

// world is a machine in which every directory is there, and every program is the file with
// that digest.
type world struct {
	sum        string
	repository bool // the workspace has a HEAD
}

var errElsewhere = fmt.Errorf("it is not in the workspace")

func (w *world) Path(workspace, name string) (at tools.Place, err error) {
	workspace = path.Clean(workspace)
	if !path.IsAbs(name) {
		name = path.Join(workspace, name)
	}
	if name = path.Clean(name); !below(name, workspace) {
		return at, errElsewhere
	}
	at.Real = path.Clean("." + strings.TrimPrefix(name, strings.TrimSuffix(workspace, "/")))
	if at.Given = at.Real; w.repository {
		at.Repository = "."
	}
	return at, nil
}

func (w *world) Dir(workspace, name string) error {
	_, err := w.Path(workspace, name)
	return err
}

func (w *world) Program(string) (tools.Program, error) { return tools.Program{SHA256: w.sum}, nil }

func below(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
