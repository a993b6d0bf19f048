package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// approved returns a desk with an effect that a person approved.
func approved(t *testing.T) (d *world, id string) {
	t.Helper()
	d = newDesk(t)
	id = d.add(proposal)
	if status, screen := d.answer(right, "yes", id); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	return d, id
}

func (d *world) approvals() int {
	list, _ := filepath.Glob(d.path("q/approvals/*"))
	return len(list)
}

// send runs the approved effects with a shell script.
func (d *world) send(script string) int {
	d.t.Helper()
	_, status := d.run("", "pulse-queue", "run", "--effect", "external_send", "--", "sh", "-c", script)
	return status
}

const started = "echo started >>" // and a file

// TestEffectStartsOnce: one approval is one start.
func TestEffectStartsOnce(t *testing.T) {
	d, id := approved(t)
	out := d.path("starts")
	if d.approvals() != 1 {
		t.Errorf("%d approvals", d.approvals())
	}
	for range 3 {
		if status := d.send(started + out + "; ls " + d.path("q/approvals") + " >>" + out + "; cat >" + d.path("record")); status != 0 {
			t.Errorf("exit %d", status)
		}
	}
	if got := d.read("starts"); got != "started\n" {
		t.Errorf("starts, and approvals while it ran: %q", got)
	}
	if got := d.show(id); got.State != "completed" || d.approvals() != 0 {
		t.Errorf("%+v, %d approvals", got, d.approvals())
	}
	if rec := d.read("record"); !strings.Contains(rec, `"target":"bob@partner.example"`) || !strings.Contains(rec, id) || strings.Count(rec, "\n") != 1 {
		t.Errorf("the sender was given %q", rec)
	}
	d.must("", "pulse-queue", "verify")
}

// TestEffectsAreNotAsks: a run without --effect, or for another action, leaves
// them alone, and neither is one started that nobody approved.
func TestEffectsAreNotAsks(t *testing.T) {
	d, id := approved(t)
	other := d.add(strings.Replace(proposal, "bob@", "eve@", 1))
	out := d.path("starts")
	for _, args := range [][]string{{}, {"--effect", "destructive"}, {"--effect", "read_public"}} {
		d.must("", "pulse-queue", append(append([]string{"run"}, args...), "--", "sh", "-c", started+out)...)
	}
	if d.read("starts") != "" || d.show(id).State != "scheduled" || d.approvals() != 1 {
		t.Errorf("%q, %+v", d.read("starts"), d.show(id))
	}
	d.send(started + out)
	if d.read("starts") != "started\n" || d.show(other).State != "awaiting_review" {
		t.Errorf("%q, %+v", d.read("starts"), d.show(other))
	}
}

func TestNothingHappenedRestoresTheApproval(t *testing.T) {
	d, id := approved(t)
	d.send("exit 75")
	got := d.show(id)
	if got.State != "scheduled" || d.approvals() != 1 || got.NotBefore.Sub(got.Since) != time.Minute {
		t.Errorf("%+v, %d approvals", got, d.approvals())
	}
	d.send(started + d.path("starts"))
	if d.read("starts") != "" && time.Now().Before(got.NotBefore) {
		t.Error("it did not wait")
	}
}

func TestAnyOtherEndIsUnknown(t *testing.T) {
	for _, script := range []string{"exit 1", "exit 77", "exit 255", "kill -9 $$"} {
		d, id := approved(t)
		if status := d.send(script); status != 0 {
			t.Errorf("%s: run ends with %d", script, status)
		}
		if got := d.show(id); got.State != "awaiting_review" || got.Reason != "effect_unknown" || d.approvals() != 0 {
			t.Errorf("%s: %+v, %d approvals", script, got, d.approvals())
		}
		status, screen := d.answer(right, "yes", id)
		if status != 0 || !strings.Contains(screen, "caution") {
			t.Errorf("%s: exit %d, and no caution:\n%s", script, status, screen)
		}
	}
}

// TestRunnerKilled: the worker goes on; nobody starts its effect again while it
// lives, nor after it without another yes.
func TestRunnerKilled(t *testing.T) {
	d, id := approved(t)
	started, end := d.path("started"), d.path("end")
	if err := os.WriteFile(d.path("worker"), []byte("#!/bin/sh\necho $$ >>"+started+"\nuntil [ -e "+end+" ]; do sleep 0.01; done\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	run := d.command("pulse-queue", "run", "--effect", "external_send", "--", d.path("worker"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for d.read("started") == "" {
		time.Sleep(time.Millisecond)
	}
	run.Process.Kill()
	run.Wait()
	if status := d.send("echo again >>" + started); status != 0 || d.show(id).State != "running" {
		t.Errorf("exit %d, %+v", status, d.show(id))
	}
	pid, err := strconv.Atoi(strings.TrimSpace(d.read("started")))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	d.write("end", "")
	// Its lock is free before the kernel says that it has ended, and the queue looks at both.
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(worker), Events: unix.POLLIN}}, -1); err != unix.EINTR {
			break
		}
	}
	unix.Close(worker)
	d.send("echo again >>" + started)
	if got := d.show(id); got.State != "awaiting_review" || got.Reason != "effect_unknown" || strings.Contains(d.read("started"), "again") {
		t.Errorf("%+v, %q", got, d.read("started"))
	}
	d.must("", "pulse-queue", "verify")
}

// TestApprovalOfOtherBytes: a task file that was edited after the yes is no task
// any more.
func TestApprovalOfOtherBytes(t *testing.T) {
	d, id := approved(t)
	name := "q/scheduled/" + id + ".json"
	d.write(name, strings.Replace(d.read(name), "bob@", "eve@", 1))
	d.send(started + d.path("starts"))
	if got := d.show(id); got.State != "corrupt" || got.Reason != "edited" || d.read("starts") != "" {
		t.Errorf("%+v, %q", got, d.read("starts"))
	}
	if _, status := d.run("", "pulse-queue", "verify"); status != 1 {
		t.Errorf("verify: exit %d", status)
	}
}

// TestPolicyAfterTheYes: the policy of the start decides, whatever a person said. One
// that can't be met here starts nothing.
func TestPolicyAfterTheYes(t *testing.T) {
	for text, state := range map[string]string{
		rules + "[outbound]\nallow = [\"carol@partner.example\"]\n": "rejected",
		rules + "[outbound]\nallow = [\"@PARTNER.example\"]\n":      "completed",
		rules + "[approval]\nrequire = \"user\"\n":                  "scheduled",
		"owners = [\"somebody@else.example\"]\n":                    "rejected",
	} {
		d, id := approved(t)
		d.write("policy.toml", text)
		d.send("cat >/dev/null")
		if got := d.show(id); got.State != state {
			t.Errorf("%s\n%+v, want %s", text, got, state)
		}
	}
}
