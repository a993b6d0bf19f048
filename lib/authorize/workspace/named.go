package workspace

import (
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

// real returns a path without links, or as it is.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}
