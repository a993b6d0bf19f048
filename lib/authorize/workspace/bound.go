package workspace

import (
	"pulse/lib/authorize/edit"
	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Bound writes out what a yes to a request is bound to besides its own words, as pulse finds it at
// this moment: the directory of a program, and the digests of the files that a write was judged
// for and would make. What a worker said of these is taken out. A write that can't be carried out
// as it stands gets none, and is not carried out.
func Bound(p *policy.Policy, tool string, action terms.Action, args record.Value) record.Value {
	args = tools.Complete(p, tool, action, args)
	if tool != "fs.write" && tool != "fs.edit" || args == "" || args[0] != '{' {
		return args
	}
	list, err := edit.Of(args, func(name string) (edit.File, error) { return Read(p.Exec.Workspace, name) })
	return edit.Sealed(args, list, err == nil)
}
