package cmd_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-msgauth/dkim"

	"pulse/lib/classify/dkimcheck/dnstest"
	"pulse/lib/shared/sandbox"
)

// TestResolverInTheSandbox: a confined pulse-fetch asks the name server that it was given,
// over TCP too where a key does not fit into a datagram, for a mailbox on a server and for
// files.
func TestResolverInTheSandbox(t *testing.T) {
	h := newHost(t)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	var mail bytes.Buffer
	text := "From: me@example.com\r\nSubject: x\r\nMessage-ID: <1@example.com>\r\nDate: " + time.Now().Format(time.RFC1123Z) + "\r\n\r\nx\r\n"
	if err := dkim.Sign(&mail, strings.NewReader(text), &dkim.SignOptions{Domain: "example.com", Selector: "s1", Signer: key}); err != nil {
		t.Fatal(err)
	}
	dns := dnstest.Start(t, dnstest.TXT(map[string][]string{
		"s1._domainkey.example.com": {"v=DKIM1; n=" + strings.Repeat("x", 1500) + "; p=" + base64.StdEncoding.EncodeToString(der)},
		"_dmarc.example.com":        {"v=DMARC1; p=reject"},
	}))
	h.Deliver(t, "1.M1.test", mail.Bytes())
	h.write(t, "mail", mail.String())
	h.write(t, "policy.toml", "owners = [\"me@example.com\"]\nevidence = \"dkim\"\n")
	mode := "auto"
	if sandbox.Lacks(true) == "" {
		mode = "require"
	}
	for _, source := range []string{"mail", "--tls-ca " + h.CA + " --password-file password " + h.source()} {
		got := h.must(t, "pulse-fetch --sandbox "+mode+" --resolver "+dns.Addr+" "+source+" | pulse-classify | jq -r .identity.reason")
		if got != "authenticated_owner\n" {
			t.Errorf("%s: %s", source, got)
		}
		if asked := strings.Join(dns.Asked(), ", "); asked != "udp s1._domainkey.example.com, tcp s1._domainkey.example.com, udp _dmarc.example.com" {
			t.Errorf("%s: asked %s", source, asked)
		}
	}
}
