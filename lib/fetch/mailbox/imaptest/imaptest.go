// Package imaptest runs go-imap's in-memory server for tests: IMAP over TLS on
// loopback, one user.
//
// Invariant: a server ends with its test. Caveat: it does not enforce EXAMINE. A fetch
// that forgets PEEK really sets \Seen here, so this server is a stricter witness than
// Dovecot.
package imaptest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
)

// The account of every server.
const (
	User     = "me"
	Password = "secret-of-the-test"
)

// Server is a running server.
type Server struct {
	Addr string // of IMAP over TLS
	CA   string // file with the certificate to trust
	user *imapmemserver.User
	tls  *tls.Config // nil: it speaks without TLS
	up   *imapserver.Server
}

// Start starts a server with an empty INBOX and stops it when the test ends. If plain is
// set, the server speaks without TLS.
func Start(t testing.TB, plain bool) *Server {
	t.Helper()
	cert, pemBytes := Certificate(t)
	s := &Server{CA: filepath.Join(t.TempDir(), "ca.pem"), user: imapmemserver.NewUser(User, Password)}
	if err := os.WriteFile(s.CA, pemBytes, 0o644); err != nil {
		t.Fatal(err)
	}
	s.Create(t, "INBOX")
	if !plain {
		s.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	s.Addr = "127.0.0.1:0"
	s.Up(t)
	t.Cleanup(s.Down)
	return s
}

// Down ends the server: connections are refused. The mailboxes stay.
func (s *Server) Down() { s.up.Close() }

// Up starts the server again, at the same address.
func (s *Server) Up(t testing.TB) {
	t.Helper()
	mem := imapmemserver.New()
	mem.AddUser(s.user)
	s.up = imapserver.New(&imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return mem.NewSession(), nil, nil
		},
		Caps:         imap.CapSet{imap.CapIMAP4rev1: {}},
		InsecureAuth: s.tls == nil,
		Logger:       log.New(io.Discard, "", 0), // which would report each connection that a guard ends
	})
	ln, err := net.Listen("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = ln.Addr().String()
	if s.tls != nil {
		ln = tls.NewListener(ln, s.tls)
	}
	go s.up.Serve(ln)
}

// Renew makes a mailbox anew, empty and with another UIDVALIDITY.
func (s *Server) Renew(t testing.TB, mailbox string) {
	t.Helper()
	if err := s.user.Delete(mailbox); err != nil {
		t.Fatal(err)
	}
	s.Create(t, mailbox)
}

// Create makes a mailbox.
func (s *Server) Create(t testing.TB, mailbox string) {
	t.Helper()
	if err := s.user.Create(mailbox, nil); err != nil {
		t.Fatal(err)
	}
}

// Append delivers a message that was received at the given time.
func (s *Server) Append(t testing.TB, mailbox, message string, received time.Time) {
	t.Helper()
	message = strings.ReplaceAll(strings.ReplaceAll(message, "\r\n", "\n"), "\n", "\r\n")
	options := &imap.AppendOptions{Time: received}
	if _, err := s.user.Append(mailbox, literal{strings.NewReader(message)}, options); err != nil {
		t.Fatal(err)
	}
}

type literal struct{ *strings.Reader }

func (l literal) Size() int64 { return l.Reader.Size() }

// Unseen returns how many messages of a mailbox have no \Seen flag.
func (s *Server) Unseen(t testing.TB, mailbox string) int {
	t.Helper()
	data, err := s.user.Status(mailbox, &imap.StatusOptions{NumUnseen: true})
	if err != nil {
		t.Fatal(err)
	}
	return int(*data.NumUnseen)
}

// Certificate returns a self-signed certificate for 127.0.0.1 with its key, and the
// certificate in PEM form.
func Certificate(t testing.TB) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pulse test"},
		NotBefore: time.Now().AddDate(-50, 0, 0), NotAfter: time.Now().AddDate(50, 0, 0), // a test may have a clock of its own
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pemBytes := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pemBytes
}
