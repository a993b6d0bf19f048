package explain

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// The changes of [tools] and [exec].

// usesTool reports whether the record is an effect that names a tool which a policy can
// name, too.
func usesTool(s *Subject, a *answer) bool {
	return a.id.Effect() && s.Request != nil && policy.ToolName(s.Request.Tool)
}

// toolAllow lets agents see the tool.
func toolAllow(s *Subject, _ *answer) []Change {
	if slices.Contains(s.Policy.Tools.Allow, s.Request.Tool) {
		return nil
	}
	return toolsAllow.set("every agent may see "+s.Request.Tool, with(s.Policy.Tools.Allow, s.Request.Tool))
}

// toolDeny takes the tool out of tools.deny.
func toolDeny(s *Subject, _ *answer) []Change {
	var out []string
	list := without(s.Policy.Tools.Deny, func(glob string) bool {
		hit := policy.Match(glob, s.Request.Tool)
		if hit {
			out = append(out, glob)
		}
		return hit
	})
	if out == nil {
		return nil
	}
	risk := ""
	if strings.Contains(strings.Join(out, ""), "*") {
		risk = "other tools that " + strings.Join(out, ", ") + " matches are no longer denied"
	}
	return toolsDeny.set(risk, list)
}

// toolOfSender lets effects of the sender use the tool.
func toolOfSender(s *Subject, a *answer) []Change {
	row := s.Policy.Sender(a.id.Sender)
	if row == nil || row.Tools == nil || slices.Contains(row.Tools, s.Request.Tool) {
		return nil
	}
	list := with(row.Tools, s.Request.Tool)
	i := slices.IndexFunc(s.Policy.Senders, func(o policy.SenderRow) bool { return o.Sender == row.Sender })
	return []Change{change("", func(p *policy.Policy) {
		p.Senders = slices.Clone(p.Senders)
		p.Senders[i].Tools = list
	}, Edit{Table: "matrix." + row.Name(), Key: "tools.allow", Value: array(list)})}
}

// toolLevel lowers every level of the tool.
func toolLevel(s *Subject, _ *answer) []Change {
	levels := maps.Clone(s.Policy.Tools.Level)
	var edits []Edit
	for _, glob := range slices.Sorted(maps.Keys(levels)) {
		if policy.Match(glob, s.Request.Tool) && levels[glob] != "open" {
			levels[glob] = "open"
			edits = append(edits, Edit{Table: "tools.level", Key: policy.KeyName(glob), Value: `"open"`})
		}
	}
	if edits == nil {
		return nil
	}
	return []Change{change("everyone who may ask for the action may have "+s.Request.Tool+" used, and no person is asked",
		func(p *policy.Policy) { p.Tools.Level = levels }, edits...)}
}

// program lists the very call that is asked for.
func program(s *Subject, a *answer) []Change {
	if s.World == nil || a.d.Action != terms.CodeOrComputer {
		return nil
	}
	argv, dir := called(s.Request.Args)
	if len(argv) == 0 || !listable(argv, dir) {
		return nil
	}
	file, err := s.World.Program(argv[0])
	if err != nil || file.Interpreter != "" {
		return nil
	}
	added := policy.Program{Path: argv[0], SHA256: file.SHA256, Args: argv[1:], Dir: dir}
	const table = "exec.allow"
	edits := []Edit{
		{Table: table, Nth: New, Key: "program", Value: strconv.Quote(added.Path)},
		{Table: table, Nth: New, Key: "sha256", Value: strconv.Quote(added.SHA256)},
		{Table: table, Nth: New, Key: "args", Value: array(added.Args)},
		{Table: table, Nth: New, Key: "dir", Value: strconv.Quote(added.Dir)},
	}
	if s.Policy.Exec.Mode == "deny" {
		edits = append([]Edit{{Table: "exec", Key: "mode", Value: `"allowlist"`}}, edits...)
	}
	return []Change{change("this program may be started so once a person confirms it", func(p *policy.Policy) {
		p.Exec.Allow = with(p.Exec.Allow, added)
		if p.Exec.Mode == "deny" {
			p.Exec.Mode = "allowlist"
		}
	}, edits...)}
}

// writable lets the very paths be written that configure the next run.
func writable(s *Subject, _ *answer) []Change {
	if s.World == nil {
		return nil
	}
	paths := tools.Configuring(s.Policy, s.Request, s.World)
	if len(paths) == 0 || !plain(paths...) || strings.Contains(strings.Join(paths, ""), "*") || slices.Contains(paths, ".") {
		return nil
	}
	return execWrite.set("what any effect writes there is obeyed by a later run, by git or by a shell", with(s.Policy.Exec.Write, paths...))
}

// called returns the call that the args of exec describe.
func called(args record.Value) (argv []string, dir string) {
	if args == "" || args[0] != '{' {
		return nil, ""
	}
	_ = args.Each(record.To("argv", &argv, "dir", &dir))
	return argv, dir
}

// listable reports whether an [[exec.allow]] can hold a call, and means nothing but it.
func listable(argv []string, dir string) bool {
	clean := func(name string) bool { return path.IsAbs(name) && path.Clean(name) == name }
	base := path.Base(argv[0])
	return clean(argv[0]) && clean(dir) && plain(argv...) && plain(dir) &&
		!strings.Contains(strings.Join(argv, ""), "*") && base != "git" && !policy.Interpreter(base)
}
