package main

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// sink is a submission server on loopback, with STARTTLS and a password, that keeps
// what it was given.
type sink struct {
	net.Listener
	rc     string // a configuration of msmtp that submits to it
	socket string // where it listens, too

	mu    sync.Mutex
	conns int
	mails []mailed
	trip  func(*smtp.Conn, stage) error // what goes wrong; nil: nothing
}

// mailed is one message, as it was given to the sink.
type mailed struct {
	from string
	to   []string
	data string
}

// stage is how far a submission has come.
type stage string

const (
	atConnect stage = "connect"
	atMail    stage = "MAIL"
	atRcpt    stage = "RCPT" // of the second recipient
	inData    stage = "DATA"
	afterDot  stage = "the final dot"
)

const password = "s3cret"

func newSink(t *testing.T) *sink {
	t.Helper()
	web := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1
	t.Cleanup(web.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{Listener: ln, rc: filepath.Join(t.TempDir(), "msmtprc")}
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) { return &submission{sink: s, conn: c}, nil }))
	server.Domain, server.TLSConfig = "sink.example", &tls.Config{Certificates: web.TLS.Certificates}
	server.ErrorLog = log.New(io.Discard, "", 0)
	dir, err := os.MkdirTemp("", "sink") // short enough for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s.socket = filepath.Join(dir, "s")
	local, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(s)
	go server.Serve(local)
	t.Cleanup(func() { server.Close() })
	ca := filepath.Join(filepath.Dir(s.rc), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(ca, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	s.configure(t, s.port(), "127.0.0.1", password)
	return s
}

func (s *sink) configure(t *testing.T, port int, host, password string) {
	t.Helper()
	rc := fmt.Sprintf("account default\nhost %s\nport %d\nfrom agent@example.com\ntls on\ntls_trust_file %s\nauth plain\nuser agent\npassword %s\n",
		host, port, filepath.Join(filepath.Dir(s.rc), "ca.pem"), password)
	if err := os.WriteFile(s.rc, []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *sink) port() int { return s.Addr().(*net.TCPAddr).Port }

// trips says what goes wrong from now on.
func (s *sink) trips(trip func(*smtp.Conn, stage) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trip = trip
}

// closedPort returns a port on which nobody listens.
func closedPort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

func (s *sink) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return c, err
	}
	s.mu.Lock()
	s.conns++
	trip := s.trip
	s.mu.Unlock()
	if trip != nil && trip(nil, atConnect) != nil {
		c.Close()
	}
	return c, nil
}

// got returns what the sink was given, and to how many connections.
func (s *sink) got() ([]mailed, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails), s.conns
}

// submission is one connection.
type submission struct {
	*sink
	conn *smtp.Conn
	mail mailed
}

func (s *submission) reach(at stage) error {
	s.mu.Lock()
	trip := s.trip
	s.mu.Unlock()
	if trip == nil {
		return nil
	}
	return trip(s.conn, at)
}

func (s *submission) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *submission) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, given string) error {
		if user != "agent" || given != password {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *submission) Mail(from string, _ *smtp.MailOptions) error {
	s.mail = mailed{from: from}
	return s.reach(atMail)
}

func (s *submission) Rcpt(to string, _ *smtp.RcptOptions) error {
	if len(s.mail.to) > 0 {
		if err := s.reach(atRcpt); err != nil {
			return err
		}
	}
	s.mail.to = append(s.mail.to, to)
	return nil
}

func (s *submission) Data(r io.Reader) error {
	if err := s.reach(inData); err != nil {
		return err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.mail.data = string(b)
	refused := s.reach(afterDot)
	if answer := (*smtp.SMTPError)(nil); errors.As(refused, &answer) && answer.Code/100 != 2 {
		return refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, s.mail)
	return refused
}

func (s *submission) Reset()        {}
func (s *submission) Logout() error { return nil }

// drops cuts the connection at a stage.
func drops(when stage) func(*smtp.Conn, stage) error {
	return func(c *smtp.Conn, at stage) error {
		if at != when {
			return nil
		}
		if c != nil {
			c.Conn().Close()
		}
		return errors.New("dropped")
	}
}

// answers answers a stage with a code, and goes on.
func answers(when stage, code int) func(*smtp.Conn, stage) error {
	return func(_ *smtp.Conn, at stage) error {
		if at != when {
			return nil
		}
		return &smtp.SMTPError{Code: code, EnhancedCode: smtp.NoEnhancedCode, Message: "this is " + strconv.Itoa(code)}
	}
}
