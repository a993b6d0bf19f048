package decision

import (
	"fmt"

	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// Member is the name of the member that pulse-authorize owns in a record.
const Member = "decision"

// Append appends the member's value.
func (d *Decision) Append(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	d.add(&o)
	o.StrIf("policy", d.Policy)
	return o.Bytes()
}

// AppendShown appends the member's value as workers are given it, without the digest of
// the policy.
func (d *Decision) AppendShown(dst []byte) []byte {
	o := record.ObjectAfter(dst)
	d.add(&o)
	return o.Bytes()
}

func (d *Decision) add(o *record.Object) {
	o.Str("action", string(d.Action))
	o.Str("outcome", string(d.Outcome))
	o.Str("rule", d.Rule)
	o.Str("reason", string(d.Reason))
	o.StrIf("connector", string(d.Reason.Connector(d.Rule)))
	o.Str("why", d.Why)
	if len(d.Labels) > 0 {
		o.Strs("labels", words(d.Labels))
	}
	o.IntIf("count", int64(d.Count))
}

// words returns a closed list as strings.
func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// Decode reads the member. An outcome or a label that is not in its list is an error.
func Decode(v record.Value) (Decision, error) {
	var d Decision
	var words []string
	err := v.Each(record.To(
		"action", (*string)(&d.Action), "outcome", (*string)(&d.Outcome), "rule", &d.Rule,
		"reason", (*string)(&d.Reason), "why", &d.Why, "labels", &words, "count", &d.Count, "policy", &d.Policy,
	))
	if err == nil && !d.Outcome.Valid() {
		err = fmt.Errorf("outcome: %s is no outcome", d.Outcome)
	}
	if err == nil && (d.Count < 0 || d.Count > policy.MostApprovers) {
		err = fmt.Errorf("count: %d people never have to say yes", d.Count)
	}
	if err == nil {
		d.Labels, err = labels(words)
	}
	return d, err
}

// labels returns the labels of a list of words, sorted.
func labels(words []string) (list []label.Label, err error) {
	set, err := label.Set(nil).Named(words)
	for _, u := range set {
		list = append(list, u.Label)
	}
	return list, err
}
