package approval

import (
	"fmt"
	"slices"
	"time"

	"pulse/lib/shared/record"
)

// Grant is a person's yes given ahead, for one use.
type Grant struct {
	ID      string
	Target  string // empty: any target
	Task    string // empty: any task
	By      string
	Level   Level
	Given   time.Time
	Expires time.Time

	Signer    string // as in an approval
	Signature string // over the Statement

	Holder Holder // as in an approval
}

// Suffices reports whether the grant was given at the level that a policy requires, or
// at a higher one.
func (g *Grant) Suffices(require Level) bool { return g.Level.suffices(require) }

// Append appends the grant as an object.
func (g *Grant) Append(dst []byte) []byte {
	var o record.Object
	o.Str("id", g.ID)
	o.StrIf("target", g.Target)
	o.Bool("any", g.Target == "")
	o.StrIf("task", g.Task)
	o.Str("by", g.By)
	o.Str("level", string(g.Level))
	o.Time("given", g.Given)
	o.Time("expires", g.Expires)
	o.StrIf("signer", g.Signer)
	o.StrIf("signature", g.Signature)
	return append(dst, o.Bytes()...)
}

// DecodeGrant reads what Append wrote. A grant without a target must say that it
// is for any.
func DecodeGrant(v record.Value) (Grant, error) {
	var g Grant
	anyTarget := false
	err := v.Each(record.To(
		"id", &g.ID, "target", &g.Target, "any", &anyTarget, "task", &g.Task, "by", &g.By,
		"level", (*string)(&g.Level), "given", &g.Given, "expires", &g.Expires, "signer", &g.Signer,
		"signature", &g.Signature,
	))
	if err == nil && (g.Target == "") != anyTarget {
		err = fmt.Errorf("a grant is for a target or for any, never both or neither")
	}
	return g, err
}

// Same reports whether two spellings are of one target under a policy.
type Same func(a, b string) bool

// Match returns the grant to spend on a target for a task, the most specific first:
// (target, task), (target, -), (any, task), (any, -). A grant that is bound to a task is
// never spent without it, and one that expired is never spent. If several tasks are
// given, an earlier one takes precedence. same says which spellings are of one target.
func Match(grants []Grant, target string, same Same, now time.Time, tasks ...string) (Grant, bool) {
	best, rank := Grant{}, -1
	for i := range grants {
		g := &grants[i]
		r := g.rank(target, same, tasks)
		if r < 0 || !now.Before(g.Expires) {
			continue
		}
		if rank < 0 || r < rank || r == rank && g.Given.Before(best.Given) {
			best, rank = *g, r
		}
	}
	return best, rank >= 0
}

// rank returns how well a grant fits: 0 is best, and below 0 it does not fit.
func (g *Grant) rank(target string, same Same, tasks []string) int {
	bound := len(tasks)
	if g.Task != "" {
		bound = slices.Index(tasks, g.Task)
	}
	switch {
	case bound < 0 || g.Target != "" && !same(g.Target, target):
		return -1
	case g.Target == "":
		return bound + len(tasks) + 1
	}
	return bound
}

// appendGrants returns a list of grants as an array.
func appendGrants(list []Grant) []byte {
	return record.List(nil, list, (*Grant).Append)
}

func eachGrant(v record.Value, list *[]Grant) error {
	return v.Elements(func(_ int, v record.Value) error {
		g, err := DecodeGrant(v)
		*list = append(*list, g)
		return err
	})
}
