package policy

import (
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/shared/address"
)

// Receiver says whose verdict is believed about mail of the sources that match.
type Receiver struct {
	Source      string   // * stands for anything
	AuthservIDs []string // names, and *.suffix for any name below a domain; none for microsoft and none
	Verdict     Verdict
}

// Receiver returns the receiver of a source. With [[receiver]] present only sources that
// match one have a receiver, and the keys at the top do not count. Without a name to
// believe, first and set are no receiver.
func (p *Policy) Receiver(source string) (Receiver, bool) {
	for _, r := range p.Receivers {
		if Match(r.Source, source) {
			return r, true
		}
	}
	named := len(p.AuthservIDs) > 0 || !p.Verdict.named()
	return Receiver{"*", p.AuthservIDs, p.Verdict}, len(p.Receivers) == 0 && named
}

// Believes reports whether an authserv-id is one of the receiver's. Names are compared
// byte for byte. What stands for * in *.suffix has at least one label.
func (r *Receiver) Believes(id string) bool {
	return slices.ContainsFunc(r.AuthservIDs, func(pin string) bool {
		if suffix, ok := strings.CutPrefix(pin, "*"); ok {
			return len(id) > len(suffix) && strings.HasSuffix(id, suffix) && address.Domain(id)
		}
		return id == pin
	})
}

var verdicts = []Verdict{ByFirst, BySet, ByMicrosoft, ByNone}

// named reports whether fields are believed by the name that they begin with.
func (v Verdict) named() bool { return v != ByMicrosoft && v != ByNone }

// names is the value of authserv_id: a string, or an array of them.
type names []string

// UnmarshalTOML implements unstable.Unmarshaler.
func (n *names) UnmarshalTOML(value []byte) error {
	if value[0] != '[' {
		value = slices.Concat([]byte("["), value, []byte("]"))
	}
	var doc struct{ Names []string }
	err := toml.Unmarshal(slices.Concat([]byte("names = "), value), &doc)
	*n = doc.Names
	return err
}

// receivers fills in the receiver of all sources, and the [[receiver]] tables.
func (v *validator) receivers(p *Policy, f *file) {
	all := v.receiver(receiverTable{"*", f.AuthservID, f.Verdict}, func(key, format string, args ...any) {
		v.fail(key, format, args...)
	})
	p.AuthservIDs, p.Verdict = all.AuthservIDs, all.Verdict
	for i, t := range f.Receiver {
		fail := func(key, format string, args ...any) {
			v.fail(at("receiver", i), key+" "+format, args...)
		}
		if t.Source == "" {
			fail("source", "is missing")
		}
		r := v.receiver(t, fail)
		if t.AuthservID == nil && r.Verdict.named() {
			fail("authserv_id", "is missing: name the server, or write verdict = %q", ByNone)
		}
		p.Receivers = append(p.Receivers, r)
	}
}

func (v *validator) receiver(t receiverTable, fail func(key, format string, args ...any)) Receiver {
	r := Receiver{t.Source, t.AuthservID, ByFirst}
	if t.Verdict != nil {
		r.Verdict = Verdict(*t.Verdict)
	}
	switch {
	case !slices.Contains(verdicts, r.Verdict):
		fail("verdict", "%s is none of %s", r.Verdict, join(verdicts))
	case t.AuthservID != nil && !r.Verdict.named():
		fail("authserv_id", "must not be there: verdict = %q goes by no name", r.Verdict)
	case t.AuthservID != nil && len(t.AuthservID) == 0:
		fail("authserv_id", "must not be an empty list, which believes nobody: leave the key out, or name a server")
	}
	for _, id := range t.AuthservID {
		if why := unfit(id); why != "" {
			fail("authserv_id", "%s", why)
		}
	}
	return r
}

// unfit says what is wrong with an entry of authserv_id; empty if nothing is.
func unfit(id string) string {
	suffix, pattern := strings.CutPrefix(id, "*.")
	switch {
	case !isWord(id):
		return "want one word of printable ASCII"
	case pattern && address.Domain(suffix) && strings.Contains(suffix, "."):
	case strings.Contains(id, "*"):
		return id + ": want * for names below a domain of two labels or more, as in *.example.com"
	}
	return ""
}
