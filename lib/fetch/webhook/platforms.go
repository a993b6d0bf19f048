package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"encoding/hex"
	"strings"
	"time"

	"pulse/lib/shared/envelope"
)

// platform is how the requests of a platform are signed, and what its bodies say.
type platform struct {
	word      envelope.WebhookScheme // begins its lines in the file of secrets
	signature string                 // the field
	timestamp string                 // the field that is signed too; empty: there is none
	key       func(line string) (key []byte, ok bool)
	want      string // what key takes, for people
	good      func(key []byte, signature, timestamp, body string) bool
	events    []event
}

// platforms are all that are known. Each is one row here and its events in events.go.
var platforms = [...]platform{{
	word: envelope.WebhookGitHub, signature: "x-hub-signature-256",
	key: secret, want: "24 to 256 printable characters",
	good: func(key []byte, signature, _, body string) bool {
		return same("sha256="+hex.EncodeToString(sum(key, body)), signature)
	},
	events: githubEvents,
}, {
	word: envelope.WebhookSlack, signature: "x-slack-signature", timestamp: "x-slack-request-timestamp",
	key: secret, want: "24 to 256 printable characters, the signing secret",
	good: func(key []byte, signature, timestamp, body string) bool {
		return same("v0="+hex.EncodeToString(sum(key, "v0:", timestamp, ":", body)), signature)
	},
	events: slackEvents,
}, {
	word: envelope.WebhookTelegram, signature: "x-telegram-bot-api-secret-token",
	key: token256, want: "24 to 256 letters, digits, _ and -",
	good: func(key []byte, signature, _, _ string) bool { // it covers nothing: whoever saw one can make others
		return same(string(key), signature)
	},
	events: telegramEvents,
}, {
	word: envelope.WebhookDiscord, signature: "x-signature-ed25519", timestamp: "x-signature-timestamp",
	key: publicKey, want: "64 hexadecimal digits, the public key",
	good: func(key []byte, signature, timestamp, body string) bool {
		sig, err := hex.DecodeString(signature)
		return err == nil && ed25519.Verify(key, []byte(timestamp+body), sig)
	},
	events: discordEvents,
}}

// platformOf returns the platform that a line of secrets names, or nil, and the rest of it.
func platformOf(line string) (*platform, string) {
	word, secret, ok := strings.Cut(line, " ")
	for i := range platforms {
		if ok && word == string(platforms[i].word) {
			return &platforms[i], secret
		}
	}
	return nil, ""
}

func secret(s string) ([]byte, bool) {
	ok := len(s) >= leastKey && len(s) <= mostPlain && s[0] != ' ' && s[len(s)-1] != ' '
	return []byte(s), ok && visible(strings.ReplaceAll(s, " ", ""))
}

// token256 reads a token of Telegram's, which would allow fewer characters.
func token256(s string) ([]byte, bool) {
	return []byte(s), len(s) >= leastKey && len(s) <= mostPlain && only(s, "_-")
}

func publicKey(s string) ([]byte, bool) {
	key, err := hex.DecodeString(s)
	return key, err == nil && len(key) == ed25519.PublicKeySize
}

// same reports whether two texts are equal, and takes equally long wherever they differ.
func same(want, got string) bool { return hmac.Equal([]byte(want), []byte(got)) }

// verifyPlatform judges the signature of the platform whose secrets these are, and no other
// field. It tries every secret.
func (r *Request) verifyPlatform(w *envelope.Webhook, k Keys, received time.Time) {
	p := k.platform
	signature := r.values[p.signature]
	if signature == "" {
		return
	}
	w.Scheme = p.word
	if p.timestamp != "" {
		at, ok := timestamp(r.values[p.timestamp])
		if !ok {
			w.Result, w.Why = envelope.WebhookMalformed, p.timestamp+" is not a number of seconds"
			return
		}
		w.Timestamp = at
	}
	good := false
	for _, key := range k.keys {
		match := p.good(key, signature, r.values[p.timestamp], string(r.Body))
		good = good || match
	}
	conclude(w, good, p.signature, len(k.keys), received)
}
