package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// Expected is what the `decision` of a record says that a policy has to make of it, those of
// action, outcome, rule, reason, connector and labels that are there, and what its `follows` says that
// follows besides (decision.Follows.Say).
type Expected map[string]string

// compared are the members of a decision that are compared, in the order in which they
// are shown. why is for people, and policy names the file that decided then.
var (
	compared = []string{"action", "outcome", "rule", "reason", "connector", "labels"}
	ignored  = []string{"why", "policy"}
)

// following are the words of `follows`.
var following = func() []string {
	list := []string{"trust", decision.TextAspect, "caps", decision.GrantsAspect}
	for _, l := range label.All {
		list = append(list, string(l))
	}
	for _, a := range terms.Actions {
		list = append(list, "effect."+string(a))
	}
	return append(list, "targets", "owner_only")
}()

// errExpected is what is wrong with a record that expects nothing: it could not fail.
var errExpected = fmt.Errorf("it expects nothing: want one of %s", strings.Join(compared, ", "))

// Expect reads what a record expects. A member that a decision does not have is an error,
// because a misspelled one would be compared with nothing.
func Expect(rec *record.Record) (Expected, error) {
	e := Expected{}
	var err error
	if rec.Has(decision.FollowsMember) {
		err = rec.Decode(decision.FollowsMember, e.follows)
	}
	if err == nil {
		err = rec.Decode(decision.Member, e.decision)
	}
	return e, err
}

// decision reads what is expected of a decision.
func (e Expected) decision(v record.Value) error {
	err := v.Each(func(name string, v record.Value) error {
		if !slices.Contains(compared, name) {
			if !slices.Contains(ignored, name) {
				return errors.New("a decision has no such member")
			}
			return nil
		}
		value, err := valueOf(name, v)
		if e[name] = value; err == nil && name == "outcome" && !terms.Outcome(value).Valid() {
			err = fmt.Errorf("%s is no outcome", value)
		}
		return err
	})
	if err == nil && len(e) == 0 {
		err = errExpected
	}
	return err
}

// follows reads what is expected to follow.
func (e Expected) follows(v record.Value) error {
	return v.Each(func(name string, v record.Value) (err error) {
		if !slices.Contains(following, name) {
			return fmt.Errorf("want one of %s", strings.Join(following, ", "))
		}
		e[name], err = v.String()
		return err
	})
}

// valueOf returns the value of a member as one string.
func valueOf(name string, v record.Value) (value string, err error) {
	if name != "labels" {
		return v.String()
	}
	var list []string
	err = v.Into(&list)
	return strings.Join(list, ", "), err
}

// Differs says of each member of a decision that is not as expected what it is.
func (e Expected) Differs(a *Answer) (list []string) {
	d := &a.Decision
	var labels []string
	for _, l := range d.Labels {
		labels = append(labels, string(l))
	}
	got := map[string]string{
		"action": string(d.Action), "outcome": string(d.Outcome), "rule": d.Rule, "reason": string(d.Reason), "connector": string(d.Reason.Connector(d.Rule)),
		"labels": strings.Join(labels, ", "),
	}
	for _, s := range d.Say() {
		got[s.Name] = s.Value
	}
	for _, name := range slices.Concat(compared, following) {
		if want, there := e[name]; there && want != got[name] {
			list = append(list, fmt.Sprintf("%s: expected %s, got %s", name, want, cmp.Or(got[name], "nothing")))
		}
	}
	return list
}
