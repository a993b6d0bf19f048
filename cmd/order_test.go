package cmd_test

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// TestLateRecord: what pulse-queue add has committed while its input paused moves no position, if
// a record comes late. The run that follows loses nothing.
func TestLateRecord(t *testing.T) {
	d := newDesk(t, "")
	record := func(uid string) string {
		return `{"message":{"source":"imaps://me@imap.example.net/INBOX","uid":` + uid + `,"uidvalidity":7,"id":"<` + uid + `@example.com>","headers":[],"defects":[]},` +
			`"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"reason":"authenticated_owner","why":"","stale":false,"automatic":false},` +
			`"decision":{"action":"read_public","outcome":"allow","rule":"r","reason":"allowed","why":""}}` + "\n"
	}
	add := func(uids ...string) (receipts int, err error) {
		cmd := exec.Command(bin+"/pulse-queue", "add")
		cmd.Env = []string{"HOME=" + d.dir, "PULSE_POLICY=" + d.dir + "/policy.toml", "PULSE_QUEUE=" + d.dir + "/queue"}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(out)
		for _, uid := range uids {
			if _, err := io.WriteString(in, record(uid)); err != nil {
				t.Fatal(err)
			}
			if _, err := r.ReadString('\n'); err != nil {
				break
			}
			receipts++
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		return receipts, cmd.Wait()
	}
	n, err := add("2", "7", "3")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || n != 2 {
		t.Errorf("%d receipts, %v", n, err)
	}
	if got := d.run(t, "pulse-queue positions"); got != "" {
		t.Errorf("the position moved: %s", got)
	}
	if n, err := add("2", "3", "7"); n != 3 || err != nil {
		t.Errorf("in order: %d receipts, %v", n, err)
	}
	if got := d.run(t, "pulse-queue positions"); !strings.Contains(got, `"uid":7}`) {
		t.Errorf("the position did not move: %s", got)
	}
	if got := d.run(t, "pulse-queue list --json | wc -l"); got != "3\n" {
		t.Errorf("%s tasks", got)
	}
}
