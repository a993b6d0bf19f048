package identity

import (
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// signature holds what a dkim result says about one signature (RFC 6376, RFC 8601
// §2.7.1).
type signature struct {
	value  string  // pass, fail, …; empty: there is no dkim result
	domain string  // of the signer: header.d, else the domain of header.i
	flaw   finding // why it proves nothing
}

// flaws ranks what can be wrong with a signature: the one closest to a proof comes
// first, and is the one reported. The empty reason means that the signature has no flaw.
var flaws = []Reason{"", dkimOtherUser, dkimAmbiguous, dkimNotAligned, dkimUnbound, dkimFail}

// closest returns the signature that proves most. Mail may bear several, and a single
// good one suffices.
func (e *evidence) closest() (best signature) {
	least := len(flaws)
	for i := range e.results.Results {
		r := &e.results.Results[i]
		if r.Method != "dkim" {
			continue
		}
		s := e.signed(r)
		if rank := slices.Index(flaws, s.flaw.reason); rank < least {
			best, least, e.best = s, rank, r
		}
	}
	return best
}

// flawOf returns why a result proves nothing, and does not judge the closest one again.
func (e *evidence) flawOf(r *authres.Result) finding {
	if r == e.best {
		return e.signature.flaw
	}
	return e.signed(r).flaw
}

// signed judges one dkim result. header.i counts even where header.d decides the
// domain. It must lie within d (RFC 6376 §3.5), and a user that it names must be the
// sender, or one tenant of a domain could speak for another.
func (e *evidence) signed(r *authres.Result) signature {
	d, nd := r.Prop("header", "d")
	i, ni := r.Prop("header", "i")
	_, nfrom := r.Prop("header", "from")
	user, domain, plain := strings.Cut(i, "@")
	s := signature{value: r.Value, domain: domain}
	if nd == 1 {
		s.domain = d
	}
	switch {
	case r.Value != "pass":
		s.flaw = finding{dkimFail, r.Value}
	case nd > 1 || ni > 1 || nfrom > 1:
		s.flaw = finding{dkimAmbiguous, "a property appears twice"}
	case commented(r):
		s.flaw = finding{dkimAmbiguous, "a comment follows the domain and may be a part of it"}
	case ni == 1 && (!plain || strings.IndexByte(domain, '@') >= 0):
		s.flaw = finding{dkimAmbiguous, "header.i is not user@domain"}
	case nd == 1 && ni == 1 && !within(domain, d):
		s.flaw = finding{dkimAmbiguous, "header.i lies outside header.d"}
	case nd == 0 && ni == 0:
		if e.p.DKIMAlignment != policy.Any && !(e.bare && len(r.Props) == 0) {
			s.flaw = finding{reason: dkimUnbound}
		}
	case !aligned(s.domain, e.from.Domain, e.p.DKIMAlignment):
		s.flaw = finding{dkimNotAligned, s.domain}
	case user != "" && !(address.Equal(user, e.from.Local) && address.Equal(domain, e.from.Domain)):
		s.flaw = finding{dkimOtherUser, i}
	}
	return s
}

// allAligned reports whether every signature that the message carries is aligned with
// From, so that it does not matter which of them is the good one.
func (e *evidence) allAligned() bool {
	fields := e.dkimFields()
	return len(fields) > 0 && !slices.ContainsFunc(fields, func(m dkimField) bool {
		return !aligned(m.d, e.from.Domain, e.p.DKIMAlignment)
	})
}

// commented reports whether a comment follows header.d or header.i.
func commented(r *authres.Result) bool {
	return slices.ContainsFunc(r.Props, func(p authres.Prop) bool {
		return p.Comment && p.Type == "header" && (p.Name == "d" || p.Name == "i")
	})
}

// aligned compares the domain of a signature with that of From. Relaxed accepts parent
// and child as well, except a parent of one label, which is a top-level domain. There
// is no list of public suffixes here, so co.example would count for all its tenants.
// That is why strict is the default.
func aligned(signer, from string, how policy.Alignment) bool {
	switch how {
	case policy.Any:
		return true
	case policy.Relaxed:
		return nearby(signer, from)
	}
	return address.Equal(signer, from)
}

func nearby(signer, from string) bool {
	return parentOf(signer, from) || parentOf(from, signer) || address.Equal(signer, from)
}

func parentOf(parent, child string) bool {
	return strings.IndexByte(parent, '.') > 0 && within(child, parent)
}

// within reports whether domain is parent or a name below it.
func within(domain, parent string) bool {
	n := len(domain) - len(parent)
	if n <= 0 {
		return n == 0 && address.Equal(domain, parent)
	}
	return parent != "" && domain[n-1] == '.' && address.Equal(domain[n:], parent)
}
