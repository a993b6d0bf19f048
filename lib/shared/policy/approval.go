package policy

import (
	"slices"
	"strings"

	"pulse/lib/shared/terms"
)

type approvalRow struct {
	Action    []string `toml:"action"`
	Tool      []string `toml:"tool"`
	Target    []target `toml:"target"`
	Sender    []string `toml:"sender"`
	Approvers []string `toml:"approvers"`
	Count     *int     `toml:"count"`
	NotAuthor bool     `toml:"not_author"`
}

// MostApprovers bounds count of an [[approval.row]]: a yes is the only one, or one of two.
const MostApprovers = 2

// approvalRow checks an [[approval.row]]. An empty list would match nothing, or let nobody say yes,
// and look like a row that holds something back.
func (v *validator) approvalRow(p *Policy, key string, t *approvalRow) ApprovalRow {
	r := ApprovalRow{Tools: t.Tool, Approvers: t.Approvers, Count: 1, NotAuthor: t.NotAuthor}
	if empty(t.Action) || empty(t.Tool) || empty(t.Target) || empty(t.Sender) || empty(t.Approvers) {
		v.fail(key, "an empty list matches nothing: leave the key out, or name something")
	}
	for i := range t.Action {
		var action terms.Action
		oneOf(v, &action, at(key+".action", i), &t.Action[i], terms.Actions...)
		r.Actions = append(r.Actions, action)
	}
	v.toolGlobs(key+".tool", t.Tool...)
	for i, entry := range t.Target {
		r.Targets = append(r.Targets, v.target(at(key+".target", i), string(entry), p.Outbound.Scheme))
	}
	r.Senders = v.addresses(key+".sender", t.Sender, true)
	for i, name := range t.Approvers {
		if name == "" || strings.ContainsAny(name, "*?!, \t\"") || strings.IndexFunc(name, isControl) >= 0 {
			v.fail(at(key+".approvers", i), "%q: want the name of an account, of a login, or of a key in approval.allowed_signers, written out", name)
		}
		if slices.Contains(t.Approvers[:i], name) {
			v.fail(at(key+".approvers", i), "%s is there twice", name)
		}
	}
	if t.Count != nil {
		r.Count = *t.Count
	}
	switch {
	case r.Count < 1 || r.Count > MostApprovers:
		v.fail(key+".count", "%d: want 1 or %d", r.Count, MostApprovers)
	case r.Approvers != nil && len(r.Approvers) < r.Count:
		v.fail(key+".count", "%d people have to say yes, and approvers names %d", r.Count, len(r.Approvers))
	case r.Count == 1 && r.Approvers == nil && !r.NotAuthor:
		v.fail(key, "it asks for nothing: want approvers, count = 2 or not_author = true")
	}
	return r
}

// Names returns everyone whom the rows name.
func (a *Approval) Names() (list []string) {
	for _, row := range a.Rows {
		list = append(list, row.Approvers...)
	}
	return list
}

// empty reports whether a list is there and has nothing in it.
func empty[T any](list []T) bool { return list != nil && len(list) == 0 }
