package identity

import (
	"errors"
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// selected returns the one Authentication-Results field that counts. If the field
// can't be used, the result holds its id alone, so far as that was read.
func selected(m *envelope.Message, p *policy.Policy) (authres.Field, finding) {
	r, pinned := p.Receiver(m.Source)
	field, err := authres.FirstOf(m.Fields, r.Believes)
	if other := (*authres.PinError)(nil); errors.As(err, &other) {
		field.AuthservID = other.ID
	}
	switch {
	case !pinned, r.Verdict != policy.ByFirst:
		return field, finding{noPin, m.Source}
	case err != nil:
		return field, unusable(err, field.AuthservID)
	}
	return field, finding{}
}

// unusable returns the finding for an error of authres.First. A class of error that it
// does not know becomes authres_malformed.
func unusable(err error, id string) finding {
	switch {
	case errors.Is(err, authres.ErrNone):
		return finding{reason: noAuthRes}
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

// receiver demands what the receiving server must have said.
func (e *evidence) receiver() finding {
	if e.p.Evidence == policy.ByDKIM {
		return finding{}
	}
	return first(e, (*evidence).usable, (*evidence).dmarc, (*evidence).dkim, (*evidence).carried, (*evidence).posted)
}

func (e *evidence) usable() finding {
	if e.unusable.reason == noAuthRes && e.internal() {
		return finding{selfSent, e.from.domain}
	}
	return e.unusable
}

// internal reports whether the header says that an owner wrote to the owner's own
// domain. Such mail often gets no verdict. This changes the advice and nothing else.
func (e *evidence) internal() bool {
	list, _ := e.header.recipients()
	return isOwner(e.p, e.from.address) && slices.ContainsFunc(list, func(to string) bool {
		_, domain, err := address.Split(to)
		return err == nil && address.Equal(domain, e.from.domain)
	})
}

// only counts the results of a method, and returns the result if there is exactly one.
func (e *evidence) only(method string) (only *authres.Result, n int) {
	for i := range e.results.Results {
		if r := &e.results.Results[i]; r.Method == method {
			only = r
			n++
		}
	}
	if n != 1 {
		return nil, n
	}
	return only, 1
}

// dmarc demands exactly one dmarc result, a pass, about the domain of From (RFC 7489
// §11.1). With two of them nothing is proven, whatever they say: the receiver writes
// one, so another author wrote the other.
func (e *evidence) dmarc() finding {
	r, n := e.only("dmarc")
	switch {
	case n == 0:
		return finding{reason: noDMARC}
	case n > 1:
		return finding{reason: severalDMARC}
	}
	switch r.Value {
	case "pass":
		return e.bound(r)
	case "none", "bestguesspass":
		return finding{dmarcNone, r.Value}
	case "temperror", "permerror":
		return finding{dmarcError, r.Value}
	}
	return finding{DMARCFail, r.Value}
}

// bound demands that the result is about the domain that From shows.
func (e *evidence) bound(r *authres.Result) finding {
	from, n := r.Prop("header", "from")
	switch {
	case n != 1:
		return finding{reason: dmarcUnbound}
	case strings.IndexByte(from, '@') >= 0:
		return finding{dmarcAddress, from}
	case !address.Equal(from, e.from.domain):
		return finding{dmarcOtherDomain, from}
	}
	return finding{}
}

// dkim demands one dkim=pass that is aligned with From.
func (e *evidence) dkim() finding {
	if e.signature.value == "" {
		return finding{reason: noDKIM}
	}
	return e.signature.flaw
}

// understood returns what the field says, verified or not, so that people and tools
// can find out why.
func (e *evidence) understood() Auth {
	a := Auth{
		AuthservID: clip(e.results.AuthservID),
		DKIM:       clip(e.signature.value),
		DKIMDomain: clip(e.signature.domain),
	}
	for i := range e.results.Results {
		if r := &e.results.Results[i]; r.Method == "spf" { // one for HELO may follow
			a.SPF = clip(r.Value)
			break
		}
	}
	if r, _ := e.only("dmarc"); r != nil {
		a.DMARC = clip(r.Value)
		from, _ := r.Prop("header", "from")
		a.HeaderFrom = clip(from)
	}
	return a
}
