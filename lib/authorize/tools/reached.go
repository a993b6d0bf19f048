package tools

import (
	"maps"
	"slices"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
)

// Reached calls reached with the key of each rule for tools that the request of an effect
// comes by, and with the entry of that key: a glob, or the number of an [[exec.allow]] in
// the order of the file. It looks at the request and the policy alone.
func Reached(p *policy.Policy, r *request.Request, reached func(key, glob string, nth int)) {
	tool := Of(r)
	if tool == "" {
		return
	}
	if glob, denied := match(p.Tools.Deny, tool); denied {
		reached("tools.deny", glob, 0)
		return
	}
	if glob, ok := match(p.Tools.Allow, tool); ok {
		reached("tools.allow", glob, 0)
	}
	eachGlob(p.Tools.Level, "tools.level", tool, reached)
	eachGlob(p.Tools.Action, "tools.action", tool, reached)
	eachGlob(p.Tools.Paths, "tools.paths", tool, reached)
	c, err := decodeCall(p, r.Args)
	if tool != execTool || p.Exec.Mode != "allowlist" || err != nil {
		return
	}
	for i := range p.Exec.Allow {
		if a := &p.Exec.Allow[i]; c.argv[0] == a.Path && matchArgs(a.Args, c.argv[1:]) {
			reached("exec.allow", "", i)
		}
	}
}

func eachGlob[V any](globs map[string]V, key, tool string, reached func(key, glob string, nth int)) {
	for _, glob := range slices.Sorted(maps.Keys(globs)) {
		if policy.Match(glob, tool) {
			reached(key, glob, 0)
		}
	}
}
