package identity

import (
	"strings"

	"pulse/lib/envelope"
	"pulse/lib/policy"
	"pulse/lib/terms"
)

// request returns the identity of an HTTP request: its sender is the source, proven
// by a signature with that source's secret, and trusted as the policy says. Nothing
// of a header is looked at, for anybody could write From and
// Authentication-Results into one.
func request(m *envelope.Message, p *policy.Policy) Identity {
	id := Identity{Sender: m.Source, Trust: terms.Unknown, Stale: late(m, p.MaxAge)}
	found := signed(m)
	if found.reason == "" {
		id.Verified = true
		found = finding{WebhookUndeclared, m.Source}
		if pl := p.Platform(m.Source); pl != nil {
			id.Trust, found = pl.Trust, finding{WebhookSigned, m.Source}
		}
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	return id
}

// isRequest reports whether a message is an HTTP request: by its source or by what
// pulse-fetch found, so that no slip of either lets it pass for mail.
func isRequest(m *envelope.Message) bool {
	return m.Webhook != nil || strings.HasPrefix(m.Source, policy.WebhookPrefix)
}

// signed reports what keeps the signature of a request from proving it.
func signed(m *envelope.Message) finding {
	if d := m.Unverifiable(); d != "" {
		return finding{Defective, string(d)}
	}
	w := m.Webhook
	switch {
	case w == nil || !strings.HasPrefix(m.Source, policy.WebhookPrefix):
		return finding{reason: WebhookUnchecked}
	case w.Result == envelope.WebhookPass:
		return finding{}
	case w.Result == envelope.WebhookNone:
		return finding{reason: WebhookUnsigned}
	case w.Result == envelope.WebhookFail:
		return finding{WebhookSignature, w.Why}
	case w.Result == envelope.WebhookLate:
		return finding{WebhookTime, w.Why}
	}
	return finding{WebhookMalformed, w.Why}
}
