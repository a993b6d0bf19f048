package webhook

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/envelope"
)

// The example with which the reference implementations of Standard Webhooks 1.0.0 are
// tested.
const (
	specSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	specID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	specTime      = 1614265330
	specBody      = `{"test": 2432232314}`
	specSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	wrong         = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	plainSecret   = "0123456789abcdef0123456789abcdef"
)

func keys(t testing.TB, lines ...string) Keys {
	t.Helper()
	k, err := ParseKeys([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// standard returns a request with the fields of Standard Webhooks, except those whose value
// is empty.
func standard(id, at, signature, body string) string {
	var b strings.Builder
	for _, f := range [][2]string{{"webhook-id", id}, {"Webhook-Timestamp", at}, {"WEBHOOK-SIGNATURE", signature}} {
		if f[1] != "" {
			fmt.Fprintf(&b, "%s: %s\r\n", f[0], f[1])
		}
	}
	return b.String() + "\r\n" + body
}

func TestStandard(t *testing.T) {
	const at = "1614265330"
	unprefixed, _ := strings.CutPrefix(specSecret, prefix)
	key, err := base64.StdEncoding.DecodeString(unprefixed)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(id, at, body string) string {
		return "v1," + base64.StdEncoding.EncodeToString(sum(key, id+"."+at+"."+body))
	}
	const pass, none, fail, late, malformed = envelope.WebhookPass, envelope.WebhookNone, envelope.WebhookFail, envelope.WebhookLate, envelope.WebhookMalformed
	for _, c := range []struct {
		name, request string
		came          int64 // seconds from the timestamp
		want          envelope.WebhookResult
	}{
		{"the example", standard(specID, at, specSignature, specBody), 0, pass},
		{"a wrong signature", standard(specID, at, wrong, specBody), 0, fail},
		{"half a signature", standard(specID, at, "v1,", specBody), 0, fail},
		{"no version", standard(specID, at, specSignature[3:], specBody), 0, fail},
		{"another version", standard(specID, at, "v2,"+specSignature[3:], specBody), 0, fail},
		{"asymmetric", standard(specID, at, "v1a,"+specSignature[3:], specBody), 0, fail},
		{"several signatures", standard(specID, at, wrong+" v2,x "+specSignature+" "+wrong, specBody), 0, pass},
		{"one too many", standard(specID, at, strings.Repeat(wrong+" ", 32)+specSignature, specBody), 0, malformed},
		{"no id", standard("", at, specSignature, specBody), 0, malformed},
		{"no timestamp", standard(specID, "", specSignature, specBody), 0, malformed},
		{"no signature", standard(specID, at, "", specBody), 0, none},
		{"another id", standard(specID+"x", at, specSignature, specBody), 0, fail},
		{"another body", standard(specID, at, specSignature, specBody+"\n"), 0, fail},
		{"another timestamp", standard(specID, "1614265331", specSignature, specBody), 0, fail},
		{"five minutes late", standard(specID, at, specSignature, specBody), 300, pass},
		{"a second more", standard(specID, at, specSignature, specBody), 301, late},
		{"five minutes early", standard(specID, at, specSignature, specBody), -300, pass},
		{"a second more", standard(specID, at, specSignature, specBody), -301, late},
		{"an id with a full stop", standard("a.1", at, sign("a.1", at, specBody), specBody), 0, malformed},
		{"signed with a sign", standard("a", "+1614265330", sign("a", "+1614265330", "{}"), "{}"), 0, malformed},
		{"signed with a zero", standard("a", "01614265330", sign("a", "01614265330", "{}"), "{}"), 0, malformed},
		{"signed with a blank", standard("a", "16142 65330", sign("a", "16142 65330", "{}"), "{}"), 0, malformed},
		{"signed in milliseconds", standard("a", "1614265330000", sign("a", "1614265330000", "{}"), "{}"), 0, malformed},
		{"an empty body", standard("a", at, sign("a", at, ""), ""), 0, pass},
		{"bytes that are no text", standard("a", at, sign("a", at, "\xff\x00\r\n"), "\xff\x00\r\n"), 0, pass},
		{"the largest body", standard("a", at, sign("a", at, strings.Repeat("x", MaxBody)), strings.Repeat("x", MaxBody)), 0, pass},
		{"a byte more", standard("a", at, sign("a", at, strings.Repeat("x", MaxBody+1)), strings.Repeat("x", MaxBody+1)), 0, malformed},
		{"a request line", "POST /hook HTTP/1.1\r\n" + standard(specID, at, specSignature, specBody), 0, pass},
		{"LF", strings.Replace(strings.ReplaceAll(standard(specID, at, specSignature, ""), "\r", ""), "\n\n", "\n\n"+specBody, 1), 0, pass},
		{"blanks around values", "webhook-id:" + specID + "  \r\nwebhook-timestamp:\t" + at + "\r\nwebhook-signature: " + specSignature + "\r\n\r\n" + specBody, 0, pass},
		{"an id twice", "webhook-id: " + specID + "\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"an empty id first", "webhook-id:\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"a blank before the colon", "x : y\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"folding", "x: y\r\n z\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"a bare CR", "x: y\rz\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"too many fields", strings.Repeat("x: y\r\n", 200) + standard(specID, at, specSignature, specBody), 0, malformed},
		{"too much header", "x: " + strings.Repeat("y", MaxHeader) + "\r\n" + standard(specID, at, specSignature, specBody), 0, malformed},
		{"no end of the header", "webhook-id: x", 0, malformed},
		{"nothing", "", 0, malformed},
		{"a good X-Pulse-Signature does not help", "X-Pulse-Signature: " + plainSignature(specBody) + "\r\n" + standard(specID, at, wrong, specBody), 0, fail},
	} {
		w := Read([]byte(c.request)).Verify(keys(t, specSecret, plainSecret), time.Unix(specTime+c.came, 999))
		if w.Result != c.want || (w.Why == "") != (w.Result == pass || w.Result == none) {
			t.Errorf("%s: %+v, want %s", c.name, w, c.want)
		}
	}
}

func plainSignature(body string) string { return hex.EncodeToString(sum([]byte(plainSecret), body)) }

func TestPlain(t *testing.T) {
	const body = "disk full"
	good := plainSignature(body)
	k := keys(t, specSecret, "another-secret-of-that-scheme", plainSecret)
	for _, c := range []struct {
		name, value string
		want        envelope.WebhookResult
	}{
		{"good", good, envelope.WebhookPass},
		{"upper case", strings.ToUpper(good), envelope.WebhookPass},
		{"of another body", plainSignature("disk"), envelope.WebhookFail},
		{"half of it", good[:32], envelope.WebhookMalformed},
		{"with a prefix", "sha256=" + good, envelope.WebhookMalformed},
	} {
		w := Read([]byte("x-pulse-signature: "+c.value+"\n\n"+body)).Verify(k, time.Unix(0, 0))
		if w.Result != c.want || w.Scheme != envelope.WebhookPlain {
			t.Errorf("%s: %+v, want %s", c.name, w, c.want)
		}
	}
}

// TestSchemesAreApart: a signature of one scheme is not good under the other, even if a
// sender has the same secret for both.
func TestSchemesAreApart(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString(specSecret[len(prefix):])
	if err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf("%s.%d.%s", specID, specTime, specBody)
	signed := Read([]byte("X-Pulse-Signature: " + hex.EncodeToString(sum(key, content)) + "\n\n" + content))
	if w := signed.Verify(keys(t, specSecret), time.Unix(specTime, 0)); w.Result != envelope.WebhookFail {
		t.Errorf("%+v", w)
	}
	raw := base64.StdEncoding.EncodeToString(sum([]byte(plainSecret), content))
	signed = Read([]byte(standard(specID, fmt.Sprint(specTime), "v1,"+raw, specBody)))
	if w := signed.Verify(keys(t, plainSecret), time.Unix(specTime, 0)); w.Result != envelope.WebhookFail {
		t.Errorf("%+v", w)
	}
}

// TestMessageID: a task is named by what is signed, the id of Standard Webhooks or the body
// of the other scheme, whatever else the sender of a copy puts in.
func TestMessageID(t *testing.T) {
	id := func(request string) string { return Read([]byte(request)).MessageID() }
	if got := id(standard(specID, "1", specSignature, specBody)); got != specID {
		t.Error(got)
	}
	a, b := id("x-pulse-signature: 00\nwebhook-id: a\n\nbody"), id("webhook-id: b\nx-pulse-signature: 00\n\nbody")
	if a != b || a != digest([]byte("body")) {
		t.Error(a, b)
	}
	if got := id("webhook-id: a b\nwebhook-signature: v1,x\n\nbody"); got != digest([]byte("body")) {
		t.Error(got)
	}
}

func TestParseKeys(t *testing.T) {
	whsec := func(n int) string { return prefix + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for _, c := range []struct {
		name, file, want string // want: part of the error, or empty
	}{
		{"both schemes, blank lines, CRLF", "\r\n" + specSecret + "\r\n\n" + plainSecret, ""},
		{"the shortest and the longest", whsec(24) + "\n" + whsec(64), ""},
		{"too short", whsec(23), "line 1: want whsec_"},
		{"too long", plainSecret + "\n" + whsec(65), "line 2: want whsec_"},
		{"no base64", "whsec_!", "line 1: want whsec_"},
		{"bits at the end", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAB==", "line 1: want whsec_"},
		{"a public key", "whpk_dGVzdA==", "v1a"},
		{"a short one", "hunter2", "want 24 to 256"},
		{"a blank in it", "correct horse battery staple", "want 24 to 256"},
		{"nothing", "\n\n", "no secret"},
		{"too many", strings.Repeat(plainSecret+"\n", 17), "17 secrets"},
	} {
		_, err := ParseKeys([]byte(c.file))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "dGVzd")) {
			t.Errorf("%s: the error shows a secret: %v", c.name, err)
		}
	}
}

// FuzzRead: any bytes give an answer. What passes is signed with the secret, and does not
// pass with another secret or when a byte of its body changes.
func FuzzRead(f *testing.F) {
	f.Add([]byte(standard(specID, fmt.Sprint(specTime), specSignature, specBody)), int64(specTime))
	f.Add([]byte("POST / HTTP/1.1\nX-Pulse-Signature: "+plainSignature("a")+"\n\na"), int64(0))
	f.Add([]byte("content-type: text/plain; x=\"\xff\"\r\nwebhook-id: a\r\n\r\n"), int64(1))
	f.Add([]byte("\n"), int64(-1))
	for i := range platforms {
		f.Add([]byte(signedBy(&platforms[i], 1700000000, "{}")+"\r\n{}"), int64(1700000000))
	}
	f.Add([]byte(" :\r\n\r\n"), int64(1<<40))
	all := keys(f, specSecret, plainSecret)
	others := keys(f, "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", strings.Repeat("x", 32))
	f.Fuzz(func(t *testing.T, b []byte, at int64) {
		came := time.Unix(at, 0)
		r := Read(b)
		for i := range platforms {
			p := &platforms[i]
			k := keys(t, lineOf(p))
			w := r.Verify(k, came)
			if other := r.Verify(keys(t, lineOf(&platforms[(i+1)%len(platforms)])), came); w.Result == envelope.WebhookPass && other.Scheme == w.Scheme {
				t.Fatalf("%s passes for another platform: %+v", p.word, other)
			}
			if changed := Read(append(append([]byte{}, b...), 'x')).Verify(k, came); w.Result == envelope.WebhookPass && p.word != envelope.WebhookTelegram && changed.Result == envelope.WebhookPass {
				t.Fatalf("%s passes with another body", p.word)
			}
		}
		w := r.Verify(all, came)
		if id := r.MessageID(); id == "" || len(id) > maxID || strings.Contains(id, ".") {
			t.Fatalf("id %q", id)
		}
		if w.Result != envelope.WebhookPass {
			if w.Result != envelope.WebhookNone && w.Why == "" {
				t.Fatalf("%+v", w)
			}
			return
		}
		if again := Read(b).Verify(others, came); again.Result != envelope.WebhookFail {
			t.Fatalf("passes with another secret: %+v", again)
		}
		more := append(append([]byte{}, b...), 'x')
		if again := Read(more).Verify(all, came); again.Result == envelope.WebhookPass {
			t.Fatalf("passes with another body: %+v", again)
		}
	})
}
