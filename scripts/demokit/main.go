// Demokit provides what scripts/demo needs besides pulse: a mail server with fixture
// mail, and a table of what each stage did.
//
//	demokit serve DIR   IMAP over TLS on loopback, until standard input ends
//	demokit table       reads receipts, prints a line for each
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

//go:embed mail/*.eml
var mail embed.FS

func main() {
	log.SetFlags(0)
	log.SetPrefix("demokit: ")
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) == 2 && os.Args[1] == "table":
		err = table(os.Stdin, os.Stdout)
	default:
		err = fmt.Errorf("usage: demokit serve DIR | demokit table")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve puts the server's certificate into dir and prints its address.
func serve(dir string) error {
	cert, err := certificate(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	server, err := server(cert)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go server.Serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{cert}}))
	defer server.Close()
	fmt.Println(ln.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func server(cert tls.Certificate) (*imapserver.Server, error) {
	mem := imapmemserver.New()
	user := imapmemserver.NewUser("me", "demo")
	if err := user.Create("INBOX", nil); err != nil {
		return nil, err
	}
	names, err := mail.ReadDir("mail")
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		if err := deliver(user, "mail/"+n.Name()); err != nil {
			return nil, err
		}
	}
	mem.AddUser(user)
	return imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
		Caps: imap.CapSet{imap.CapIMAP4rev1: {}},
	}), nil
}

// deliver appends one message, dated a moment ago.
func deliver(user *imapmemserver.User, name string) error {
	b, err := mail.ReadFile(name)
	if err != nil {
		return err
	}
	now := time.Now()
	text := strings.ReplaceAll(string(b), "@DATE@", now.Add(-time.Minute).Format(time.RFC1123Z))
	text = strings.ReplaceAll(text, "\n", "\r\n")
	_, err = user.Append("INBOX", literal{strings.NewReader(text)}, &imap.AppendOptions{Time: now})
	return err
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

// certificate creates a key for 127.0.0.1 and writes its certificate to the file name.
func certificate(name string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "pulse demo"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	b := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(name, b, 0o644)
}

// table prints what each stage did with each message.
func table(r io.Reader, w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "SUBJECT\tFROM SAYS\tPULSE-CLASSIFY\tPULSE-AUTHORIZE\tPULSE-QUEUE")
	for d := json.NewDecoder(r); d.More(); {
		var rec struct {
			Message  struct{ Subject string }
			Identity struct{ Sender, Trust, Reason string }
			Decision struct{ Action, Outcome string }
			Task     struct{ State string }
		}
		if err := d.Decode(&rec); err != nil {
			return err
		}
		state := rec.Task.State
		if state == "rejected" {
			state = "(not kept)"
		}
		fmt.Fprintf(tab, "%.32s\t%s\t%s: %s\t%s: %s\t%s\n", rec.Message.Subject, rec.Identity.Sender,
			rec.Identity.Trust, rec.Identity.Reason, rec.Decision.Action, rec.Decision.Outcome, state)
	}
	return tab.Flush()
}
