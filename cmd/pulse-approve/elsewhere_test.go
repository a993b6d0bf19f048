package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// keyed is a world whose policy names a key.
func keyed(t *testing.T) *world {
	d := newDesk(t)
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "me", "-f", d.path("key")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	d.write("signers", "me@example.com "+d.read("key.pub"))
	d.write("policy.toml", rules+fmt.Sprintf("[approval]\nallowed_signers = %q\n", d.path("signers")))
	return d
}

// signs returns a signature over a line.
func (d *world) signs(line []byte) string {
	d.t.Helper()
	return d.must(string(line), "ssh-keygen", "-q", "-Y", "sign", "-n", "pulse-approve", "-f", d.path("key"))
}

// waits lets a task have come to wait at another time, and returns it.
func (d *world) waits(id string, since time.Time) (s queue.Stored) {
	d.t.Helper()
	q, err := spool.Open(d.path("q"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer q.Close()
	err = queue.Update(q, func(tx *queue.Tx) error {
		if s, err = queue.Find(tx, id); err != nil {
			return err
		}
		line := audit.Line{Time: since, Task: id, Digest: s.Task.Digest, Kind: s.Task.Kind, Action: s.Decision.Action, Sender: s.Identity.Sender}
		line.Change = task.Change{Since: since, Reason: "approval_not_good"}
		for _, move := range []struct {
			event    task.Event
			from, to task.State
		}{{task.Approved, task.Awaiting, task.Scheduled}, {task.Parked, task.Scheduled, task.Awaiting}} {
			line.Event, line.From, line.To = move.event, move.from, move.to
			if err := tx.Move(line); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = q.View(func(v store.View) (err error) {
			s, err = queue.Find(v, id)
			return err
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// TestSignedInTime: an answer counts from when the task came to wait until it may wait no
// longer, whether the signature is good or not.
func TestSignedInTime(t *testing.T) {
	const wait = 336 * time.Hour
	d := keyed(t)
	id := d.add(proposal)
	d.late(t, "too late", id, time.Now().Add(-wait), 77)
	d.late(t, "not yet", id, time.Now().Add(time.Hour), 77)
	d.late(t, "at the last", id, time.Now().Add(time.Minute-wait), 0)
}

// late answers a task that came to wait at another time.
func (d *world) late(t *testing.T, name, id string, since time.Time, want int) {
	t.Helper()
	s := d.waits(id, since)
	a := queue.Asked(&s, new(clock.Clock), 336*time.Hour)
	out, status := d.run("", "pulse-approve", "statement", id)
	if (status == 0) != (want == 0) || status != 0 && (status != 1 || out != "") || status == 0 && !strings.HasSuffix(out, "\n"+string(a.Statement())) {
		t.Errorf("%s: statement: exit %d: %s", name, status, out)
	}
	for _, answer := range []struct {
		verb string
		line []byte
	}{{"no", a.Refusal()}, {"yes", a.Statement()}} {
		if answer.verb == "no" && want == 0 {
			continue
		}
		_, status := d.run(d.signs(answer.line), "pulse-approve", answer.verb, id, "--signature", "-")
		if got := d.show(id).State; status != want || (got == "awaiting_review") != (want != 0) {
			t.Errorf("%s: %s: exit %d, it is %s", name, answer.verb, status, got)
		}
	}
}

// TestTakeIsBrief: whoever writes a line chooses how long it is, and what take says of it is
// short all the same.
func TestTakeIsBrief(t *testing.T) {
	d := keyed(t)
	long := strings.Repeat("\u0430", 100_000)
	const until = `"not_before":"2026-01-01T00:00:00Z","expires":"2027-01-01T00:00:00Z"}` + "\n"
	d.write("answers", `{"pulse-grant":1,"id":"0123456789abcdef","any":false,"target":"`+long+`","task":null,`+until+
		`{"pulse-session":1,"id":"0123456789abcdef","sender":"`+long+`","max":1,`+until+
		`{"pulse-approve":1,"task":"`+long+`","digest":"","action":"","target":[],"nonce":"",`+until)
	out, status := d.run("", "pulse-approve", "take", d.path("answers"))
	if n := strings.Count(out, ": left: no signature follows it\n"); status != 77 || n != 3 || len(out) > 3000 {
		t.Errorf("exit %d, %d lines, %d bytes: %.500s", status, n, len(out), out)
	}
}

// TestTakeAll: however many answers a file holds that don't count, the last one is read, what
// is said of them is bounded, and ssh-keygen is started for what may be good alone.
func TestTakeAll(t *testing.T) {
	d := keyed(t)
	id := d.add(proposal)
	s := d.waits(id, time.Now().Add(-time.Minute))
	a := queue.Asked(&s, new(clock.Clock), 336*time.Hour)
	good := string(a.Statement()) + d.signs(a.Statement())
	d.must("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", d.path("other"))
	unlisted := string(a.Statement()) + d.must(string(a.Statement()), "ssh-keygen", "-q", "-Y", "sign", "-n", "pulse-approve", "-f", d.path("other"))
	forged := strings.Replace(good, `"expires":"2`, `"expires":"3`, 1)
	grant := d.must("", "pulse-approve", "statement", "--grant", "bob@partner.example")
	grant = grant[strings.LastIndex(strings.TrimSpace(grant), "\n")+1:]
	copied := grant + d.signs([]byte(grant))
	const n = 4000
	d.write("answers", strings.Repeat(unlisted, n)+strings.Repeat(forged, n)+strings.Repeat(copied, n)+good)
	tool, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Fatal(err)
	}
	d.write("ssh-keygen", "#!/bin/sh\necho >>"+d.path("started")+"\nexec "+tool+` "$@"`+"\n")
	if err := os.Chmod(d.path("ssh-keygen"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", d.dir+":"+os.Getenv("PATH"))
	out, status := d.run("", "pulse-approve", "take", d.path("answers"))
	if !strings.HasSuffix(out, fmt.Sprintf(": yes to task %s: approved\n%s: %d more were left\n", id, d.path("answers"), 3*n-1-10_000)) || status != 77 {
		t.Errorf("exit %d: %s", status, out[max(0, len(out)-500):])
	}
	if n := strings.Count(out, "\n"); n != 10_000+3 {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(out, ": granted\n"); n != 1 {
		t.Errorf("%d grants", n)
	}
	if n := len(d.read("started")); n != 4 {
		t.Errorf("ssh-keygen was started %d times", n)
	}
}
