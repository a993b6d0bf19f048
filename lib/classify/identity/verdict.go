package identity

import (
	"errors"
	"iter"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// verdict is what the receiving server says of a message, read as the policy's verdict
// asks for.
type verdict struct {
	there    bool          // the receiver's field stands there: it decides, whatever it says
	results  authres.Field // zero unless the fields that count were understood, but for the id
	unusable finding       // why they were not
	unfit    bool          // that server's fields prove nothing if they are read this way
	dialect  *dialect      // of a set: how that server writes
	hosts    []string      // names and domains of the receiver's own hosts
}

// read reads the verdict about a message, as the policy's receiver asks for.
func read(m *envelope.Message, p *policy.Policy, memory *memory) verdict {
	r, ok := p.Receiver(m.Source)
	v := verdict{dialect: &ordinary, hosts: memory.hosts[:0]}
	for _, id := range r.AuthservIDs {
		v.hosts = append(v.hosts, strings.TrimPrefix(id, "*."))
	}
	memory.hosts = v.hosts
	switch {
	case !ok, r.Verdict == policy.ByNone:
		v.first(m, &policy.Receiver{}, &memory.results)
		v.unusable = finding{noPin, m.Source}
		if ok {
			v.unusable = finding{reason: verdictNone}
		}
	case r.Verdict == policy.ByMicrosoft:
		v.microsoft(m)
	case r.Verdict == policy.BySet:
		v.set(m, &r)
	default:
		v.first(m, &r, &memory.results)
	}
	return v
}

// field is an Authentication-Results field of the message.
type field struct {
	authres.Field
	id  string // so far as it could be read
	own bool   // the id is one of the receiver's
	err error
}

// resultFields yields the Authentication-Results fields from the top. believed says
// whether an id is the receiver's; the results of other fields are not read. Those of the
// first field stand in the memory.
func resultFields(m *envelope.Message, believed func(id string) bool, memory *authres.Memory) iter.Seq[field] {
	return func(yield func(field) bool) {
		for i := range m.Headers {
			is, odd := authres.Named(m.Headers[i].Name)
			if !is {
				continue
			}
			if memory == nil {
				memory = new(authres.Memory)
			}
			var f field
			f.Field, f.err = memory.Read(m.Headers[i].Value, func(id string) bool {
				f.id, f.own = id, believed(id)
				return f.own
			})
			memory = nil
			if odd {
				f.Field, f.err = authres.Field{}, authres.ErrName
			}
			if !yield(f) {
				return
			}
		}
	}
}

// first believes the topmost field. Where the receiver has several names, each of its
// servers writes one field, and a second one is not theirs.
func (v *verdict) first(m *envelope.Message, r *policy.Receiver, memory *authres.Memory) {
	v.unusable.reason = noAuthRes
	top := true
	for f := range resultFields(m, r.Believes, memory) {
		if !top && f.own {
			v.void(severalAuthRes, "there are several, and each of its servers writes one")
			return
		}
		if top {
			v.take(f)
			d := dialectOf(f.id)
			v.unfit = silent(f.id) || d.anywhere || d.grouped
		}
		if top = false; v.unusable.reason != "" || !several(r.AuthservIDs) {
			return
		}
	}
}

func several(ids []string) bool {
	return len(ids) > 1 || len(ids) == 1 && strings.HasPrefix(ids[0], "*")
}

// take makes one field the verdict.
func (v *verdict) take(f field) {
	v.there, v.results, v.unusable = f.own, f.Field, finding{}
	v.results.AuthservID = f.id
	if f.err != nil {
		v.unusable = unusable(f.err, f.id)
	}
}

// void leaves only the id of what was read.
func (v *verdict) void(r Reason, detail string) {
	v.results.Results, v.unusable = nil, finding{r, detail}
}

// unusable returns the finding for an error of package authres. A class of error that it
// does not know becomes authres_malformed.
func unusable(err error, id string) finding {
	switch {
	case errors.Is(err, authres.ErrName):
		return finding{reason: authResName}
	case errors.Is(err, authres.ErrPin):
		return finding{authservIDMismatch, id}
	case errors.Is(err, authres.ErrVersion):
		return finding{reason: authResVersion}
	case errors.Is(err, authres.ErrComment):
		return finding{reason: authResComment}
	case errors.Is(err, authres.ErrBounds):
		return finding{reason: authResBounds}
	}
	return finding{authResMalformed, strings.TrimPrefix(err.Error(), authres.ErrMalformed.Error()+": ")}
}
