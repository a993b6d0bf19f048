package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/jmap/cyrustest"
	"pulse/lib/shared/cmdline"
)

// run runs the program in this process and returns the messages of its records.
func run(t *testing.T, args ...string) (messages []map[string]any, status int, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = cmdline.Run(context.Background(), app(), append([]string{"pulse-fetch", "--sandbox=off"}, args...), nil, &out, &errs)
	for line := range strings.Lines(out.String()) {
		var rec struct{ Message map[string]any }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Fatal(err)
		}
		messages = append(messages, rec.Message)
	}
	return messages, status, errs.String()
}

// TestJMAPEqualsIMAP: for one mailbox of a real server the records are the same over JMAP and
// over IMAP, in every scope, except for where they come from.
func TestJMAPEqualsIMAP(t *testing.T) {
	srv := cyrustest.Start(t)
	names, err := filepath.Glob("../../lib/fetch/message/testdata/broken/*.eml")
	if err != nil || len(names) < 30 {
		t.Fatalf("%d broken mails, %v", len(names), err)
	}
	c, n := srv.Dial(t), 0
	received := time.Now().Add(-10 * time.Hour).Truncate(time.Second)
	add := func(name string, text []byte) {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
		if err := cyrustest.Append(c, "INBOX", text, received.Add(time.Duration(n)*time.Second)); err != nil {
			t.Logf("%s: %v", name, err)
			return
		}
		n++
	}
	for _, name := range names {
		if strings.HasSuffix(name, "-no-boundary.eml") {
			continue // Cyrus has no BODY[TEXT] for it
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add(name, text)
	}
	add("long", []byte("From: a@example.com\nSubject: long\n\n"+strings.Repeat("0123456789 ", 50_000)))
	add("attachment", []byte("From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\nContent-Type: image/png; name=a.png\nContent-Transfer-Encoding: base64\n\n"+strings.Repeat("QUJD", 20_000)+"\n--b--\n"))
	if n < 20 {
		t.Fatalf("the server takes only %d messages", n)
	}
	t.Setenv("PULSE_TEST_PASSWORD", cyrustest.Password)
	for _, scope := range []string{"headers", "snippet", "full"} {
		args := []string{"--scope", scope, "--limit", "1000", "--tls-ca", srv.CA, "--password-env", "PULSE_TEST_PASSWORD", "--auth", "plain"}
		imap, status, stderr := run(t, append(args, "imaps://me@"+srv.IMAP+"/INBOX")...)
		if status != 0 || len(imap) != n {
			t.Fatalf("IMAP: %d of %d, status %d: %s", len(imap), n, status, stderr)
		}
		jmap, status, stderr := run(t, append(args, "jmap:https://me@"+srv.JMAP+"/")...)
		if status != 0 || len(jmap) != n || stderr != "" {
			t.Fatalf("JMAP: %d of %d, status %d: %s", len(jmap), n, status, stderr)
		}
		for i := range imap {
			if want := "jmap:https://me@" + srv.JMAP + "/#INBOX"; jmap[i]["source"] != want {
				t.Errorf("source %v, want %s", jmap[i]["source"], want)
			}
			for _, m := range []map[string]any{imap[i], jmap[i]} {
				for _, own := range []string{"source", "uid", "uidvalidity", "fetched"} {
					delete(m, own)
				}
			}
			if imap[i]["body"] == nil { // IMAP fetches no more of a long one than the scope takes
				delete(jmap[i], "body")
			}
			if !reflect.DeepEqual(imap[i], jmap[i]) {
				t.Errorf("%s, message %d:\n%v\n%v", scope, i, fmt.Sprint(imap[i]), fmt.Sprint(jmap[i]))
			}
		}
	}
}
