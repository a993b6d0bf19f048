package identity

import (
	"errors"

	"pulse/lib/classify/authres"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// NeedsDKIM reports whether the policy makes a decision about the message depend on
// message.dkim. With evidence = "either" it does only if there is no verdict to believe.
// It looks at source and header fields alone.
func NeedsDKIM(m *envelope.Message, p *policy.Policy) bool {
	if isRequest(m) || p.Platform(m.Source) != nil {
		return false
	}
	if p.Evidence != policy.ByEither {
		return p.Evidence != policy.ByAuthRes
	}
	r, ok := p.Receiver(m.Source)
	_, err := authres.FirstOf(m.Fields, r.Believes)
	return !ok || errors.Is(err, authres.ErrNone) || errors.Is(err, authres.ErrPin)
}
