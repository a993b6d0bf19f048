package cmd_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"encoding/pem"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// submission is a server on loopback with TLS and a password. It counts the mails that it was
// given whole.
type submission struct{ mails, bodies int }

func (s *submission) NewSession(*smtp.Conn) (smtp.Session, error) { return s, nil }
func (s *submission) AuthMechanisms() []string                    { return []string{sasl.Plain} }
func (s *submission) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != "s3cret" {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}
func (s *submission) Mail(from string, _ *smtp.MailOptions) error {
	if from != "agent@example.com" {
		return &smtp.SMTPError{Code: 550, Message: "not your address"}
	}
	return nil
}
func (s *submission) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (s *submission) Reset()                               {}
func (s *submission) Logout() error                        { return nil }
func (s *submission) Data(r io.Reader) error {
	s.bodies++
	if _, err := io.ReadAll(r); err != nil {
		return err
	}
	s.mails++
	return nil
}

// serve starts the server, and returns a configuration of msmtp for it.
func (s *submission) serve(t *testing.T) string {
	web := httptest.NewTLSServer(nil) // for its certificate, of 127.0.0.1
	t.Cleanup(web.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(s)
	server.TLSConfig = web.TLS
	go server.Serve(ln)
	t.Cleanup(func() { server.Shutdown(context.Background()) })
	dir := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(dir+"/ca", ca, 0o600); err != nil {
		t.Fatal(err)
	}
	rc := fmt.Sprintf("account default\nhost 127.0.0.1\nport %d\ntls on\ntls_starttls on\ntls_trust_file %s/ca\nauth plain\nuser u\npassword s3cret\nfrom agent@example.com\n",
		ln.Addr().(*net.TCPAddr).Port, dir)
	return rc
}

// A gate that init wrote is tried: each thing that is wrong is named with what to type, and it is 0
// only when a mail of the owner became a task.
func TestCheckLive(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	smtp := &submission{}
	rc := smtp.serve(t)
	prefix := t.TempDir()
	libexec := filepath.Join(prefix, "libexec/pulse/senders")
	if err := os.MkdirAll(libexec, 0o700); err != nil {
		t.Fatal(err)
	}
	h.write(t, "msmtprc", rc)
	h.write(t, "crontab", "#!/bin/sh\ncat tab\n")
	h.must(t, "chmod 700 crontab; cp "+h.abs(t, "../scripts/senders/msmtp")+" "+libexec+"; mkdir etc; cp policy.toml etc; cp password etc; : >tab; "+
		`printf 'recipients = ["agent@example.com"]\n' | cat - policy.toml >etc/policy.toml`)
	environment := func(inbox, flags string) {
		h.write(t, "etc/environment", fmt.Sprintf("INBOX=%q\nFETCH_FLAGS=%q\nHEALTH_FLAGS=\"--accept not_separated\"\nSENDER=%q\n",
			inbox, flags, libexec+"/msmtp -C "+h.dir+"/msmtprc"))
	}
	check := "PATH=$PWD:$PATH HOME=$PWD PULSE_POLICY=$PWD/etc/policy.toml pulse-authorize check --live --wait "
	wrong := func(wants ...string) {
		t.Helper()
		out, errs, status := h.sh(t, check+"1s")
		for _, want := range wants {
			if status != 1 || !strings.Contains(out, want) || !strings.Contains(errs, "pulse-authorize: error: not yet: ") {
				t.Errorf("%d, no %q in\n%s%s", status, want, out, errs)
			}
		}
	}

	environment("imaps://me@127.0.0.1:1/INBOX", "")
	h.write(t, "msmtprc", strings.Replace(rc, "s3cret", "wrong", 1))
	wrong("wrong  mailbox: imaps://me@127.0.0.1:1/INBOX can't be read\n       pulse-fetch: error: ", "connection refused",
		"wrong  sender: msmtp: authentication failed", "wrong  start: your crontab does not start this gate\n       (crontab -l | sed")
	h.write(t, "msmtprc", strings.Replace(rc, "agent@", "other@", 1))
	h.write(t, "tab", "# BEGIN pulse\n"+h.dir+"/etc\n# END pulse\n")
	environment(h.source(), "--tls-ca "+h.CA+" --wait 4m")
	h.write(t, "policy.toml", strings.Replace(h.read(t, "etc/policy.toml"), receiver, "mx.elsewhere.example", 1))
	h.must(t, "cp policy.toml keep; cp etc/policy.toml policy.toml; cp keep etc/policy.toml")
	h.deliver(t, 1, 2)
	wrong("ok     mailbox: "+h.source()+": the login works, and 2 mails were read\n",
		"wrong  proof: 2 mails are from an owner, and none is proven; the last: authserv_id_mismatch, ", `authserv_id "`+receiver+`" verifies 2 of 2 mails`,
		"ok     queue: ", "wrong  sender: msmtp: envelope from address other@example.com not accepted by the server", "not your address", "ok     start: ")
	h.write(t, "msmtprc", rc)
	h.must(t, "cp policy.toml etc/policy.toml")
	wrong("wrong  mail: no such mail came\n", "ok     proof: of 2 mails from an owner, 2 are proven\n", "ok     sender: its server takes the login, and mail to me@example.com; nothing was sent\n")

	done := make(chan string, 1)
	go func() {
		out, errs, status := h.sh(t, "("+check+"20m) 2>&1 | tee said; exit ${PIPESTATUS[0]}")
		done <- fmt.Sprint(status, out, errs)
	}()
	subject := ""
	for subject == "" {
		if ctx := t.Context(); ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		b, _ := os.ReadFile(h.dir + "/said")
		_, rest, _ := strings.Cut(string(b), `subject "`)
		if whole, _, ok := strings.Cut(rest, `"`); ok { // it may be half written
			subject = whole
		}
		select {
		case early := <-done:
			t.Fatal(early)
		case <-time.After(20 * time.Millisecond):
		}
	}
	h.Deliver(t, "9.M9.test", []byte("Authentication-Results: "+receiver+"; dkim=pass header.d=example.com;\r\n\tdmarc=pass header.from=example.com\r\n"+
		"DKIM-Signature: v=1; d=example.com; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=EfGh\r\n"+
		"From: Me <me@example.com>\r\nTo: agent@example.com\r\nSubject: "+subject+"\r\nDate: "+time.Now().Format(time.RFC1123Z)+"\r\nMessage-ID: <live@example.com>\r\n\r\nhello\r\n"))
	h.must(t, h.fetch("")+" | pulse-classify --policy etc/policy.toml | pulse-authorize --policy etc/policy.toml | pulse-queue add --policy etc/policy.toml >/dev/null")
	said := <-done
	for _, want := range []string{"0ok     policy: ", "ok     mail: it is in the mailbox\n", "ok     pulse-classify: me@example.com is the owner\n", "ok     pulse-authorize: allow: ", "ok     pulse-queue: task "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if smtp.mails != 0 || smtp.bodies == 0 {
		t.Errorf("%d mails were sent, %d begun", smtp.mails, smtp.bodies)
	}
}
