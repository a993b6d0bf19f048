// Package cmd_test runs the whole pipeline, as cron would, against a real server.
package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/mailbox/dovecottest"
	"pulse/lib/shared/cmdline/cmdlinetest"
)

// bin holds the commands.
var bin string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pulse-bin")
	if err == nil {
		bin = dir
		err = cmdlinetest.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

const receiver = "mx.receiver.example"

// host is a mailbox with a policy and a queue beside it.
type host struct {
	*dovecottest.Server
	dir, queue string
}

func newHost(t testing.TB, folders ...dovecottest.Folder) *host {
	h := &host{Server: dovecottest.Start(t, folders...), dir: t.TempDir()}
	h.queue = filepath.Join(h.dir, "queue")
	h.write(t, "password", dovecottest.Password+"\n")
	h.write(t, "policy.toml", "authserv_id = \""+receiver+"\"\nowners = [\"me@example.com\"]\nallowed_external = [\"friend@partner.example\"]\n"+
		"[limits]\nmax_per_run = 1000\nmax_per_day = 10000\nper_sender_per_hour = 1000\npending_per_sender = 1000\n")
	h.must(t, "pulse-queue init")
	return h
}

func (h *host) write(t testing.TB, name, text string) {
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (h *host) read(t testing.TB, name string) string {
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (h *host) abs(t testing.TB, name string) string {
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (h *host) source() string { return "imaps://" + dovecottest.User + "@" + h.Addr + "/INBOX" }

func (h *host) fetch(flags string) string {
	return fmt.Sprintf("pulse-fetch --queue %s --tls-ca %s --password-file password %s %s", h.queue, h.CA, flags, h.source())
}

// sh runs a bash line in the host's directory, with SHELL as scripts/crontab sets it
// (flock -c starts that), and returns what it printed and its status.
func (h *host) sh(t testing.TB, line string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command("bash", "-c", "set -o pipefail; "+line)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SHELL=/bin/bash", "PULSE_QUEUE="+h.queue, "PULSE_POLICY="+h.dir+"/policy.toml")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs a line that must succeed in silence on stderr.
func (h *host) must(t testing.TB, line string) string {
	t.Helper()
	out, errs, status := h.sh(t, line)
	if status != 0 || errs != "" {
		t.Fatalf("%s\nended with %d and said\n%s", line, status, errs)
	}
	return out
}

// deliver puts n proven mails of the owner into the mailbox.
func (h *host) deliver(t testing.TB, first, n int) {
	t.Helper()
	for i := first; i < first+n; i++ {
		h.Deliver(t, fmt.Sprintf("%d.M%06d.test", time.Now().Unix(), i), []byte(fmt.Sprintf(
			"Authentication-Results: %s; dkim=pass header.d=example.com;\r\n\tdmarc=pass header.from=example.com\r\n"+
				"DKIM-Signature: v=1; d=example.com; s=s1; h=from:to:subject:date:message-id; bh=AbCd; b=EfGh\r\n"+
				"From: Me <me@example.com>\r\nTo: agent@example.com\r\nSubject: mail %d\r\nDate: %s\r\nMessage-ID: <%d@example.com>\r\n\r\nhello %d\r\n",
			receiver, i, time.Now().Format(time.RFC1123Z), i, i)))
	}
}

type receipt struct {
	Message struct {
		ID  string
		UID int
	}
	Identity struct{ Trust, Reason string }
	Task     struct{ ID, State string }
}

func receipts(t *testing.T, lines string) (list []receipt) {
	t.Helper()
	for line := range strings.Lines(lines) {
		var r receipt
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		list = append(list, r)
	}
	return list
}

// TestPipeline: mail goes in at one end, a worker takes it at the other, and the
// mailbox is as it was.
func TestPipeline(t *testing.T) {
	h := newHost(t)
	h.deliver(t, 1, 5)
	before := h.Names(t)
	got := receipts(t, h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add"))
	if len(got) != 5 {
		t.Fatalf("%d receipts", len(got))
	}
	for i, r := range got {
		if r.Identity.Trust != "owner_verified_email" || r.Task.State != "scheduled" || r.Message.ID != fmt.Sprintf("<%d@example.com>", i+1) {
			t.Errorf("receipt %d: %+v", i, r)
		}
	}
	if out := h.must(t, h.fetch("")); out != "" {
		t.Errorf("the second run fetched again: %s", out)
	}
	h.must(t, `pulse-queue run -- sh -c 'jq -r .message.subject >> ran'`)
	if out := h.must(t, "cat ran"); out != "mail 1\nmail 2\nmail 3\nmail 4\nmail 5\n" {
		t.Errorf("the worker got\n%s", out)
	}
	h.must(t, "pulse-queue verify")
	// Dovecot itself moves new/ to cur/ when a client selects; EXAMINE must not.
	if after := h.Names(t); !slices.Equal(before, after) {
		t.Errorf("file names changed:\n%s\n%s", before, after)
	}
}

// TestResume: many small runs give each message once.
func TestResume(t *testing.T) {
	h := newHost(t)
	seen := map[string]int{}
	for round := range 8 {
		h.deliver(t, round*3, 3)
		for range 2 {
			for _, r := range receipts(t, h.must(t, h.fetch("--limit 2")+" | pulse-classify | pulse-authorize | pulse-queue add")) {
				seen[r.Message.ID]++
			}
		}
	}
	if len(seen) != 24 {
		t.Errorf("%d of 24 messages arrived", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// TestCut: a pipe cut at any stage loses nothing: the next run brings the rest.
func TestCut(t *testing.T) {
	for _, cut := range []string{
		h0 + " | head -n 2 | pulse-classify | pulse-authorize | pulse-queue add",
		h0 + " | pulse-classify | head -n 2 | pulse-authorize | pulse-queue add",
		h0 + " | pulse-classify | pulse-authorize | head -n 2 | pulse-queue add",
		h0 + " | head -c 3000 | pulse-classify | pulse-authorize | pulse-queue add",
		h0 + " | pulse-classify | head -c 3000 | pulse-authorize | pulse-queue add",
		h0 + " | pulse-classify | pulse-authorize | head -c 3000 | pulse-queue add",
		h0 + " | pulse-classify --policy absent | pulse-authorize | pulse-queue add",
		h0 + " | pulse-classify | pulse-authorize --polic | pulse-queue add",
		h0 + " | pulse-classify | pulse-authorize | pulse-queue ad",
		h0 + " | pulse-queue add",
		h0 + " | pulse-classify | pulse-authorize | pulse-queue add | head -n 1",
	} {
		t.Run(cut, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			h.deliver(t, 1, 6)
			h.sh(t, strings.Replace(cut, h0, h.fetch(""), 1))
			h.must(t, h.fetch("")+" | pulse-classify | pulse-authorize | pulse-queue add")
			got := receipts(t, h.must(t, "pulse-queue list --all --json"))
			ids := map[string]bool{}
			for _, r := range got {
				ids[r.Message.ID] = true
			}
			if len(got) != 6 || len(ids) != 6 {
				t.Errorf("%d tasks, %d messages of 6", len(got), len(ids))
			}
			h.must(t, "pulse-queue verify")
		})
	}
}

// h0 stands for the fetch of a host that does not exist yet.
const h0 = "FETCH"
