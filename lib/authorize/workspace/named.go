package workspace

import "pulse/lib/shared/policy"

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
