package tools

import (
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Files returns the files that a use may read: those that its paths name, as they are given, or
// nil for any, if it runs code. reads is false if it reads none.
func Files(p *policy.Policy, r *request.Request) (names []string, reads bool) {
	tool := Of(r)
	if r.Action == terms.CodeOrComputer || slices.Contains(bound(p, tool), terms.CodeOrComputer) {
		return nil, true
	}
	declared, _ := paths(p, tool)
	if len(declared) == 0 {
		return nil, false
	}
	names, ok := values(r.Args, declared)
	if !ok || len(names) == 0 { // it would be rejected
		return nil, true
	}
	return names, true
}
