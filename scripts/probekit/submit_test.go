package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// inbox is a server on loopback that accepts mail from its users, and puts a Received
// field on top as servers do.
type inbox struct {
	address string
	bound   bool // From and login have to agree
	says    string

	mu    sync.Mutex
	mails []string
}

type visit struct {
	box   *inbox
	login string
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "s3cret" {
			return errors.New("no")
		}
		v.login = user
		return nil
	}), nil
}

func (v *visit) Mail(from string, _ *smtp.MailOptions) error {
	if v.box.bound && from != v.login {
		return &smtp.SMTPError{Code: 553, Message: "not yours"}
	}
	return nil
}

func (v *visit) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (v *visit) Reset()                               {}
func (v *visit) Logout() error                        { return nil }

func (v *visit) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	protocol := map[bool]string{true: "ESMTPA", false: "ESMTP"}[v.login != ""]
	field := "Received: from probe (localhost [127.0.0.1])\n\tby " + pin + " (Postfix) with " + protocol + " id 1; Sat, 21 Nov 2026 06:55:00 +0000\n"
	v.box.mu.Lock()
	defer v.box.mu.Unlock()
	v.box.mails = append(v.box.mails, v.box.says+field+strings.ReplaceAll(string(b), "\r\n", "\n"))
	return err
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	box := &inbox{address: "smtp://" + ln.Addr().String()}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &visit{box: box}, nil }))
	server.Domain, server.AllowInsecureAuth = pin, true
	go server.Serve(ln)
	t.Cleanup(func() { server.Close() })
	return box
}

// hand submits a probe and returns the status and output.
func (box *inbox) hand(args ...string) (status int, out string) {
	var stdout, stderr bytes.Buffer
	status = run(append([]string{"submit", "--to", "agent@example.com", "--from", "me@elsewhere.example", "--pin", pin, "--server", box.address}, args...), nil, &stdout, &stderr)
	return status, stdout.String() + stderr.String()
}

// A user of the receiving server can write a verdict in that server's name. The Received
// field gives that away. If no field does, the server can't be pinned.
func TestFromInside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	login := []string{"--login", "bob", "--password-file", secret}
	for name, c := range map[string]struct {
		args   []string
		bound  bool
		says   string
		status int
		want   string
	}{
		"with a login":           {login, false, "", 0, "trusted: a user of the server wrote a verdict, and it is not believed: submitted_with_login"},
		"as a program":           {nil, false, "", 1, "not trusted: a user of the server wrote a verdict, and it is BELIEVED"},
		"where all is judged":    {nil, false, strings.ReplaceAll(stamp, "dmarc=none", "dmarc=fail"), 0, "it is not believed: dmarc_fail"},
		"From must be the login": {login, true, "", 0, "trusted: the server does not take such mail on this route"},
		"another envelope":       {append([]string{"--sender", "bob@example.com"}, login...), false, "", 0, "submitted_with_login"},
	} {
		t.Run(name, func(t *testing.T) {
			box := newInbox(t)
			box.bound, box.says = c.bound, c.says
			status, out := box.hand(c.args...)
			if c.bound {
				if status != c.status || !strings.Contains(out, c.want) || len(box.mails) > 0 {
					t.Errorf("exit status %d: %s", status, out)
				}
				return
			}
			box.mu.Lock()
			defer box.mu.Unlock()
			_, nonce, ok := strings.Cut(strings.TrimSpace(out), "--nonce ")
			if status != 0 || !ok || len(box.mails) != 1 {
				t.Fatalf("exit status %d: %s", status, out)
			}
			if status, out := ask(t, fetched(box.mails...), "--nonce", nonce); status != c.status || !strings.Contains(out, c.want) {
				t.Errorf("exit status %d:\n%s\nof\n%s", status, out, box.mails[0])
			}
		})
	}
	box := newInbox(t)
	os.WriteFile(secret, []byte("wrong"), 0o600)
	if status, out := box.hand(login...); status != notTrusted || strings.Contains(out, "trusted") || strings.Contains(out, "wrong\n") {
		t.Errorf("a wrong password: exit status %d: %s", status, out)
	}
	os.Chmod(secret, 0o644)
	if status, out := box.hand(login...); status != notTrusted || !strings.Contains(out, "others may read it") {
		t.Errorf("exit status %d: %s", status, out)
	}
	for _, args := range [][]string{{"--login", "bob"}, {"--server", "imap://x"}, {"--server", "smtp://"}, {"--pin", ""}, {"--sender", "x"}, {"x"}} {
		if status, out := box.hand(args...); status != usage {
			t.Errorf("%q: exit status %d: %s", args, status, out)
		}
	}
}

// The same mail, for sendmail and webmail.
func TestPrintedForInside(t *testing.T) {
	mail, nonce := printed(t, "--pin", pin, "--inside")
	local := "Received: by " + pin + " (Postfix, from userid 1001) id 1; Sat, 21 Nov 2026 06:55:00 +0000\n"
	if status, out := ask(t, fetched(local+mail), "--nonce", nonce); status != 0 || !strings.Contains(out, "submitted_with_login") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
	if status, out := ask(t, fetched(received+mail), "--nonce", nonce); status != 1 || !strings.Contains(out, "BELIEVED") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}
