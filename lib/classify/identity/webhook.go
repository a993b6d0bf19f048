package identity

import (
	"strings"

	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
	"pulse/lib/shared/trace"
)

// request returns the identity of an HTTP request. Its sender is the source, proven by
// a signature with that source's secret, and trusted as the policy says; or, if a platform
// signed it, whoever the platform names. The header is not looked at, because anyone could
// write From and Authentication-Results into one.
func request(log *trace.Log, m *envelope.Message, p *policy.Policy) Identity {
	id := Identity{Sender: m.Source, Trust: terms.Unknown, Stale: late(m, p.MaxAge)}
	found := first(m, log, requestChecks[:])
	if found.reason == "" {
		pl := p.Platform(m.Source)
		switch {
		case pl == nil:
			id.Verified, found = true, finding{webhookUndeclared, m.Source}
		case m.Webhook.Scheme.Platform():
			return platform(log, m, p, pl)
		case pl.Trust == "":
			found = finding{platformNoSender, m.Source}
		default:
			id.Verified, id.Trust, found = true, pl.Trust, finding{webhookSigned, m.Source}
		}
	}
	id.Reason, id.Why = found.reason, found.reason.sentence(found.detail)
	if log != nil {
		noteSource(log, m, p, &id)
	}
	return id
}

// requestChecks are what an HTTP request has to pass.
var requestChecks = [...]check[*envelope.Message]{
	{"intact", intact, sawDefects, nil},
	{"signature", signed, sawWebhook, nil},
}

// isRequest reports whether a message is an HTTP request. Either its source or what
// pulse-fetch found suffices, so that an error in one of them can't let it pass for mail.
func isRequest(m *envelope.Message) bool {
	return m.Webhook != nil || strings.HasPrefix(m.Source, policy.WebhookPrefix)
}

// signed reports why the signature of a request does not prove it.
func signed(m *envelope.Message) finding {
	w := m.Webhook
	switch {
	case w == nil || !strings.HasPrefix(m.Source, policy.WebhookPrefix):
		return finding{reason: webhookUnchecked}
	case w.Result == envelope.WebhookPass:
		return finding{}
	case w.Result == envelope.WebhookNone:
		return finding{reason: webhookUnsigned}
	case w.Result == envelope.WebhookFail:
		return finding{webhookSignature, w.Why}
	case w.Result == envelope.WebhookLate:
		return finding{webhookTime, w.Why}
	}
	return finding{webhookMalformed, w.Why}
}
