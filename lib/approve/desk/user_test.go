package desk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	opened "pulse/lib/queue/door"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// TestUserYes: a person says yes under his own account, root starts the sender under a
// third, and all that is well.
func TestUserYes(t *testing.T) {
	w := newThree(t)
	if got := w.health(); got != "" {
		t.Errorf("health of a new queue: %s", got)
	}
	id := w.approved("bob@partner.example")
	w.holds(w.approval(id), w.person.uid, 0o640)
	if log := w.mustBy(w.intake, "", "pulse-queue", "log", "--json"); !strings.Contains(log, `"level":"user"`) || !strings.Contains(log, `"by":"`+w.person.name+" (uid ") {
		t.Errorf("the log: %s", log)
	}
	for range 2 {
		if out, status := w.send("ls " + w.path("home/q") + " 2>&1; cat " + w.approval(id) + " 2>&1; true"); status != 0 {
			t.Errorf("exit %d: %s", status, out)
		}
	}
	if got := w.show(id); w.sent() != 1 || got.State != "completed" {
		t.Errorf("sent %q, %+v", w.read("out/sent"), got)
	}
	if list, _ := filepath.Glob(w.path("home/q/approvals/*")); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
	w.mustBy(w.intake, "", "pulse-queue", "verify")
	w.mustBy(w.person, "", "pulse-queue", "verify")
	w.must(0, "", "pulse-queue", "verify")
	if got := w.health(); got != "" {
		t.Errorf("health: %s", got)
	}
}

// TestWhoMayAnswer: the owner, root, and whoever is no approver.
func TestWhoMayAnswer(t *testing.T) {
	w := newThree(t)
	id := w.propose("bob@partner.example")
	for _, c := range []struct {
		who  account
		want int
		says string
	}{
		{w.intake, 77, "sudo -u APPROVER"}, {account{"root", 0, []uint32{0}}, 77, "sudo -u APPROVER"},
		{w.worker, 64, "one of the group " + w.approvers}, {w.stranger, 64, "one of the group " + w.approvers},
	} {
		status, screen := w.answerBy(w.by(c.who, "pulse-approve", "yes", id))
		if status != c.want || !strings.Contains(screen, c.says) || strings.Contains(screen, "bob@partner.example") {
			t.Errorf("%s: exit %d:\n%s", c.who.name, status, screen)
		}
	}
	// A no takes something back: whoever has a terminal and the queue may.
	if status, screen := w.answerBy(w.by(w.intake, "pulse-approve", "no", id, "--reason", "x")); status != 0 {
		t.Errorf("exit %d:\n%s", status, screen)
	}
	w.require("terminal")
	id = w.propose("eve@partner.example")
	if status, screen := w.answerBy(w.by(w.intake, "pulse-approve", "yes", id)); status != 0 {
		t.Errorf("where a terminal is enough: exit %d:\n%s", status, screen)
	}
	w.holds(w.approval(id), w.intake.uid, 0o640)
	w.require("user")
	w.parks("a yes from before", id)
}

// TestForgedUser: whoever owns the queue, and can write all of it, makes no yes of a
// person.
func TestForgedUser(t *testing.T) { byEachDoor(t, forgedUser) }

func forgedUser(t *testing.T, way door) {
	w := newThree(t).through(way)
	put := "cat >$0; chmod 640 $0"
	for what, forge := range map[string]func(id, text string){
		"as the spool wrote it": func(string, string) {},
		"written by the owner": func(id, text string) {
			w.mustBy(w.intake, text, "/bin/sh", "-c", put, w.approval(id))
		},
		"at a higher level": func(id, text string) {
			w.mustBy(w.intake, strings.Replace(text, `"level":"user"`, `"level":"signature"`, 1), "/bin/sh", "-c", put, w.approval(id))
		},
		"in a file that the person made for all": func(id, text string) {
			w.mustBy(w.person, "", "pulse-queue", "hold")
			w.holds(w.path("home/q/hold"), w.person.uid, 0o660)
			w.mustBy(w.intake, text, "/bin/sh", "-c", "cat >$0; chmod 640 $0; mv $0 $1", w.path("home/q/hold"), w.approval(id))
			w.mustBy(w.person, "", "pulse-queue", "release")
		},
		"the yes to something else": func(id, _ string) {
			real := w.approved("real@partner.example")
			w.mustBy(w.intake, "", "/bin/mv", w.approval(real), w.approval(id))
		},
	} {
		id := w.propose("bob@partner.example")
		w.forge(id)
		text, err := os.ReadFile(w.approval(id))
		w.do(err)
		forge(id, strings.Replace(string(text), `"level":"terminal"`, `"level":"user"`, 1))
		if out, status := w.send(); status != 0 {
			t.Errorf("%s: %s", what, out)
		}
		if got := w.show(id); got.State != "awaiting_review" || got.Reason != "approval_not_good" || w.sent() > 0 {
			t.Errorf("%s: %+v, sent %q", what, got, w.read("out/sent"))
		}
		if status, screen := w.answerBy(w.by(w.person, "pulse-approve", "no", id, "--reason", "x")); status != 0 {
			t.Errorf("exit %d:\n%s", status, screen)
		}
		os.Remove(w.path("out/sent")) // of the genuine one
	}
}

// TestOwnersReach: what the owner can't do to a person's yes, and the worker to anything.
func TestOwnersReach(t *testing.T) {
	w := newThree(t)
	id := w.approved("bob@partner.example")
	for _, c := range []struct {
		who    account
		script string
	}{
		{w.intake, "echo x >>$0"}, {w.intake, "chmod 660 $0"},
		{w.worker, "cat $0"}, {w.worker, "ls $(dirname $0)"}, {w.worker, "echo >$(dirname $0)/x"}, {w.stranger, "cat $0"},
		{w.worker, "ls " + w.path("home/q")}, {w.worker, "cat " + w.path("home/q/groups")},
	} {
		if out, status := w.runBy(c.who, "", "/bin/sh", "-c", c.script, w.approval(id)); status == 0 {
			t.Errorf("%s: %s: %s", c.who.name, c.script, out)
		}
	}
	w.send()
	if w.sent() != 1 {
		t.Error("the yes is not good any more")
	}
}

// TestNothingHappenedIsStillHis: 75 gives the yes back to whom it was of.
func TestNothingHappenedIsStillHis(t *testing.T) {
	w := newThree(t)
	id := w.approved("bob@partner.example")
	if out, status := w.send("exit 75"); status != 0 {
		t.Fatalf("exit %d: %s", status, out)
	}
	if got := w.show(id); got.State != "scheduled" {
		t.Fatalf("%+v", got)
	}
	w.holds(w.approval(id), w.person.uid, 0o640)
	w.mustBy(w.intake, "", "pulse-queue", "verify")
	if claim := w.claim(time.Now().Add(2 * time.Minute)); claim == nil || claim.Task.ID != id {
		t.Errorf("it does not start again: %+v", claim)
	}
	w.holds(strings.Replace(w.approval(id), ".json", ".spent", 1), w.person.uid, 0o640)
	w.mustBy(w.intake, "", "pulse-queue", "verify")
}

// claim starts what is due at a time, as root's run would.
func (w *three) claim(now time.Time) (claim *queue.Claim) {
	w.t.Helper()
	s, err := spool.Open(w.path("home/q"))
	w.do(err)
	defer s.Close()
	p, err := policy.Parse(w.path("etc/policy.toml"), []byte(w.read("etc/policy.toml")))
	w.do(err)
	run := queue.Run{Policy: p, Effect: terms.ExternalSend, Max: 1, Now: func() time.Time { return now }}
	run.Vouch, err = desk.VouchFor(p, opened.Keeper{Dir: s.Dir()}, &desk.Rights{UID: int(w.worker.uid)})
	w.do(err)
	w.do(queue.Update(s, func(tx *queue.Tx) error {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	}))
	return claim
}

// TestRedoneByTheOwner: what a crash makes the owner carry out is no yes of the person.
func TestRedoneByTheOwner(t *testing.T) {
	w := newThree(t)
	id := w.propose("bob@partner.example")
	before, err := os.ReadFile(w.path("home/q/checkpoint"))
	w.do(err)
	for _, next := range []account{w.intake, w.person} {
		w.yes(id)
		w.do(os.WriteFile(w.path("home/q/checkpoint"), before, 0o660)) // as if the command had died
		w.mustBy(next, "", "pulse-queue", "list")
		w.holds(w.approval(id), next.uid, 0o660)
		w.parks("redone by "+next.name, id)
		before, err = os.ReadFile(w.path("home/q/checkpoint"))
		w.do(err)
	}
	w.yes(id)
	w.send()
	if w.sent() != 1 {
		t.Errorf("asked again, and not started: %+v", w.show(id))
	}
}

// TestNoMoreAnApprover: a yes counts while who gave it is one.
func TestNoMoreAnApprover(t *testing.T) {
	w := newThree(t)
	id := w.approved("bob@partner.example")
	w.system("gpasswd", "-d", w.person.name, w.approvers)
	w.parks("taken out of the group", id)
}

// TestRunRefuses: what a run can see that would let its worker answer.
func TestRunRefuses(t *testing.T) {
	w := newThree(t)
	sending := func(as string) []string {
		return []string{"run", "--effect", "external_send", "--as", as, "--", "/bin/true"}
	}
	for _, c := range []struct {
		args []string
		who  account
	}{
		{sending(w.intake.name), account{uid: 0, groups: []uint32{0}}},
		{sending(w.person.name), account{uid: 0, groups: []uint32{0}}},
		{[]string{"run", "--", "/bin/true"}, account{uid: 0, groups: []uint32{0}}},
		{[]string{"run", "--", "/bin/true"}, w.intake},
		{[]string{"run", "--", "/bin/true"}, w.person},
	} {
		if out, status := w.runBy(c.who, "", "pulse-queue", c.args...); status != 64 || !strings.Contains(out, "approval.require is user") {
			t.Errorf("%v as uid %d: exit %d: %s", c.args, c.who.uid, status, out)
		}
	}
	w.require("user", `approver_group = "root"`)
	if out, status := w.send(); status != 64 || !strings.Contains(out, "approval.approver_group is root") {
		t.Errorf("a queue of another group: exit %d: %s", status, out)
	}
	w.require("user", fmt.Sprintf("approver_group = %q", w.approvers))
	if out, status := w.send(); status != 0 {
		t.Errorf("a queue of that group: exit %d: %s", status, out)
	}
	w.do(os.Chown(w.path("etc"), int(w.worker.uid), -1))
	if out, status := w.send(); status != 64 {
		t.Errorf("a policy that the worker can replace: exit %d: %s", status, out)
	}
}

// TestHealthOfThree: each way to undo what was set up is found.
func TestHealthOfThree(t *testing.T) {
	w := newThree(t)
	root := func(args ...string) func() { return func() { w.system(args[0], args[1:]...) } }
	q := w.path("home/q")
	for _, c := range []struct {
		want     string
		do, undo func()
	}{
		{"modes", root("chmod", "2750", q+"/approvals"), root("chmod", "2770", q+"/approvals")},
		{"modes", root("chmod", "g-s", q), root("chmod", "2770", q)},
		{"modes", root("chmod", "0666", q+"/agenda"), root("chmod", "0660", q+"/agenda")},
		{"modes", root("chgrp", w.workers, q+"/grants"), root("chgrp", w.approvers, q+"/grants")},
		{"not_separated", root("usermod", "-aG", w.approvers, w.worker.name), root("gpasswd", "-d", w.worker.name, w.approvers)},
		{"forgeable", root("chown", w.worker.name, w.dir), root("chown", "root", w.dir)},
		{"forgeable", func() { w.require("user", `approver_group = "root"`) }, func() { w.require("user", `approver_group = "`+w.approvers+`"`) }},
	} {
		c.do()
		if got := w.health(); got != c.want {
			t.Errorf("%s: %q", c.want, got)
		}
		c.undo()
		if got := w.health(); got != "" {
			t.Errorf("%s, undone: %q", c.want, got)
		}
	}
	w.mustBy(w.intake, "", "pulse-queue", "init", "--queue", w.path("home/alone"))
	out, status := w.runBy(w.intake, "", "pulse-queue", "health", "--max", "silent=0", "--queue", w.path("home/alone"))
	if status != 1 || !strings.Contains(out, "forgeable: ") || !strings.Contains(out, "init --approver-group") {
		t.Errorf("a queue of one account: exit %d: %s", status, out)
	}
}

// TestConsumeOfThree: what the person granted is spent once, by a command that can't look
// up any more who may grant; what a member granted who is none any more counts for nothing.
func TestConsumeOfThree(t *testing.T) {
	w := newThree(t)
	for range 2 {
		if status, screen := w.answerBy(w.by(w.person, "pulse-approve", "grant", "bob@partner.example")); status != 0 {
			t.Fatalf("exit %d:\n%s", status, screen)
		}
	}
	consume := func(want int) {
		t.Helper()
		if out, status := w.runBy(w.intake, "", "pulse-approve", "consume", "bob@partner.example"); status != want {
			t.Errorf("exit %d, want %d: %s", status, want, out)
		}
	}
	consume(0)
	w.system("gpasswd", "-d", w.person.name, w.approvers)
	consume(77)
	w.system("gpasswd", "-a", w.person.name, w.approvers)
	consume(0)
	consume(77)
}

// TestSnapshotForWorkers: the worker reads the copy, and nobody writes it.
func TestSnapshotForWorkers(t *testing.T) {
	w := newThree(t)
	id := w.approved("bob@partner.example")
	w.mustBy(w.person, "", "pulse-queue", "hold")
	for copied, who := range map[string]account{w.path("home/copy"): w.intake, w.path("copy"): {uid: 0, groups: []uint32{0}}} {
		w.mustBy(who, "", "pulse-queue", "snapshot", copied)
		w.mustBy(who, "", "pulse-queue", "snapshot", copied)
		if out := w.mustBy(w.worker, "", "pulse-queue", "list", "--queue", copied); !strings.Contains(out, id[:8]) {
			t.Errorf("by %d: %s", who.uid, out)
		}
		for _, script := range []string{"echo >$0/x", "echo >>$0/format", "ls $0/approvals"} {
			if out, status := w.runBy(w.worker, "", "/bin/sh", "-c", script, copied); status == 0 {
				t.Errorf("%s: %s", script, out)
			}
		}
		if out, status := w.runBy(w.stranger, "", "/bin/ls", copied); status == 0 {
			t.Errorf("a stranger reads it: %s", out)
		}
	}
	if out, status := w.runBy(w.worker, "", "pulse-queue", "list"); status != 64 {
		t.Errorf("the worker reads the queue: exit %d: %s", status, out)
	}
}

// TestSnapshotTakesNobodysSecrets: what the owner can't read root does not read for
// him, wherever the owner has moved it.
func TestSnapshotTakesNobodysSecrets(t *testing.T) {
	w := newThree(t)
	id := w.propose("bob@partner.example")
	w.do(os.WriteFile(w.path("home/secret"), []byte("secret\n"), 0o600))
	for _, to := range []string{"results/" + id, "results/0123456789abcdef0123456789abcdef"} {
		w.mustBy(w.intake, "", "/bin/mv", w.path("home/secret"), w.path("home/q/"+to))
		w.run(0, "", "pulse-queue", "snapshot", w.path("copy"))
		if got := w.read("copy/" + to); got != "" {
			t.Errorf("%s: root copied %q", to, got)
		}
		w.do(os.Rename(w.path("home/q/"+to), w.path("home/secret")))
	}
}

// TestGroupsOfAQueue: whom init takes, and that it changes nothing later.
func TestGroupsOfAQueue(t *testing.T) {
	w := newThree(t)
	other := w.path("home/other")
	for _, c := range []struct {
		who  account
		args []string
		want int
		says string
	}{
		{w.intake, []string{"--queue", other, "--approver-group", "no-such-group"}, 64, "groupadd"},
		{w.intake, []string{"--queue", other, "--approver-group", w.approvers, "--worker-group", w.approvers}, 64, "both"},
		{w.stranger, []string{"--queue", other, "--approver-group", w.approvers}, 64, "usermod -aG " + w.approvers},
		{w.intake, []string{"--approver-group", w.workers}, 64, "made already"},
		{w.intake, []string{"--approver-group", w.approvers}, 64, "made already"},
		{w.intake, []string{"--approver-group", w.approvers, "--worker-group", w.workers}, 0, ""},
		{w.intake, nil, 0, ""},
		{w.intake, []string{"--queue", other, "--worker-group", w.workers}, 0, ""},
		{w.intake, []string{"--queue", other, "--approver-group", w.approvers}, 64, "made already"},
	} {
		if out, status := w.runBy(c.who, "", "pulse-queue", append([]string{"init"}, c.args...)...); status != c.want || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit %d: %s", c.args, status, out)
		}
	}
	for path, mode := range map[string]os.FileMode{other: 0o700, other + "/approvals": 0o700, other + "/groups": 0o600, other + "/lock": 0o600} {
		w.holds(path, w.intake.uid, mode)
	}
	// The marker counts only as the owner left it.
	for _, spoil := range [][]string{{"chmod", "0660"}, {"chown", w.person.name}, {"sed", "-i", "s/_gid\":[0-9]*/_gid\":1/"}, {"rm"}} {
		w.system("cp", "-a", w.path("home/q/groups"), w.path("saved"))
		w.system(spoil[0], append(spoil[1:], w.path("home/q/groups"))...)
		for _, who := range []account{w.intake, w.person, {uid: 0, groups: []uint32{0}}} {
			if out, status := w.runBy(who, "", "pulse-queue", "list"); status != 64 {
				t.Errorf("%v, as %d: exit %d: %s", spoil, who.uid, status, out)
			}
		}
		w.system("cp", "-a", w.path("saved"), w.path("home/q/groups"))
	}
	w.mustBy(w.person, "", "pulse-queue", "list")
}
