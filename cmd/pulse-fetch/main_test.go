package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pulse/lib/classify/dkimcheck/dnstest"
	"pulse/lib/fetch/jmap/jmaptest"
	"pulse/lib/fetch/mailbox/imaptest"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "measure" {
		measure(os.Args[2:])
	}
	cmdlinetest.Main(m, "pulse-fetch", main, "pulse-queue", "pulse-classify", "pulse-authorize")
}

func TestSessions(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/.state")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":      cmdlinetest.Exits,
			"imapserver": func(ts *testscript.TestScript, _ bool, args []string) { imapServer(t, ts, args) },
			"unseen":     unseen,
			"signed":     func(ts *testscript.TestScript, _ bool, args []string) { signed(t, ts, args[0]) },
			"provider":   func(ts *testscript.TestScript, _ bool, args []string) { provider(t, ts, args[0]) },
			"revoke":     func(ts *testscript.TestScript, _ bool, _ []string) { issuers[ts.Getenv("SSL_CERT_FILE")].takes("") },
		},
	})
}

// imapServer starts a server that holds the messages in its INBOX, the last of
// them received now and each other an hour before the next. It sets SERVER and CA.
func imapServer(t *testing.T, ts *testscript.TestScript, files []string) {
	srv := imaptest.Start(t, false)
	for i, name := range files {
		srv.Append(t, "INBOX", ts.ReadFile(name), time.Now().Add(-time.Duration(len(files)-1-i)*time.Hour))
	}
	ts.Setenv("SERVER", srv.Addr)
	ts.Setenv("CA", srv.CA)
	servers[srv.Addr] = func() int { return srv.Unseen(t, "INBOX") }
}

// signed writes a mail that example.com has signed, and starts the name server that has its
// key. It sets DNS.
func signed(t *testing.T, ts *testscript.TestScript, file string) {
	text, zone := signedMail(t)
	ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	ts.Setenv("DNS", dnstest.Start(t, zone).Addr)
}

// provider starts a JMAP server with two messages, and a provider whose tokens it takes. It writes
// the file of a client to whom the provider has given access, and sets SERVER, CA, SSL_CERT_FILE
// and TOKEN, the command that renews the token.
func provider(t *testing.T, ts *testscript.TestScript, file string) {
	srv, s := jmaptest.Start(t, 2), startIssuer(t, providers["fastmail"])
	s.access = jmaptest.Token
	b, err := os.ReadFile(s.file(t, s.how.granted))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(file), b, 0o600))
	script, err := filepath.Abs(tokenScript)
	ts.Check(err)
	ts.Setenv("TOKEN", script)
	ts.Setenv("SERVER", strings.TrimPrefix(srv.URL, "https://"))
	ts.Setenv("CA", srv.CA)
	ts.Setenv("SSL_CERT_FILE", s.ca)
	issuers[s.ca] = s
}

// issuers holds the providers by their SSL_CERT_FILE.
var issuers = map[string]*issuer{}

// servers holds how to count the unseen messages of each server.
var servers = map[string]func() int{}

// unseen checks how many messages have no \Seen flag: unseen 3
func unseen(ts *testscript.TestScript, neg bool, args []string) {
	if got := strconv.Itoa(servers[ts.Getenv("SERVER")]()); neg || len(args) != 1 || got != args[0] {
		ts.Fatalf("%s messages are unseen, want %s", got, args)
	}
}

// Whatever is fetched of broken mail, in every scope, is one record a message that
// the next stage accepts.
func TestBrokenMailGivesRecords(t *testing.T) {
	names, err := filepath.Glob("../../lib/fetch/message/testdata/broken/*.eml")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d broken mails, %v", len(names), err)
	}
	for _, scope := range []string{"headers", "snippet", "full"} {
		var out, errs bytes.Buffer
		args := append([]string{"pulse-fetch", "--scope", scope}, names...)
		if status := cmdline.Run(context.Background(), app(), args, nil, &out, &errs); status != 0 || errs.Len() > 0 {
			t.Fatalf("status %d: %s", status, errs.String())
		}
		r := record.NewReader(&out, "stdout", record.DefaultMax, envelope.Member)
		for _, name := range names {
			rec, err := r.Next()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var m envelope.Message
			if err := m.Read(rec); err != nil || m.Source != "file:"+name {
				t.Errorf("%s: source %s, %v", name, m.Source, err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("more than a record a message: %v", err)
		}
	}
}

// A server that never answers: the run ends when --timeout says, with nothing on
// stdout, and the password is nowhere in what it says.
func TestTimeout(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	t.Setenv("PULSE_TEST_PASSWORD", "hunter2")
	var out, errs bytes.Buffer
	status := cmdline.Run(context.Background(), app(), []string{"pulse-fetch", "--timeout", "100ms", "--password-env", "PULSE_TEST_PASSWORD",
		"--insecure-loopback", "imap://me@" + ln.Addr().String() + "/INBOX"}, nil, &out, &errs)
	if status != 75 || out.Len() > 0 || !strings.Contains(errs.String(), "out of time after 100ms") || strings.Contains(errs.String(), "hunter2") {
		t.Errorf("status %d, stdout %q, stderr %q", status, out.String(), errs.String())
	}
}
