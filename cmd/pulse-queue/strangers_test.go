package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline"
)

const (
	stranger = `{"message":{"source":"mbox:x","id":"<%d@spam.example>"},"identity":{"sender":"s%d@spam.example","trust":"unknown",` +
		`"verified":false,"stale":false,"automatic":false,"reason":"no_authentication_results","why":""},"decision":{"action":"read_public",` +
		`"outcome":"reject","rule":"matrix.unknown","reason":"not_permitted","why":""}}` + "\n"
	friend = `{"message":{"source":"mbox:x","id":"<%d@partner.example>"},"identity":{"sender":"f%d@partner.example","trust":"external_verified",` +
		`"verified":true,"stale":false,"automatic":false,"reason":"authenticated_external","why":""},"decision":{"action":"read_public",` +
		`"outcome":"allow","rule":"matrix.external_verified.allow","reason":"allowed","why":""}}` + "\n"
	ours = `{"message":{"source":"mbox:x","id":"<%d@example.com>"},"identity":{"sender":"me@example.com","trust":"owner_verified_email",` +
		`"verified":true,"stale":false,"automatic":false,"reason":"authenticated_owner","why":""},"decision":{"action":"read_public",` +
		`"outcome":"allow","rule":"matrix.owner_verified_email.allow","reason":"allowed","why":""}}` + "\n"
)

// command runs pulse-queue in this process.
func command(in io.Reader, args ...string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	status = cmdline.Run(context.Background(), app(), append([]string{"pulse-queue"}, args...), in, &out, &errs)
	return out.String(), errs.String(), status
}

// TestStrangers: a hundred thousand of them cost no file and a thousand lines, and
// the owner's ask that stands behind them is started by the next run. So it is
// behind more externals than a day has starts for.
func TestStrangers(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5000
	}
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.toml")
	text := "authserv_id = \"mx.example.com\"\nowners = [\"me@example.com\"]\nallowed_external = [\"@partner.example\"]\n"
	if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PULSE_QUEUE", filepath.Join(dir, "q"))
	t.Setenv("PULSE_POLICY", policy)
	if _, stderr, status := command(nil, "init"); status != 0 {
		t.Fatal(stderr)
	}
	var in bytes.Buffer
	for i := range n {
		fmt.Fprintf(&in, stranger, i, i)
	}
	for i := range 500 {
		fmt.Fprintf(&in, friend, i, i)
	}
	fmt.Fprintf(&in, ours, 1)
	if out, stderr, status := command(&in, "add"); status != 0 || strings.Count(out, "\n") != n+501 {
		t.Fatalf("exit %d: %s", status, stderr)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "q", "*", "*.json"))
	logs, _ := filepath.Glob(filepath.Join(dir, "q", "audit", "*"))
	log, err := os.ReadFile(logs[0])
	if lines := bytes.Count(log, []byte("\n")); len(files) != 501 || lines != 1000+1+501 || err != nil {
		t.Errorf("%d files, %d lines, %v", len(files), lines, err)
	}
	started := filepath.Join(dir, "started")
	_, stderr, status := command(strings.NewReader(""), "run", "--", "sh", "-c", "cat >>"+started)
	b, err := os.ReadFile(started)
	if status != 0 || err != nil || !bytes.Contains(b, []byte(`"sender":"me@example.com"`)) || bytes.Count(b, []byte("partner.example\",\"trust")) != 5 {
		t.Errorf("exit %d: %s; %v\n%s", status, stderr, err, b)
	}
}
