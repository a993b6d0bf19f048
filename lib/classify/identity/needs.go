package identity

import (
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// NeedsDKIM reports whether the policy makes a decision about the message depend on
// message.dkim. With evidence = "either" it does only if there is no verdict to believe.
// It looks at source and header fields alone.
func NeedsDKIM(m *envelope.Message, p *policy.Policy) bool {
	if isRequest(m) || p.Platform(m.Source) != nil {
		return false
	}
	v := read(m, p, new(memory))
	return v.evidence(p) != policy.ByAuthRes
}

// Listed reports whether the policy lists the sender that From names, so that a proof would
// change what the message may ask for.
func Listed(m *envelope.Message, p *policy.Policy) bool {
	h := collect(m)
	from, _ := h.sender()
	return trust(p, from.Address, true) != terms.Unknown
}

// evidence returns what proves the sender of this message: never "either".
func (v *verdict) evidence(p *policy.Policy) policy.Evidence {
	switch {
	case p.Evidence != policy.ByEither:
		return p.Evidence
	case v.there:
		return policy.ByAuthRes
	}
	return policy.ByDKIM
}
