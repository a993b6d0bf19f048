package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// TestUnavailable: a mailbox with messages on which the server dies, or that it
// refuses, goes through the whole pipeline as it is installed. Each has a record that
// every stage takes, an id of its own, and proves nobody; the queue's position passes
// it, and the next run begins behind it.
func TestUnavailable(t *testing.T) {
	dir := t.TempDir()
	if err := cmdlinetest.Build(dir, "pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	one := fetched(1, 12) + body
	searches := make(chan string, 10)
	server := answers{
		"EXAMINE":   text("* 4 EXISTS\r\n* OK [UIDVALIDITY 7] x\r\nTAG OK [READ-ONLY] done\r\n"),
		"SEARCH":    text("* SEARCH 1 2 3 4\r\nTAG OK\r\n"),
		"FETCH 1:4": func(w io.Writer, tag string) { text(one)(w, tag); hangUp(w, tag) },
		"FETCH 1":   text(one + "TAG OK\r\n"), "FETCH 2": hangUp, "FETCH 3:4": text("TAG NO [SERVERBUG] no\r\n"),
		"FETCH 3": text(fetched(3, 12) + body + "TAG OK\r\n"), "FETCH 4": text("TAG NO [SERVERBUG] no\r\n"),
		"SEARCH UID": func(w io.Writer, tag string) {
			searches <- "resumed"
			text("* SEARCH 4\r\nTAG OK\r\n")(w, tag) // "5:*" finds the last
		},
	}
	line := `set -o pipefail; export PULSE_POLICY=policy.toml PULSE_QUEUE=queue
[ -e policy.toml ] || (umask 077; pulse-authorize init --owner me@example.com --agent agent@example.com >policy.toml; pulse-queue init --queue queue)
pulse-fetch --timeout 10m --insecure-loopback --password-env PULSE_TEST_PASSWORD imap://me@` + server.serve(t) + `/INBOX | pulse-classify | pulse-authorize | pulse-queue add`
	run := func() (records []map[string]map[string]any, stderr string) {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = filepath.Join(dir, "work")
		cmd.Env = append(os.Environ(), "PULSE_TEST_PASSWORD=secret-of-the-test", "PATH="+dir+":"+os.Getenv("PATH"))
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		for line := range strings.Lines(out.String()) {
			var rec map[string]map[string]any
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			records = append(records, rec)
		}
		return records, errs.String()
	}
	if err := os.Mkdir(filepath.Join(dir, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	records, stderr := run()
	if len(records) != 4 {
		t.Fatalf("%d records: %s", len(records), stderr)
	}
	ids := map[any]bool{}
	for i, rec := range records {
		m, id := rec["message"], rec["identity"]
		lost := i == 1 || i == 3
		if m["uid"] != float64(i+1) || lost != (fmt.Sprint(m["defects"]) == "[unavailable]") || lost != (fmt.Sprint(m["headers"]) == "[]") {
			t.Errorf("%v", m)
		}
		if lost && (id["verified"] != false || id["reason"] != "defective" || m["id"] != m["digest"]) {
			t.Errorf("%v of %v", id, m)
		}
		if lost != strings.Contains(stderr, fmt.Sprintf("pulse-fetch: warning: UID %d is unavailable", i+1)) {
			t.Errorf("%s", stderr)
		}
		ids[rec["task"]["id"]] = true
	}
	if len(ids) != 3 { // 1 and 3 are one mail
		t.Errorf("%d ids: %v", len(ids), ids)
	}
	if records, stderr = run(); len(records) != 0 || stderr != "" || len(searches) != 1 {
		t.Errorf("the next run: %d records, %d searches: %s", len(records), len(searches), stderr)
	}
}
