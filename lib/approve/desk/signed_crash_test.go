package desk_test

import (
	"fmt"
	"os"
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

// TestGrantKilledAtEverySync: whenever somebody dies who spends a grant, a script or a
// run, it is spent once at most: also by who puts a copy of it back.
func TestGrantKilledAtEverySync(t *testing.T) {
	for name, c := range map[string]struct {
		args func(w *world) []string
		used func(w *world, status int) int // how often, by a command that ended so
	}{
		"consume": {
			func(*world) []string { return []string{"pulse-approve", "consume", "bob@partner.example"} },
			func(_ *world, status int) int { return map[int]int{0: 1}[status] },
		},
		"run": {
			func(w *world) []string { return append([]string{"pulse-queue"}, w.sending()...) },
			func(w *world, _ int) int { n := w.sent(); os.Remove(w.path("out/sent")); return n },
		},
	} {
		between := 0
		for n := 1; ; n++ {
			w := newWorld(t)
			grant := w.grant("bob@partner.example")
			saved := w.read("home/q/grants/" + grant + ".json")
			id := w.propose("bob@partner.example")
			bin, err := built()
			w.do(err)
			args := c.args(w)
			_, status := w.run(0, "", "/usr/bin/strace", append([]string{"-f", "-qq", "-o", w.path("trace"), "-e", "trace=fsync",
				"-e", fmt.Sprintf("inject=fsync:signal=KILL:when=%d", n), bin + "/" + args[0]}, args[1:]...)...)
			used := c.used(w, status)
			if died := strings.Contains(w.read("trace"), "killed by SIGKILL"); !died {
				if used != 1 {
					t.Fatalf("%s, nobody killed: exit %d, used %d times", name, status, used)
				}
				break
			}
			spent := strings.Contains(w.read("ledger/nonces"), " spent "+grant+" ")
			for range 2 {
				_, status := w.run(0, "", args[0], args[1:]...)
				again := c.used(w, status)
				if used += again; again > 0 && spent {
					t.Errorf("%s, killed at sync %d: spent before, and used now", name, n)
				}
				w.tampered("grants/"+grant+".json", saved)
			}
			if used > 1 {
				t.Errorf("%s, killed at sync %d: used %d times", name, n, used)
			}
			if got := w.show(id); spent && used == 0 {
				between++
				if got.State != "awaiting_review" {
					t.Errorf("%s, killed at sync %d: %+v", name, n, got)
				}
			}
			if n > 100 {
				t.Fatal("it never ends")
			}
		}
		t.Logf("%s: killed between spending and what came of it at %d syncs", name, between)
		if between == 0 {
			t.Errorf("%s: nobody was killed between: this test can't fail", name)
		}
	}
}
