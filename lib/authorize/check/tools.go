package check

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pulse/lib/authorize/tools"
	"pulse/lib/authorize/workspace"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// toolRisks reports what effects may do, and what is risky about the files that the policy
// names as they are now. queue is the queue's directory, or empty.
func toolRisks(p *policy.Policy, queue string, risk func(bool, string, ...any)) {
	risk(p.Tools.Profile == "full",
		"tools.profile is full: an agent may use every tool that tools.deny does not list, and no path of one without a rule in tools.paths is checked")
	for _, glob := range p.Tools.Allow {
		risk(strings.Trim(glob, "*") == "", "tools.allow has %s: that is the profile full", glob)
	}
	actionRisks(p, risk)
	risk(p.Exec.Mode == "full",
		"exec.mode is full: any program may be proposed, and only the person who is asked stands before it")
	risk(p.Exec.Mode == "allowlist" && len(p.Exec.Allow) == 0,
		"exec.mode is allowlist, and there is no [[exec.allow]]: no program may run")
	risk(p.Exec.Mode != "allowlist" && len(p.Exec.Allow) > 0,
		"exec.mode is %s: no [[exec.allow]] is used", p.Exec.Mode)
	for _, glob := range p.Exec.Write {
		risk(true, "exec.write has %s: what an agent writes there its next run, git or a shell may obey", glob)
	}
	for i := range p.Exec.Allow {
		programRisks(&p.Exec.Allow[i], risk)
	}
	if p.Exec.Workspace != "" {
		workspaceRisks(p.Exec.Workspace, queue, risk)
	}
}

// actionRisks reports what is risky about tools that the policy binds to an action.
func actionRisks(p *policy.Policy, risk func(bool, string, ...any)) {
	for _, glob := range slices.Sorted(maps.Keys(p.Tools.Action)) {
		action := p.Tools.Action[glob]
		for _, b := range tools.Looser(glob, action) {
			risk(true, "tools.action binds %s to %s: %s stays a tool for %s, which no policy changes",
				glob, action, b.Tool, b.Action)
		}
		risk(!action.Outward(),
			"tools.action binds %s to %s: where the matrix allows that, nobody is asked about what such a tool does",
			glob, action)
		risk(action.Outward() && action != terms.CodeOrComputer && strings.Contains(glob, "*"),
			"tools.action binds %s to %s: tools that nobody has thought of yet count as no more than that",
			glob, action)
	}
}

func programRisks(a *policy.Program, risk func(bool, string, ...any)) {
	file, err := workspace.World{}.Program(a.Path)
	switch {
	case err != nil:
		risk(true, "[[exec.allow]] %s can't be used: %v", a.Path, err)
		return
	case file.Interpreter != "":
		risk(true, "[[exec.allow]] %s can't be used: it is %s", a.Path, file.Interpreter)
	case file.SHA256 != a.SHA256:
		risk(true, "[[exec.allow]] %s can't be used: its sha256 is %s now", a.Path, file.SHA256)
	}
	risk(file.Script, "[[exec.allow]] %s is a script: what reads it is not bound by the sha256", a.Path)
	risk(filepath.Base(a.Path) == "git",
		"[[exec.allow]] %s runs programs that .git/config and .gitattributes of its directory name", a.Path)
	for _, glob := range a.Args {
		risk(strings.HasPrefix(glob, "-") && strings.Contains(glob, "*"),
			"[[exec.allow]] %s takes %s: any option that begins so", a.Path, glob)
	}
	info, err := os.Stat(a.Path)
	risk(err == nil && info.Mode().Perm()&0o022 != 0,
		"[[exec.allow]] %s may be written by others, also between check and start", a.Path)
}

func workspaceRisks(dir, queue string, risk func(bool, string, ...any)) {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		risk(true, "exec.workspace can't be used: %v", err)
		return
	case !info.IsDir():
		risk(true, "exec.workspace %s is no directory", dir)
	case info.Mode().Perm()&0o002 != 0:
		risk(true, "exec.workspace %s may be written by everybody (mode %04o)", dir, info.Mode().Perm())
	}
	above := filepath.Dir(dir)
	risk(replaceable(above),
		"%s may be written by others, who can put another directory in the place of exec.workspace", above)
	risk(queue != "" && (within(queue, info) || within(dir, stat(queue))),
		"exec.workspace %s and the queue %s lie in each other: who may change the one changes the other",
		dir, queue)
}

// replaceable reports whether an account other than root and this one may rename what a
// directory holds. In a sticky directory others may rename only what is theirs.
func replaceable(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() ||
		info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
}

func stat(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// within reports whether path is dir or below it, wherever links lead.
func within(path string, dir fs.FileInfo) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil || dir == nil {
		return false
	}
	for ; ; real = filepath.Dir(real) {
		if info := stat(real); info != nil && os.SameFile(info, dir) {
			return true
		}
		if real == filepath.Dir(real) {
			return false
		}
	}
}
