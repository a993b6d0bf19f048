package cmdline_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestKilledAtEverySync: whenever the runner dies between spending a signature and
// starting the worker, the effect starts at most once, and what was spent stays so.
func TestKilledAtEverySync(t *testing.T) {
	spent, killed := 0, 0
	for n := 1; ; n++ {
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		saved := w.approvalOf(id)
		bin, err := built()
		w.do(err)
		args := append([]string{"-f", "-qq", "-o", w.path("trace"), "-e", "trace=fsync",
			"-e", fmt.Sprintf("inject=fsync:signal=KILL:when=%d", n), bin + "/pulse-queue"}, w.sending()...)
		_, status := w.run(0, "", "/usr/bin/strace", args...)
		if died := strings.Contains(w.read("trace"), "killed by SIGKILL"); !died {
			if status != 0 || w.sent() != 1 {
				t.Fatalf("with nobody killed: exit %d, sent %d", status, w.sent())
			}
			break
		}
		killed++
		ledger := w.read("ledger/nonces")
		if w.sent() > 0 && ledger == "" {
			t.Errorf("killed at sync %d: started before it was spent", n)
		}
		w.send()
		got := w.show(id)
		switch {
		case w.sent() > 1:
			t.Errorf("killed at sync %d: sent %d times", n, w.sent())
		case ledger != "" && w.sent() == 0:
			spent++
			if got.State != "awaiting_review" || got.Reason != "approval_not_good" && got.Reason != "effect_unknown" {
				t.Errorf("killed at sync %d: %+v", n, got)
			}
		}
		if got.State == "awaiting_review" {
			w.forge("the genuine one", id, saved)
			before := w.sent()
			w.send()
			if ledger != "" && w.sent() != before {
				t.Errorf("killed at sync %d: what was spent was good once more", n)
			}
		}
		if n > 100 {
			t.Fatal("it never ends")
		}
	}
	t.Logf("killed at %d syncs, between spending and starting at %d of them", killed, spent)
	if spent == 0 {
		t.Error("nobody was killed between spending and starting: this test can't fail")
	}
}
