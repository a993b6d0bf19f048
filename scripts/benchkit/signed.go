package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/emersion/go-msgauth/dkim"
)

// domains is how many domains sign the mails, each with a key of 2048 bits.
const domains = 20

// signed writes a Maildir of mails of about 3 kB with a signature each, and beside it the
// configuration of a dnsmasq(8) that has the keys and DMARC records.
func signed(n int, dir string) error {
	var conf strings.Builder
	fmt.Fprintf(&conf, "no-resolv\nno-hosts\nbind-interfaces\nlisten-address=127.0.0.1\nuser=\ngroup=\nlocal=/example/\n")
	keys := make([]*rsa.PrivateKey, domains)
	for i := range keys {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return err
		}
		der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
		if err != nil {
			return err
		}
		keys[i] = key
		fmt.Fprintf(&conf, "txt-record=s1._domainkey.d%d.example,\"v=DKIM1; k=rsa; p=%s\"\n", i, base64.StdEncoding.EncodeToString(der))
		fmt.Fprintf(&conf, "txt-record=_dmarc.d%d.example,\"v=DMARC1; p=reject\"\n", i)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "new"), 0o700), os.MkdirAll(filepath.Join(dir, "cur"), 0o700),
		os.WriteFile(dir+".dnsmasq", []byte(conf.String()), 0o600)); err != nil {
		return err
	}
	for i := range n {
		mail, err := signedMail(i, keys[i%domains])
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "new", fmt.Sprintf("%06d.host", i)), mail, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func signedMail(i int, key *rsa.PrivateKey) ([]byte, error) {
	domain := fmt.Sprintf("d%d.example", i%domains)
	var text, out bytes.Buffer
	fmt.Fprintf(&text, "Received: from a.example by b.example with ESMTPS id %d for <agent@example.com>; %s\r\n", i, time.Now().Format(time.RFC1123Z))
	fmt.Fprintf(&text, "From: Me <me@%s>\r\nTo: agent@example.com\r\nSubject: mail %d\r\nDate: %s\r\n", domain, i, time.Now().Format(time.RFC1123Z))
	fmt.Fprintf(&text, "Message-ID: <%d@%s>\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n", i, domain)
	text.WriteString(strings.Repeat("Dear agent, please read this. It is ordinary text.\r\n", 40))
	err := dkim.Sign(&out, &text, &dkim.SignOptions{
		Domain: domain, Selector: "s1", Signer: key,
		HeaderCanonicalization: dkim.CanonicalizationRelaxed, BodyCanonicalization: dkim.CanonicalizationRelaxed,
		HeaderKeys: []string{"From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"},
	})
	return out.Bytes(), err
}
