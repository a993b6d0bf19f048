package envelope

import (
	"time"

	"pulse/lib/shared/record"
)

// Webhook is `message.webhook`: what pulse-fetch found out about the signature of a
// request. pulse-fetch holds the secret and sees the bytes; later stages do neither.
type Webhook struct {
	Result    WebhookResult
	Why       string        // what is wrong, for people; else empty
	Scheme    WebhookScheme // of the signature that was looked at, or empty
	Timestamp time.Time     // as it was signed, or of the message; zero where there is none or Result is malformed
	Type      string        // of the content, in lower case; the sender says so, unsigned; may be empty
}

// WebhookResult is what became of a request's signature.
type WebhookResult string

// The results. Only WebhookPass proves anything.
const (
	WebhookPass      WebhookResult = "pass"
	WebhookNone      WebhookResult = "none"      // the request bears no signature
	WebhookFail      WebhookResult = "fail"      // no secret makes the signature that it bears
	WebhookLate      WebhookResult = "late"      // good, but signed at another time than it arrived
	WebhookMalformed WebhookResult = "malformed" // the request can't be read
)

// WebhookScheme is how a request is signed.
type WebhookScheme string

// The schemes.
const (
	WebhookStandard WebhookScheme = "standard" // Standard Webhooks, v1
	WebhookPlain    WebhookScheme = "plain"    // X-Pulse-Signature
	WebhookGitHub   WebhookScheme = "github"   // X-Hub-Signature-256
	WebhookSlack    WebhookScheme = "slack"    // X-Slack-Signature, v0
	WebhookTelegram WebhookScheme = "telegram" // X-Telegram-Bot-Api-Secret-Token
	WebhookDiscord  WebhookScheme = "discord"  // X-Signature-Ed25519
)

// Platform reports whether the scheme is that of a platform, which has many senders and
// names one in each request. A scheme of a later version is taken for one, because no sender
// is trusted without being listed.
func (s WebhookScheme) Platform() bool {
	return s != "" && s != WebhookStandard && s != WebhookPlain
}

func (w *Webhook) bytes() []byte {
	var o record.Object
	o.Str("result", string(w.Result))
	o.StrIf("why", w.Why)
	o.StrIf("scheme", string(w.Scheme))
	if !w.Timestamp.IsZero() {
		o.Time("timestamp", w.Timestamp)
	}
	o.StrIf("type", w.Type)
	return o.Bytes()
}

// field keeps unknown results, because only pass proves anything.
func (w *Webhook) decode(v record.Value) error {
	return v.Each(record.To(
		"result", (*string)(&w.Result), "why", &w.Why, "scheme", (*string)(&w.Scheme),
		"timestamp", &w.Timestamp, "type", &w.Type,
	))
}
