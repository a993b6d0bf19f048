package workspace

import (
	"os"
	"path/filepath"
	"strings"

	"pulse/lib/shared/policy"
)

// Named returns the files that decisions under a policy look at: the workspace, the programs
// that may be started there, and those that they must not be. A nil policy names none.
func Named(p *policy.Policy) (files []string) {
	if p == nil {
		return nil
	}
	if p.Exec.Workspace != "" {
		files = append(files, p.Exec.Workspace)
	}
	for _, program := range p.Exec.Allow {
		files = append(files, program.Path)
	}
	if len(p.Exec.Allow) > 0 {
		files = append(files, Programs...)
	}
	return files
}

// Holds reports whether a program lies in the workspace dir, or is reached by way of it.
func Holds(dir, program string) bool {
	if dir == "" {
		return false
	}
	for _, top := range []string{filepath.Clean(dir), real(dir)} {
		for _, path := range []string{filepath.Clean(program), real(program)} {
			if path == top || strings.HasPrefix(path, strings.TrimSuffix(top, "/")+"/") {
				return true
			}
		}
	}
	return false
}

// Replaceable returns the first word of a command by which something in the workspace dir may be
// run: the program, or an argument that names a file there, as interpreters take it, or a directory
// that such a program starts. The command runs in the directory wd. If there is none, it returns "".
func Replaceable(dir, wd string, command []string) string {
	for i, word := range command {
		path := word
		if _, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
			path = value
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(wd, path)
		}
		if Holds(dir, path) && (i == 0 || starts(path)) {
			return word
		}
	}
	return ""
}

// starts reports whether a path may be something that an interpreter runs. What is missing may be
// there later.
func starts(path string) bool {
	if fi, err := os.Stat(path); err != nil || !fi.IsDir() {
		return true
	}
	for _, name := range []string{"__main__.py", "package.json", "index.*"} {
		if found, err := filepath.Glob(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path) + "/" + name); err != nil || len(found) > 0 {
			return true
		}
	}
	return false
}

// real returns a path without links, or as it is.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}
