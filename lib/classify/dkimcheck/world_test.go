package dkimcheck

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
)

// now is when the messages of the tests were fetched: far enough ahead for x= to
// be in the future of the clock that go-msgauth looks at.
var now = time.Date(2090, 11, 21, 7, 0, 0, 0, time.UTC)

// The keys of the tests. Small ones need GODEBUG=rsa1024min=0.
var (
	rsaKey = sync.OnceValue(func() *rsa.PrivateKey { return newRSA(2048) })
	edKey  = sync.OnceValue(func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		must(err)
		return key
	})
)

func newRSA(bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	must(err)
	return key
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// zone is a fake DNS: records by name. An absent name does not exist; a silent one gets
// no answer.
type zone struct {
	txt    map[string][]string
	silent map[string]bool
	asked  []string
}

func (z *zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	z.asked = append(z.asked, name)
	if z.silent[name] {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, Server: "192.0.2.53:53", IsTemporary: true}
	}
	if records, ok := z.txt[name]; ok {
		return records, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (z *zone) set(name string, records ...string) { z.txt[name] = records }

// world is a zone in which example.com signs with an RSA key at s1 and an Ed25519
// key at e1.
func world() *zone {
	z := &zone{txt: map[string][]string{}, silent: map[string]bool{}}
	z.set("s1._domainkey.example.com", "v=DKIM1; k=rsa; p="+pkix(rsaKey()))
	z.set("e1._domainkey.example.com", "v=DKIM1; k=ed25519; p="+base64.StdEncoding.EncodeToString(edKey().Public().(ed25519.PublicKey)))
	z.set("_dmarc.example.com", "v=DMARC1; p=reject")
	return z
}

func pkix(key *rsa.PrivateKey) string {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	must(err)
	return base64.StdEncoding.EncodeToString(der)
}

// stamp is a signer that does whatever it is told. It implements RFC 6376 by itself
// and shares nothing with the code under test.
type stamp struct {
	key    crypto.Signer
	domain string
	sel    string
	names  string // h=
	canon  string // c=
	more   string // further tags, each with a semicolon after it
	algo   string // a=, if not that of the key
}

const allNames = "From:To:Cc:Subject:Date:Message-ID"

func signer() stamp {
	return stamp{key: rsaKey(), domain: "example.com", sel: "s1", names: allNames, canon: "relaxed/relaxed"}
}

// sign returns the message with a signature on top. Lines of msg end with CRLF.
func (s stamp) sign(msg string) string {
	head, body, _ := strings.Cut(msg, "\r\n\r\n")
	header, bodyCanon, _ := strings.Cut(s.canon, "/")
	algo := s.algo
	if algo == "" {
		algo = "rsa-sha256"
		if _, ok := s.key.(ed25519.PrivateKey); ok {
			algo = "ed25519-sha256"
		}
	}
	hash := sha256.Sum256([]byte(canonBody(bodyCanon, body)))
	field := "DKIM-Signature: v=1; a=" + algo + "; c=" + s.canon + "; d=" + s.domain + "; s=" + s.sel + ";\r\n\t" +
		s.more + "h=" + s.names + "; bh=" + base64.StdEncoding.EncodeToString(hash[:]) + ";\r\n\tb="
	var data strings.Builder
	rest := splitFields(head + "\r\n")
	for name := range strings.SplitSeq(s.names, ":") {
		for i := len(rest) - 1; i >= 0; i-- {
			if n, _, _ := strings.Cut(rest[i], ":"); strings.EqualFold(n, name) {
				data.WriteString(canonField(header, rest[i]))
				rest = append(append([]string{}, rest[:i]...), rest[i+1:]...)
				break
			}
		}
	}
	data.WriteString(strings.TrimSuffix(canonField(header, field+"\r\n"), "\r\n"))
	digest := sha256.Sum256([]byte(data.String()))
	opts := crypto.SignerOpts(crypto.SHA256)
	if _, ok := s.key.(ed25519.PrivateKey); ok {
		opts = crypto.Hash(0)
	}
	sig, err := s.key.Sign(rand.Reader, digest[:], opts)
	must(err)
	return field + base64.StdEncoding.EncodeToString(sig) + "\r\n" + msg
}

func splitFields(head string) (fields []string) {
	for line := range strings.SplitAfterSeq(head, "\r\n") {
		switch {
		case line == "":
		case line[0] == ' ' || line[0] == '\t':
			fields[len(fields)-1] += line
		default:
			fields = append(fields, line)
		}
	}
	return fields
}

// canonField is RFC 6376 §3.4.1 and §3.4.2.
func canonField(how, field string) string {
	if how == "simple" {
		return field
	}
	name, value, _ := strings.Cut(field, ":")
	value = strings.Join(strings.Fields(value), " ")
	return strings.ToLower(strings.TrimRight(name, " ")) + ":" + value + "\r\n"
}

// canonBody is RFC 6376 §3.4.3 and §3.4.4.
func canonBody(how, body string) string {
	if how == "relaxed" {
		lines := strings.Split(body, "\r\n")
		for i, line := range lines {
			for strings.Contains(line, "  ") {
				line = strings.ReplaceAll(line, "  ", " ")
			}
			lines[i] = strings.TrimRight(line, " ")
		}
		body = strings.Join(lines, "\r\n")
	}
	for strings.HasSuffix(body, "\r\n") {
		body = strings.TrimSuffix(body, "\r\n")
	}
	if body == "" && how == "relaxed" {
		return ""
	}
	return body + "\r\n"
}

const mail = "From: Me <me@example.com>\r\n" +
	"To: agent@example.net\r\n" +
	"Subject: News,\r\n\tfolded\r\n" +
	"Date: Tue, 21 Nov 2090 06:58:00 +0000\r\n" +
	"Message-ID: <1@example.com>\r\n" +
	"Content-Type: text/plain\r\n" +
	"\r\n" +
	"Please read the  news. \r\n\r\n"

// fetched returns what pulse-fetch has of a message.
func fetched(text string) (*envelope.Message, message.Raw) {
	raw := message.Raw{Header: []byte(text), Size: int64(len(text))}
	m := message.Parse(raw, message.Options{Scope: envelope.Snippet})
	m.Fetched, m.Received = now, now.Add(-time.Minute)
	return &m, raw
}

// verify checks a message in a zone.
func verify(t testing.TB, z *zone, text string) *envelope.DKIM {
	t.Helper()
	m, raw := fetched(text)
	c := Checker{Resolver: z, Lookup: time.Minute, Total: time.Minute}
	d, err := c.Check(context.Background(), m, raw)
	if err != nil && !errors.Is(err, ErrTemporary) {
		t.Fatal(err)
	}
	return d
}
