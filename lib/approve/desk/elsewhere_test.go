package desk_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// lineOf returns the line that statement prints for the queue's owner.
func (w *world) lineOf(uid uint32, args ...string) string {
	w.t.Helper()
	out := strings.TrimSuffix(w.must(uid, "", "pulse-approve", append([]string{"statement"}, args...)...), "\n")
	return out[strings.LastIndexByte(out, '\n')+1:] + "\n"
}

// signs returns a signature over a line, made where the key is.
func (w *world) signs(key, line string) string {
	w.t.Helper()
	cmd := exec.Command("ssh-keygen", "-q", "-Y", "sign", "-n", "pulse-approve", "-f", w.path("keys/"+key))
	cmd.Stdin = strings.NewReader(line)
	out, err := cmd.Output()
	w.do(err)
	return string(out)
}

// TestSignedElsewhere: the queue's owner brings a yes that a person signed elsewhere. It
// starts the effect once, whatever is put back into the queue.
func TestSignedElsewhere(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	line := w.lineOf(intake, id)
	armor := w.signs("id", line)
	w.must(intake, armor, "pulse-approve", "yes", id, "--signature", "-")
	saved := w.approvalOf(id)
	if w.send("exit 75"); w.sent() != 1 || w.show(id).State != "scheduled" || strings.Count(w.read("ledger/nonces"), "\n") != 2 {
		t.Fatalf("%+v, the ledger:\n%s", w.show(id), w.read("ledger/nonces"))
	}
	w.must(intake, "", "pulse-queue", "cancel", id)
	if out, status := w.run(intake, armor, "pulse-approve", "yes", id, "--signature", "-"); status != 77 {
		t.Errorf("exit %d: %s", status, out)
	}
	w.forge("the genuine one", id, saved)
	w.send()
	if got := w.sent(); got != 2 {
		t.Fatalf("what was given back was sent %d times", got)
	}
	w.forge("the genuine one", id, saved)
	if w.send(); w.sent() != 2 || w.show(id).Reason != "approval_not_good" {
		t.Errorf("sent %d times, %+v", w.sent(), w.show(id))
	}
}

// TestSupersededElsewhere: what was signed elsewhere and never used dies with the start on
// another yes, long after the question.
func TestSupersededElsewhere(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.must(intake, w.signs("id", w.lineOf(intake, id)), "pulse-approve", "yes", id, "--signature", "-")
	saved := w.approvalOf(id)
	w.must(intake, "", "pulse-queue", "cancel", id)
	second() // times count in whole seconds
	if status, screen := w.answer([]string{"PULSE_KEY=" + w.path("keys/id")}, "pulse-queue", "requeue", id); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	if w.send(); w.sent() != 1 {
		t.Fatalf("sent %d times", w.sent())
	}
	w.forge("the genuine one", id, saved)
	if w.send(); w.sent() != 1 || w.show(id).Reason != "approval_not_good" {
		t.Errorf("sent %d times, %+v", w.sent(), w.show(id))
	}
}

// second waits until the clock shows another second.
func second() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }

// TestTakenAtOnce: of many commands that take the same answer one does, and a no that comes
// at the same time as a yes does not count beside it.
func TestTakenAtOnce(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	yes, no := w.lineOf(intake, id), w.lineOf(intake, id, "--no")
	w.write("yes", yes+w.signs("id", yes))
	w.write("no", no+w.signs("id", no))
	var group sync.WaitGroup
	outs := make([]string, 10)
	for i := range outs {
		group.Go(func() { outs[i], _ = w.run(intake, "", "pulse-approve", "take", w.path([]string{"yes", "no"}[i%2])) })
	}
	group.Wait()
	all := strings.Join(outs, "")
	if n := strings.Count(all, ": approved\n") + strings.Count(all, ": refused\n"); n != 1 || strings.Count(all, ": left: ") != 9 {
		t.Errorf("%d counted:\n%s", n, all)
	}
	log := w.must(intake, "", "pulse-queue", "log", "--json")
	if n := strings.Count(log, `"event":"approved"`) + strings.Count(log, `"event":"denied"`); n != 1 {
		t.Errorf("%d answers in the log:\n%s", n, log)
	}
	w.must(intake, "", "pulse-queue", "verify")
}

// keyed gives three a key, and a policy of a level that names it.
func (w *three) keyed(level string) {
	w.t.Helper()
	for name, mode := range map[string]os.FileMode{"keys": 0o700, "ledger": 0o700} {
		w.do(os.MkdirAll(w.path(name), mode))
	}
	if w.read("keys/id.pub") == "" {
		w.key("id", "-t", "ed25519")
	}
	w.allow(`namespaces="pulse-approve"`)
	w.require(level, fmt.Sprintf("allowed_signers = %q", w.path("etc/allowed_signers")), fmt.Sprintf("ledger = %q", w.path("ledger/nonces")))
}

// TestSignedAtLevelUser: a yes that a person signed counts beside those of approvers, though
// the queue's owner wrote its file; what only says that it is signed does not.
func TestSignedAtLevelUser(t *testing.T) {
	w := newThree(t)
	w.keyed("user")
	id := w.propose("bob@partner.example")
	line := w.lineOf(w.intake.uid, id)
	w.mustBy(w.intake, w.signs("id", line), "pulse-approve", "yes", id, "--signature", "-")
	w.holds(w.approval(id), w.intake.uid, 0o640)
	genuine := w.read("home/q/approvals/" + id + ".json")
	w.mustBy(w.intake, "", "pulse-queue", "verify")
	if out, status := w.send(); status != 0 || w.sent() != 1 || strings.Count(w.read("ledger/nonces"), " spent ") != 1 {
		t.Fatalf("exit %d, sent %d, the ledger %q: %s", status, w.sent(), w.read("ledger/nonces"), out)
	}
	for what, change := range map[string]func(string) string{
		"the genuine one for another task": func(text string) string { return text },
		"with its targets":                 func(text string) string { return strings.Replace(text, "bob@", "with-its-targets@", 1) },
		"without a signature":              func(text string) string { return text[:strings.Index(text, `,"signature"`)] + "}\n" },
	} {
		other := w.propose(strings.ReplaceAll(what, " ", "-") + "@partner.example")
		w.forge(other)
		w.mustBy(w.intake, change(strings.Replace(genuine, id, other, 1)), "/bin/sh", "-c", "cat >$0; chmod 640 $0", w.approval(other))
		w.parks(what, other)
		if status, screen := w.answerBy(w.by(w.person, "pulse-approve", "no", other, "--reason", "x")); status != 0 {
			t.Fatalf("exit %d:\n%s", status, screen)
		}
	}
	if got := w.approved("carol@partner.example"); got == "" || w.sent() != 1 {
		t.Error("no approver")
	}
	if w.send(); w.sent() != 2 {
		t.Errorf("a yes of an approver's account: sent %d", w.sent())
	}
	if got := w.health(); got != "" {
		t.Errorf("health: %s", got)
	}
}

// TestSignedAtLevelUserUnguarded: where others than root could change what makes a signature
// good, none is taken and none counts; the accounts of approvers count as before.
func TestSignedAtLevelUserUnguarded(t *testing.T) {
	w := newThree(t)
	w.keyed("user")
	id, taken := w.propose("bob@partner.example"), w.propose("eve@partner.example")
	w.mustBy(w.intake, w.signs("id", w.lineOf(w.intake.uid, taken)), "pulse-approve", "yes", taken, "--signature", "-")
	armor := w.signs("id", w.lineOf(w.intake.uid, id))
	w.do(os.Chown(w.path("etc/allowed_signers"), int(w.intake.uid), 0))
	if out, status := w.runBy(w.intake, armor, "pulse-approve", "yes", id, "--signature", "-"); status != 64 || !strings.Contains(out, "approval.allowed_signers") {
		t.Errorf("exit %d: %s", status, out)
	}
	w.parks("a signature that proves nothing", taken)
	w.yes(id)
	if w.send(); w.sent() != 1 {
		t.Errorf("a yes of an approver's account: sent %d", w.sent())
	}
	if got := w.health(); got != "forgeable" {
		t.Errorf("health: %q", got)
	}
	w.do(os.Chown(w.path("etc/allowed_signers"), 0, 0))
	w.do(os.Remove(w.path("etc/allowed_signers"))) // somebody edits it
	carol := w.approved("carol@partner.example")
	if w.send(); w.show(carol).State != "completed" {
		t.Errorf("without keys: %+v", w.show(carol))
	}
	w.keyed("user")
	dave := w.propose("dave@partner.example")
	w.mustBy(w.intake, w.signs("id", w.lineOf(w.intake.uid, dave)), "pulse-approve", "yes", dave, "--signature", "-")
	w.do(os.Remove(w.path("etc/allowed_signers")))
	if out, status := w.send(); status != 75 || w.show(dave).State != "scheduled" {
		t.Errorf("signed, without keys: exit %d, %+v: %s", status, w.show(dave), out)
	}
	w.keyed("user")
	if w.send(); w.show(dave).State != "completed" {
		t.Errorf("%+v", w.show(dave))
	}
}

// TestTakeKilledAtEverySync: whenever the command that takes answers dies, each of them is
// recorded or not, and taking them again records what is missing, and nothing twice.
func TestTakeKilledAtEverySync(t *testing.T) {
	halves := 0
	for n := 1; ; n++ {
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		yes, grant := w.lineOf(intake, id), w.lineOf(intake, "--grant", "eve@partner.example")
		w.write("answers", yes+w.signs("id", yes)+grant+w.signs("id", grant))
		bin, err := built()
		w.do(err)
		take := []string{bin + "/pulse-approve", "take", w.path("answers")}
		args := append([]string{"-f", "-qq", "-o", w.path("home/trace"), "-e", "trace=fsync,fdatasync",
			"-e", fmt.Sprintf("inject=fsync,fdatasync:signal=KILL:when=%d", n)}, take...)
		first, status := w.run(intake, "", "/usr/bin/strace", args...)
		died := strings.Contains(w.read("home/trace"), "killed by SIGKILL")
		if !died && (status != 0 || strings.Count(first, "ed\n") != 2) {
			t.Fatalf("with nobody killed: exit %d: %s", status, first)
		}
		second, _ := w.run(intake, "", take[0], take[1:]...)
		log := w.must(intake, "", "pulse-queue", "log", "--json")
		for _, event := range []string{`"event":"approved"`, `"event":"granted"`} {
			if strings.Count(log, event) != 1 {
				t.Errorf("killed at sync %d: %d times %s:\n%s%s", n, strings.Count(log, event), event, first, second)
			}
		}
		if w.show(id).State != "scheduled" || strings.Count(w.must(intake, "", "pulse-approve", "grants", "--json"), "\n") != 1 {
			t.Errorf("killed at sync %d: %+v", n, w.show(id))
		}
		w.must(intake, "", "pulse-queue", "verify")
		if strings.Count(second, ": left: ") == 1 {
			halves++
		}
		if !died {
			break
		}
		if n > 100 {
			t.Fatal("it never ends")
		}
	}
	if halves == 0 {
		t.Error("nobody was killed between two answers: this test can't fail")
	}
}
