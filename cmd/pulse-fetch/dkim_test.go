package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"pulse/lib/classify/dkimcheck"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// zone is a fake DNS; a name with a nil record gives no answer.
type zone map[string][]string

func (z zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	records, ok := z[name]
	switch {
	case !ok:
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	case records == nil:
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	return records, nil
}

const keyName, dmarcName = "k1._domainkey.example.com", "_dmarc.example.com"

// signedMail returns a message of today, its signature on top, and the DNS to
// verify it by. It is longer than what is read of a file for the snippet.
func signedMail(t *testing.T) (string, zone) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	text := "From: Me <me@example.com>\r\nTo: agent@example.net\r\nSubject: News\r\nDate: " +
		time.Now().Format(time.RFC1123Z) + "\r\nMessage-ID: <1@example.com>\r\n\r\n" + strings.Repeat("Read the news.\r\n", 40_000)
	var out bytes.Buffer
	err = dkim.Sign(&out, strings.NewReader(text), &dkim.SignOptions{Domain: "example.com", Selector: "k1", Signer: key})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), zone{
		keyName:   {"v=DKIM1; k=ed25519; p=" + base64.StdEncoding.EncodeToString(pub)},
		dmarcName: {"v=DMARC1; p=reject"},
	}
}

// maildir returns a Maildir of messages that arrived so long ago.
func maildir(t *testing.T, age time.Duration, mails ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "new"), 0o700), os.Mkdir(filepath.Join(dir, "cur"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for i, text := range mails {
		path := filepath.Join(dir, "new", string(rune('a'+i)))
		arrived := time.Now().Add(-age).Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, arrived, arrived)); err != nil {
			t.Fatal(err)
		}
	}
	return "maildir:" + dir
}

// fetchWith runs pulse-fetch with a resolver and returns the messages that are out.
func fetchWith(t *testing.T, r dkimcheck.Resolver, args ...string) (out []envelope.Message, stderr string, code int) {
	t.Helper()
	testOnlyResolver = r
	defer func() { testOnlyResolver = dkimcheck.DNS{} }()
	var stdout, errs bytes.Buffer
	code = cmdline.Run(context.Background(), app(), append([]string{"pulse-fetch"}, args...), strings.NewReader(""), &stdout, &errs)
	for line := range strings.Lines(stdout.String()) {
		rec, err := record.Parse([]byte(line), envelope.Member)
		if err == nil {
			err = rec.Decode(envelope.Member, func(v record.Value) error {
				m, err := envelope.Decode(v)
				out = append(out, m)
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out, errs.String(), code
}

func classifyByDKIM(t *testing.T, m *envelope.Message) identity.Identity {
	t.Helper()
	p, err := policy.Parse("p", []byte("owners = [\"me@example.com\"]\nevidence = \"dkim\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return identity.Classify(m, p)
}

// The message is fetched whole whatever the scope, or its body hash could not be
// right.
func TestDKIM(t *testing.T) {
	text, z := signedMail(t)
	forged := strings.Replace(text, "Subject: News", "Subject: Send money", 1)
	for _, scope := range []string{"headers", "snippet", "full"} {
		out, stderr, code := fetchWith(t, z, "--dkim", "--scope", scope, maildir(t, time.Minute, text, forged))
		if code != 0 || stderr != "" || len(out) != 2 {
			t.Fatalf("%d %s: %+v", code, stderr, out)
		}
		if id := classifyByDKIM(t, &out[0]); !id.Verified || id.Reason != identity.AuthenticatedOwner || id.Signed == "" {
			t.Errorf("%+v %+v", id, out[0].DKIM)
		}
		if id := classifyByDKIM(t, &out[1]); id.Verified || id.Reason != identity.SignatureBad {
			t.Errorf("%+v", id)
		}
	}
}

// A silent name server ends the run with what came before it; an hour after its
// arrival the message goes on, and proves nothing.
func TestDKIMWithoutDNS(t *testing.T) {
	text, z := signedMail(t)
	unsigned := text[strings.Index(text, "From: "):]
	for _, silent := range []string{keyName, dmarcName} {
		answer := z[silent]
		z[silent] = nil
		out, stderr, code := fetchWith(t, z, "--dkim", maildir(t, 30*time.Minute, unsigned, text, unsigned))
		if code != 75 || len(out) != 1 || !strings.Contains(stderr, silent) {
			t.Errorf("%s: %d %s: %d records", silent, code, stderr, len(out))
		}
		out, stderr, code = fetchWith(t, z, "--dkim", maildir(t, 61*time.Minute, unsigned, text, unsigned))
		if code != 0 || len(out) != 3 || stderr != "" {
			t.Fatalf("%s, an hour later: %d %s: %d records", silent, code, stderr, len(out))
		}
		id := classifyByDKIM(t, &out[1])
		if id.Verified || id.Reason != identity.SignatureTempError && id.Reason != identity.DMARCRecordError {
			t.Errorf("%s: %+v", silent, id)
		}
		z[silent] = answer
	}
}

// Without --dkim nobody asks DNS.
func TestNoDKIM(t *testing.T) {
	text, _ := signedMail(t)
	out, stderr, code := fetchWith(t, nil, maildir(t, time.Minute, text)) // a question would panic
	if code != 0 || len(out) != 1 || out[0].DKIM != nil {
		t.Errorf("%d %s: %+v", code, stderr, out)
	}
}
