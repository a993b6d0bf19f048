package envelope

import (
	"time"

	"pulse/lib/record"
)

// Webhook is `message.webhook`: what pulse-fetch found of the signature of a
// request. It holds the secret and sees the bytes; later stages do neither.
type Webhook struct {
	Result    WebhookResult
	Why       string        // what is wrong, for people; else empty
	Scheme    WebhookScheme // of the signature that was looked at, or empty
	Timestamp time.Time     // as it was signed; zero where the scheme has none or Result is malformed
	Type      string        // of the content, in lower case, by the sender's unsigned word; may be empty
}

// WebhookResult is what became of a request's signature.
type WebhookResult string

// The results. Anything but WebhookPass proves nothing.
const (
	WebhookPass      WebhookResult = "pass"
	WebhookNone      WebhookResult = "none"      // it bears no signature
	WebhookFail      WebhookResult = "fail"      // no secret makes the signature it bears
	WebhookLate      WebhookResult = "late"      // good, but made at another time than it came
	WebhookMalformed WebhookResult = "malformed" // it can't be read
)

// WebhookScheme is how a request is signed.
type WebhookScheme string

// The schemes.
const (
	WebhookStandard WebhookScheme = "standard" // Standard Webhooks, v1
	WebhookPlain    WebhookScheme = "plain"    // X-Pulse-Signature
)

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

// field keeps unknown results: none but pass proves anything.
func (w *Webhook) field(name string, v record.Value) error {
	switch name {
	case "result":
		return v.Into((*string)(&w.Result))
	case "why":
		return v.Into(&w.Why)
	case "scheme":
		return v.Into((*string)(&w.Scheme))
	case "timestamp":
		return v.Into(&w.Timestamp)
	case "type":
		return v.Into(&w.Type)
	}
	return nil
}
