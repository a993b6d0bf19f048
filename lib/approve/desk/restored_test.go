package desk_test

import (
	"strings"
	"testing"
)

// TestRestoredByAccount: each account remembers what it committed itself, and a person
// lets the queue go on for the account that starts tasks, as that account. Whoever owns
// the queue can't make root forget.
func TestRestoredByAccount(t *testing.T) {
	w := newThree(t)
	id := w.approved("bob@partner.example")
	w.system("cp", "-a", w.path("home/q"), w.path("home/backup"))
	if out, status := w.send(); status != 0 || w.sent() != 1 {
		t.Fatalf("exit %d, sent %d: %s", status, w.sent(), out)
	}
	w.system("rm", "-r", w.path("home/q"))
	w.system("mv", w.path("home/backup"), w.path("home/q"))
	if out, status := w.send(); status != 75 || w.sent() != 1 || !strings.Contains(out, "as root (uid 0): pulse-queue release --restored --queue") {
		t.Errorf("restored: exit %d, sent %d: %s", status, w.sent(), out)
	}
	if got := w.health(); got != "" { // all that the intake committed is there
		t.Errorf("health: %s", got)
	}
	if status, screen := w.answerBy(w.by(w.intake, "pulse-queue", "release", "--restored")); status != 1 || !strings.Contains(screen, "run it as the account") {
		t.Errorf("the intake: exit %d: %s", status, screen)
	}
	if out, status := w.send(); status != 75 || w.sent() != 1 || out != "" { // what lasts is told once a day
		t.Errorf("after the intake's word: exit %d, sent %d: %s", status, w.sent(), out)
	}
	if status, screen := w.answerBy(w.command(0, "pulse-queue", "release", "--restored")); status != 0 {
		t.Fatalf("root: exit %d: %s", status, screen)
	}
	if out, status := w.send(); status != 0 || w.sent() != 2 || w.show(id).State != "completed" {
		t.Errorf("exit %d, sent %d: %s", status, w.sent(), out)
	}
	w.must(0, "", "pulse-queue", "verify")
}
