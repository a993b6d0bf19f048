package identity

import (
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// set believes all fields of the receiver together, wherever they stand. A receiver that
// writes its fields on every mail leaves a forger no place: a forged field makes one too
// many. What is one too many, the dialect says.
func (v *verdict) set(m *envelope.Message, r *policy.Receiver) {
	var own []field
	var lead *field
	for f := range resultFields(m, func(id string) bool { return r.Believes(id) && dialectOf(id).has(id) }, nil) {
		if f.own {
			own = append(own, f)
		}
		if lead == nil {
			lead = &f
		}
	}
	if v.unusable.reason = noAuthRes; lead == nil {
		return
	}
	if v.take(*lead); len(own) == 0 {
		return
	}
	if v.dialect = dialectOf(own[0].id); !lead.own && !v.dialect.anywhere {
		return
	}
	v.unfit = silent(own[0].id)
	if v.dialect.inside != "" {
		v.hosts = append(v.hosts, v.dialect.inside)
	}
	v.merge(own)
	if what := v.dialect.unlike(own, m); v.unusable.reason == "" && what != "" {
		v.void(severalAuthRes, what)
	}
}

// merge makes all own fields one. One of them that can't be read voids the rest.
func (v *verdict) merge(own []field) {
	v.take(own[0])
	for i := range own[1:] {
		f := &own[i+1]
		if v.unusable.reason == "" && f.err != nil {
			v.results.Results, v.unusable = nil, unusable(f.err, f.id)
		}
		if v.unusable.reason == "" {
			v.results.Results = append(v.results.Results, f.Results...)
		}
	}
}
