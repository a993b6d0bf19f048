package main

import (
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/layout"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/policy"
)

// trial is a gate in a directory of the test, whose programs may take this long.
func trial(t *testing.T, try time.Duration) (*live, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := cli.NewContext(&cli.App{Writer: &out}, flag.NewFlagSet("check", flag.ContinueOnError), nil)
	c.Context = t.Context()
	p := policy.Default()
	p.Owners = []string{"me@example.com"}
	return &live{c: c, policy: p, at: &layout.Layout{Dir: dir, Name: dir + "/environment", Values: map[string]string{}}, place: layout.Place{Dir: dir, Data: dir}, try: try}, &out
}

// says writes a text and waits for the end of the connection.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Write([]byte(text))
		_, _ = conn.Read(make([]byte, 1<<20))
		_, _ = conn.Read(make([]byte, 1<<20))
	}
}

// What answers behind a way is judged: nothing that it says is shown as it is, each error has
// something to type, and nothing takes longer than it may.
func TestHostileWays(t *testing.T) {
	t.Parallel()
	web := httptest.NewUnstartedServer(nil)
	web.StartTLS()
	t.Cleanup(web.Close)
	other := func(conn net.Conn) { _ = tls.Server(conn, web.TLS).Handshake() }
	for name, test := range map[string]struct {
		to, flags string
		with      func(net.Conn)
		wants     []string
	}{
		"a server of mail":      {"smtp.example.com:587", "", says("220 \x1b]0;evil\a hi\r\n"), []string{"ok     way: "}},
		"one that hangs up":     {"smtp.example.com:25", "", func(net.Conn) {}, []string{"wrong  way: ", "the connection is closed at once", "systemctl status 'pulse-out@a*'"}},
		"no name":               {"smtp.example.com", "", says(""), []string{"wrong  way: ", "TO: smtp.example.com: want HOST:PORT"}},
		"another name":          {"api.example.net:443", "", other, []string{"wrong  way: ", "x509: certificate", "openssl s_client -connect api.example.net:443", "TO in "}},
		"no TLS":                {"api.example.net:443", "", says("HTTP/1.1 200 \x1b[2J\u202e\r\n\r\n"), []string{"wrong  way: ", "does not look like a TLS handshake", "WAY_FLAGS=\"--plain\" in "}},
		"no TLS, and very long": {"api.example.net:443", "", says(strings.Repeat("\x1b", 10<<20)), []string{"wrong  way: ", "does not look like a TLS handshake"}},
		"half of TLS": {"api.example.net:443", "", func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 1<<14))
			_, _ = conn.Write([]byte("\x16\x03\x03\x00\x7a\x02\x00"))
		}, []string{"wrong  way: ", "the connection is closed in the middle of TLS", "systemctl status"}},
		"a model without TLS": {"127.0.0.1:8080", "--plain", func(net.Conn) {}, []string{"wrong  way: ", "the connection is closed at once"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, out := trial(t, time.Minute)
			cmdlinetest.Answer(t, "unix", l.place.Data+"/out/a", test.with)
			text := fmt.Sprintf("TO=%q\nWAY_FLAGS=%q\n", test.to, test.flags)
			if err := os.WriteFile(l.at.Dir+"/out-a", []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			l.ways()
			for _, want := range test.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %s", want, out)
				}
			}
			if strings.ContainsAny(out.String(), "\x1b\a\u202e") || out.Len() > 2000 {
				t.Errorf("it shows %.3000q", out)
			}
		})
	}
}

// A server of mail that does not keep to SMTP does not keep the check waiting, fill its memory or
// write to the terminal.
func TestHostileSender(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("msmtp"); err != nil {
		t.Fatal("msmtp is missing: apt-get install msmtp")
	}
	flood := func(conn net.Conn) {
		for err := error(nil); err == nil; {
			_, err = conn.Write([]byte("220-" + strings.Repeat("B", 400) + "\r\n"))
		}
	}
	for name, test := range map[string]struct {
		with  func(net.Conn)
		try   time.Duration
		wants []string
	}{
		"never answers":      {says(""), time.Second, []string{"the server keeps it waiting, and it was ended after 1s; timeout 60"}},
		"closes":             {func(net.Conn) {}, time.Minute, []string{"the server sent an empty reply"}},
		"control characters": {says("554 \x1b]0;evil\a go away\u202e\r\n"), time.Minute, []string{"wrong  sender: "}},
		"a line of 10 MB":    {says("220 " + strings.Repeat("\x1bA", 5<<20)), time.Minute, []string{"wrong  sender: msmtp: "}},
		"lines without end":  {flood, time.Minute, []string{"wrong  sender: msmtp: "}},
		"takes it at once":   {says("354 \x1b[2J\r\n"), time.Minute, []string{"wrong  sender: msmtp: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, out := trial(t, test.try)
			at := cmdlinetest.Answer(t, "tcp", "127.0.0.1:0", test.with).(*net.TCPAddr)
			rc := fmt.Sprintf("account default\nhost 127.0.0.1\nport %d\ntls on\nauth plain\nuser u\npassword s\nfrom a@example.com\n", at.Port)
			if err := os.WriteFile(l.at.Dir+"/rc", []byte(rc), 0o600); err != nil {
				t.Fatal(err)
			}
			l.at.Values["SENDER"] = "/usr/local/libexec/pulse/senders/msmtp -C " + l.at.Dir + "/rc"
			l.sender()
			for _, want := range append(test.wants, "see what answers: msmtp --serverinfo -C ") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %.3000s", want, out)
				}
			}
			if strings.ContainsAny(out.String(), "\x1b\a\u202e") || out.Len() > 2000 {
				t.Errorf("it shows %.3000q", out)
			}
		})
	}
}
