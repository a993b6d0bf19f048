package policy

import (
	"path/filepath"
	"strings"

	"pulse/lib/shared/terms"
)

// maxTool bounds the name of a tool, in bytes.
const maxTool = 100

// The tools and levels that [tools] can name.
var (
	profiles = []string{"minimal", "standard", "coding", "full"}
	levels   = []string{"open", "owner_only", "approval_required"}
)

// ToolName reports whether s is the name of a tool: a to z, digits and ._-:/. There are
// no capitals, so that no two names differ by case alone.
func ToolName(s string) bool {
	return s != "" && len(s) <= maxTool && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789._-:/") == ""
}

func (v *validator) tools(p *Policy, f *file) {
	t := &f.Tools
	oneOf(v, &p.Tools.Profile, "tools.profile", t.Profile, profiles...)
	p.Tools.Allow, p.Tools.Deny, p.Tools.Level, p.Tools.Paths = t.Allow, t.Deny, t.Level, t.Paths
	v.toolGlobs("tools.allow", t.Allow...)
	v.toolGlobs("tools.deny", t.Deny...)
	for glob, level := range t.Level {
		var word string
		v.toolGlobs("tools.level."+KeyName(glob), glob)
		oneOf(v, &word, "tools.level."+KeyName(glob), &level, levels...)
	}
	for glob, value := range t.Action {
		var action terms.Action
		v.toolGlobs("tools.action."+KeyName(glob), glob)
		oneOf(v, &action, "tools.action."+KeyName(glob), &value, terms.Actions...)
		if p.Tools.Action == nil {
			p.Tools.Action = map[string]terms.Action{}
		}
		p.Tools.Action[glob] = action
	}
	for glob, args := range t.Paths {
		v.toolGlobs("tools.paths."+KeyName(glob), glob)
		if len(args) == 0 {
			v.fail("tools.paths."+KeyName(glob), "want the names of the args that are paths, not an empty list")
		}
	}
}

// toolGlobs checks patterns of tools: a name in which * stands for anything.
func (v *validator) toolGlobs(key string, list ...string) {
	for i, glob := range list {
		if !ToolName(strings.ReplaceAll(glob, "*", "x")) {
			v.fail(at(key, i), "%s: want a tool in lower case, in which * stands for anything", glob)
		}
	}
}

// pathGlobs checks patterns of paths in the workspace: a clean path in which * stands for
// anything, also slashes.
func (v *validator) pathGlobs(key string, list []string) []string {
	for i, glob := range list {
		if !filepath.IsLocal(glob) || filepath.Clean(glob) != glob || glob == "." || strings.IndexFunc(glob, isControl) >= 0 {
			v.fail(at(key, i), "%q: want a path in the workspace such as .github/workflows/*: not absolute, without . and .., no slash at its end", glob)
		}
	}
	return list
}

// programs checks every [[exec.allow]]. A listed program that starts others, or runs
// commands from its arguments, would make an allowlist of one an allowlist of all.
func (v *validator) programs(p *Policy, list []programTable) {
	for i, t := range list {
		key := at("exec.allow", i)
		out := Program{Path: t.Program, SHA256: t.SHA256, Args: t.Args}
		switch {
		case !isPath(t.Program):
			v.fail(key, "program %s: want an absolute path, without . and ..", t.Program)
		case Interpreter(filepath.Base(t.Program)):
			v.fail(key, "program %s: an interpreter or wrapper runs whatever its arguments say; "+
				"name the program itself, or set exec.mode", t.Program)
		case len(t.SHA256) != 64 || strings.Trim(t.SHA256, "0123456789abcdef") != "":
			v.fail(key, "sha256 of %s: want 64 hex digits in lower case, as sha256sum prints them", t.Program)
		case filepath.Base(t.Program) == "git":
			v.git(key, t.Args)
		}
		for _, glob := range t.Args {
			if strings.Contains(glob, "**") || strings.IndexFunc(glob, isControl) >= 0 {
				v.fail(key, "args of %s: %s: want a glob in which * stands for anything but a slash, without controls",
					t.Program, glob)
			}
		}
		if t.Dir != nil {
			if out.Dir = *t.Dir; !isPath(out.Dir) {
				v.fail(key, "dir %s: want an absolute path, without . and ..", out.Dir)
			}
		} else if p.Exec.Workspace == "" {
			v.fail(key, "want dir, or exec.workspace: a program runs somewhere")
		}
		p.Exec.Allow = append(p.Exec.Allow, out)
	}
}

// git refuses arguments that can make git start another program: an option before the
// subcommand (-c, -C, --exec-path), an option with a glob in its name, and an option
// that names a program.
func (v *validator) git(key string, args []string) {
	if len(args) == 0 || args[0] == "" || strings.ContainsAny(args[0], "*-") || runsPrograms[args[0]] {
		v.fail(key, "args of git: the first has to be a subcommand, written out, that starts no other program")
		return
	}
	for _, glob := range args[1:] {
		name, _, _ := strings.Cut(glob, "=")
		if strings.HasPrefix(glob, "-") && (strings.Contains(name, "*") || gitOption(name)) {
			v.fail(key, "args of git: %s: git would start another program", glob)
		}
	}
}

// runsPrograms are the subcommands of git, besides those with a hyphen, that run
// programs named in their arguments or settings.
var runsPrograms = map[string]bool{
	"bisect": true, "config": true, "difftool": true, "mergetool": true, "rebase": true, "submodule": true,
	"clone": true, "fetch": true, "pull": true, "push": true, "archive": true, "grep": true, "hook": true, "maintenance": true,
}

// gitOption reports whether an option of a subcommand names a program, or may be short
// for one that does, because git accepts abbreviated options.
func gitOption(name string) bool {
	if !strings.HasPrefix(name, "--") {
		return strings.HasPrefix(name, "-c") || strings.HasPrefix(name, "-x") || strings.HasPrefix(name, "-O")
	}
	for _, long := range []string{
		"--exec", "--upload-pack", "--receive-pack", "--config",
		"--ext-diff", "--textconv", "--open-files-in-pager", "--edit",
	} {
		if strings.HasPrefix(long, name) && len(name) > 2 || strings.HasPrefix(name, long) {
			return true
		}
	}
	return false
}

func isPath(s string) bool {
	return filepath.IsAbs(s) && filepath.Clean(s) == s && strings.IndexFunc(s, isControl) < 0
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
