package mailbox

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/fetch/secure"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/fault"
)

// listen serves connections, each no longer than patience, and returns the address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.SetDeadline(time.Now().Add(patience)) // else the cleanup waits for a peer that does nothing
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

// trusting returns a mailbox that uses STARTTLS and trusts a certificate.
func trusting(t *testing.T, addr string, cert tls.Certificate) *Mailbox {
	t.Helper()
	s := mailbox(t, addr, "")
	roots := x509.NewCertPool()
	s.Plain, s.RootCAs = false, secure.Pool(roots)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(leaf)
	l := defaultLimits
	s.testOnlyLimits = &l
	return s
}

// begin sends the given greeting and answer in the clear, then does the handshake and plays
// an honest server. heard collects what came before TLS.
func begin(t *testing.T, cert tls.Certificate, greeting, answer string, heard *strings.Builder, inside script) func(net.Conn) {
	return func(conn net.Conn) {
		io.WriteString(conn, greeting)
		line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		heard.WriteString(line)
		if err != nil {
			return
		}
		tag, _, _ := strings.Cut(line, " ")
		io.WriteString(conn, strings.ReplaceAll(answer, "TAG", tag))
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}})
		if secure.Handshake() == nil {
			inside.read(secure, secure) // without a greeting
		}
	}
}

// TestStartTLS: an honest server is read. Whatever an attacker on the network does before
// TLS, the run ends before the password leaves.
func TestStartTLS(t *testing.T) {
	cert, _ := imaptest.Certificate(t)
	const hello = "* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED] hi\r\n"
	for _, tt := range []struct {
		name, greeting, answer string
		got                    int
		kind                   fault.Kind
		says                   string
	}{
		{"honest", hello, "TAG OK go\r\n", 3, 0, ""},
		{"honest, with more to say", hello, "* CAPABILITY IMAP4rev1\r\n* OK soon\r\nTAG OK go\r\n", 3, 0, ""},
		{"capabilities of the clear are forgotten", "* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] hi\r\n", "TAG OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] go\r\n", 3, 0, ""},

		{"not offered", hello, "TAG BAD what\r\n", 0, fault.Failed, "BAD to STARTTLS"},
		{"refused", hello, "TAG NO \x1b[2Jnot now\r\n", 0, fault.Failed, "NO to STARTTLS"},
		{"PREAUTH", "* PREAUTH welcome\r\n", "TAG OK\r\n", 0, fault.Failed, "begins with PREAUTH"},
		{"BYE", "* BYE full\r\n", "", 0, fault.Temporary, "ends the session before TLS"},
		{"NO for a greeting", "* NO hi\r\n", "", 0, fault.Failed, "begins with NO"},
		{"end for a greeting", "", "", 0, fault.Temporary, "waiting"},
		{"silence after STARTTLS", hello, "", 0, fault.Temporary, "before TLS"},
		{"endless greeting", "* OK " + strings.Repeat("x", 100_000), "", 0, fault.Temporary, "more than"},
		{"deep greeting", "* 1 FETCH (BODYSTRUCTURE " + strings.Repeat("(", 100), "", 0, fault.Temporary, "nested"},
		{"endless alerts", hello, strings.Repeat("* OK [ALERT] buy this\r\n", 100_000) + "TAG OK\r\n", 0, fault.Temporary, "not asked"},
		{"a body in the clear", hello, "* 1 FETCH (BODY[] {900000}\r\n", 0, fault.Temporary, "not asked"},

		{"a response after the OK", hello, "TAG OK go\r\n* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN] injected\r\n", 0, fault.Temporary, "something else"},
		{"a whole session after the OK", hello, "TAG OK go\r\nT1 OK in\r\n" + fetched(1), 0, fault.Temporary, "something else"},
		{"half a line after the OK", hello, "TAG OK go\r\n* ", 0, fault.Temporary, "something else"},
		{"an answer too many", hello, "TAG OK go\r\nTAG OK go\r\n", 0, fault.Temporary, "something else"},
		{"an answer before the question", "* OK hi\r\nS1 OK go\r\n", "S1 OK go\r\n", 0, fault.Temporary, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var heard strings.Builder
			finished := make(chan struct{})
			serve := begin(t, cert, tt.greeting, tt.answer, &heard, script{})
			addr := listen(t, func(c net.Conn) { serve(c); close(finished) })
			s := trusting(t, addr, cert)
			if l := s.testOnlyLimits; tt.says == "waiting" || tt.says == "before TLS" { // others may be slow, as this machine may
				l.dial, l.idle, l.command = 3*time.Second, 500*time.Millisecond, time.Second
			}
			got, err := all(t, s)
			<-finished
			if h := heard.String(); h != "" && !strings.HasSuffix(h, " STARTTLS\r\n") {
				t.Errorf("said in the clear: %q", h)
			}
			if len(got) != tt.got {
				t.Errorf("%d messages, want %d", len(got), tt.got)
			}
			if tt.kind == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%v, want kind %v with %q", err, tt.kind, tt.says)
			}
		})
	}
}

// TestStartTLSAsksAnew: after STARTTLS the capabilities are asked for first, inside TLS.
func TestStartTLSAsksAnew(t *testing.T) {
	cert, _ := imaptest.Certificate(t)
	var heard strings.Builder
	var verbs []string
	note := func(verb string) func(io.Writer, string) {
		return func(w io.Writer, tag string) { verbs = append(verbs, verb); honest[verb](w, tag) }
	}
	inside := script{"CAPABILITY": note("CAPABILITY"), "LOGIN": note("LOGIN"), "EXAMINE": note("EXAMINE")}
	addr := listen(t, begin(t, cert, "* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR] hi\r\n", "TAG OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR] go\r\n", &heard, inside))
	must(t, trusting(t, addr, cert))
	if len(verbs) < 2 || !slices.Equal(verbs[:2], []string{"CAPABILITY", "LOGIN"}) {
		t.Errorf("%q", verbs)
	}
}

// TestOnlyStartTLS: only STARTTLS leaves on a connection in the clear.
func TestOnlyStartTLS(t *testing.T) {
	for _, in := range []string{"T1 NOOP\r\n", "T1 LOGIN a b\r\n", "T1 CAPABILITY\r\n", "S1 STARTTLS\r\nT1 NOOP\r\n"} {
		c := commands{only: "STARTTLS"}
		if ready, err := c.check([]byte(in), sentNothing); err == nil || len(ready) > 0 {
			t.Errorf("%q: %q, %v", in, ready, err)
		}
	}
}

// certificate returns a self-signed certificate.
func certificate(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "pulse test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(c)
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestTLSRefused: a server that can't prove its name, or speaks an older TLS or none, gets
// no command, whether TLS begins at once or after STARTTLS.
func TestTLSRefused(t *testing.T) {
	good := certificate(t, func(*x509.Certificate) {})
	for _, tt := range []struct {
		name   string
		change func(*x509.Certificate)
		most   uint16 // TLS version
		stall  bool
		trust  bool
		kind   fault.Kind
		says   string
	}{
		{"another authority", func(*x509.Certificate) {}, 0, false, false, fault.Failed, "unknown authority"},
		{"another name", func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"imap.example.com"} }, 0, false, true, fault.Failed, "127.0.0.1"},
		{"expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, 0, false, true, fault.Failed, "expired"},
		{"not yet valid", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(30 * time.Minute) }, 0, false, true, fault.Failed, "not yet valid"},
		{"TLS 1.1", func(*x509.Certificate) {}, tls.VersionTLS11, false, true, fault.Temporary, "protocol version"},
		{"TLS 1.0", func(*x509.Certificate) {}, tls.VersionTLS10, false, true, fault.Temporary, "protocol version"},
		{"a handshake that stalls", func(*x509.Certificate) {}, 0, true, true, fault.Temporary, "waiting"},
	} {
		for _, start := range []bool{false, true} {
			name := tt.name
			if start {
				name += ", STARTTLS"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cert, trust := certificate(t, tt.change), good
				if tt.trust {
					trust = cert
				}
				heard := make(chan string, 1)
				addr := listen(t, func(conn net.Conn) {
					var b []byte
					defer func() { heard <- string(b) }()
					if start {
						io.WriteString(conn, "* OK hi\r\n")
						bufio.NewReaderSize(conn, 16).ReadString('\n')
						io.WriteString(conn, "S1 OK go\r\n")
					}
					if tt.stall {
						io.Copy(io.Discard, conn)
						return
					}
					secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS10, MaxVersion: tt.most})
					io.WriteString(secure, "* OK hi\r\n")
					b, _ = io.ReadAll(secure)
				})
				s := trusting(t, addr, trust)
				s.Address.TLS = !start
				if tt.stall {
					s.testOnlyLimits.dial = 2 * time.Second
				}
				got, err := all(t, s)
				if err == nil || len(got) > 0 || fault.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%d messages, %v", len(got), err)
				}
				if h := <-heard; h != "" {
					t.Errorf("heard %q", h)
				}
			})
		}
	}
}

// TestStartTLSCancelled: the end of the run ends a connection that is still in the clear.
func TestStartTLSCancelled(t *testing.T) {
	cert, _ := imaptest.Certificate(t)
	ctx, cancel := context.WithCancel(context.Background())
	addr := listen(t, func(conn net.Conn) {
		io.WriteString(conn, "* OK hi\r\n")
		bufio.NewReader(conn).ReadString('\n')
		cancel()
		io.Copy(io.Discard, conn)
	})
	s := trusting(t, addr, cert)
	l := defaultLimits
	s.testOnlyLimits = &l
	if err := each(t, ctx, s, func(*source.Message) error { return nil }); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
