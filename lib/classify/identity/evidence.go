package identity

import (
	"slices"
	"strings"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/address"
)

// fit refuses a server that is silent about some mail, or, where the topmost field
// decides, one that writes below the sender's fields.
func (e *evidence) fit() finding {
	if e.unfit {
		return finding{verdictUnfit, e.results.AuthservID}
	}
	return finding{}
}

func (e *evidence) usable() finding {
	if e.unusable.reason == noAuthRes && e.internal() {
		return finding{selfSent, e.from.Domain}
	}
	return e.unusable
}

// internal reports whether the header says that an owner wrote to the owner's own
// domain. Such mail often gets no verdict. This changes the advice and nothing else.
func (e *evidence) internal() bool {
	list, _ := e.header.recipients(nil)
	return isOwner(e.p, e.from.Address) && slices.ContainsFunc(list, func(to string) bool {
		_, domain, err := address.Split(to)
		return err == nil && address.Equal(domain, e.from.Domain)
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

// dmarc demands exactly one dmarc result, a pass, about the domain of From (RFC 9989
// §9.1). With two of them nothing is proven, whatever they say: the receiver writes
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
	case "none", "unknown", "bestguesspass": // unknown: Yahoo
		return finding{dmarcNone, r.Value}
	case "temperror", "permerror":
		return finding{dmarcError, r.Value}
	}
	return finding{DMARCFail, r.Value}
}

// bound demands that the result is about the domain that From shows.
func (e *evidence) bound(r *authres.Result) finding {
	from, n := r.Prop("header", "from")
	want := e.from.Domain
	if e.dialect.address {
		want = e.from.Address
	}
	switch {
	case n != 1:
		return finding{reason: dmarcUnbound}
	case address.Equal(from, want):
		return finding{}
	case strings.IndexByte(from, '@') >= 0 && !e.dialect.address:
		return finding{dmarcAddress, from}
	}
	return finding{dmarcOtherDomain, from}
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
