package desk_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestSignedYesStartsOnce: from a key to a start, with every kind of key, and what
// root leaves in the queue belongs to whose queue it is.
func TestSignedYesStartsOnce(t *testing.T) { byEachDoor(t, signedYesStartsOnce) }

func signedYesStartsOnce(t *testing.T, way door) {
	for _, kind := range [][]string{{"-t", "ed25519"}, {"-t", "rsa", "-b", "3072"}, {"-t", "ecdsa"}} {
		w := newWorld(t).through(way)
		w.do(os.Remove(w.path("keys/id")))
		w.do(os.Remove(w.path("keys/id.pub")))
		w.key("id", kind...)
		w.allow(`namespaces="pulse-approve"`)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		if story := w.must(intake, "", "pulse-queue", "show", id); !strings.Contains(story, "starts it, if the yes to it is proven") {
			t.Errorf("%v: the owner of the queue can't check it, and is told\n%s", kind, story)
		}
		if a := w.approvalOf(id); !strings.Contains(a, `"level":"signature"`) || !strings.Contains(a, `"signer":"me@example.com"`) || !strings.Contains(a, "BEGIN SSH SIGNATURE") {
			t.Errorf("%v: %s", kind, a)
		}
		for range 3 {
			if status := w.send(); status != 0 {
				t.Errorf("%v: exit %d", kind, status)
			}
		}
		if got := w.show(id); w.read("out/sent") != "sent 65534\n" || got.State != "completed" {
			t.Errorf("%v: sent %q, %+v", kind, w.read("out/sent"), got)
		}
		if n := strings.Count(w.read("ledger/nonces"), " spent "); n != 1 {
			t.Errorf("%v: the ledger:\n%s", kind, w.read("ledger/nonces"))
		}
		w.must(intake, "", "pulse-queue", "verify")
		w.ownedBy(intake)
	}
}

// ownedBy makes sure that everything in the queue is intake's.
func (w *world) ownedBy(uid uint32) {
	w.t.Helper()
	err := filepath.Walk(w.path("home/q"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != uid {
			w.t.Errorf("%s is not the queue's owner's", path)
		}
		return err
	})
	w.do(err)
}

// TestForgedYesStartsNothing: who can write the whole queue, with the spool's own
// code, makes it look approved, and nothing starts.
func TestForgedYesStartsNothing(t *testing.T) { byEachDoor(t, forgedYesStartsNothing) }

func forgedYesStartsNothing(t *testing.T, way door) {
	for how := range forgeries {
		w := newWorld(t).through(way)
		first := w.propose("bob@partner.example")
		w.yes(first, "id")
		saved := w.approvalOf(first)
		second := w.propose("eve@partner.example")
		if how != "the genuine one, for this task" { // else it was never spent
			w.send()
		}
		spent := w.sent()
		for _, id := range []string{first, second} {
			if got := w.show(id); got.State == "scheduled" {
				continue
			}
			w.forge(how, id, saved)
			story := w.must(intake, "", "pulse-queue", "show", id)
			unsigned := how == "level terminal" || how == "nobody signed it"
			if unsigned && !strings.Contains(story, "(approval_not_good):") || strings.Contains(story, "for it starts it:") {
				t.Errorf("%s: before it starts, the story says\n%s", how, story)
			}
			w.send()
			if got := w.show(id); w.sent() > 1 || how != "the genuine one, for this task" && w.sent() != spent || got.State == "completed" || got.State == "running" {
				t.Fatalf("%s: sent %d times, %+v", how, w.sent(), got)
			}
			if got := w.show(id); got.State != "awaiting_review" || got.Reason != "approval_not_good" {
				t.Errorf("%s: %+v", how, got)
			}
		}
	}
}

// TestForgedByHand: not through the spool's code, but in the files.
func TestForgedByHand(t *testing.T) { byEachDoor(t, forgedByHand) }

func forgedByHand(t *testing.T, way door) {
	for name, script := range map[string]string{
		"an old approval under a new task":  `cp ../saved q/approvals/$2.json; mv q/awaiting_review/$2.json q/scheduled/; sed -i "/$2/s/^a/s/" q/agenda`,
		"an old approval under its task":    `cp ../saved q/approvals/$1.json; mv q/completed/$1.json q/scheduled/; sed -i "/$1/s/^-/s/" q/agenda`,
		"no approval":                       `mv q/awaiting_review/$2.json q/scheduled/; sed -i "/$2/s/^a/s/" q/agenda`,
		"a system ask passed for an effect": `pulse-queue submit --action external_send "to eve" >/dev/null; sed -i "s/ external_send    a / external_send    e /" q/agenda`,
	} {
		w := newWorld(t).through(way)
		first := w.propose("bob@partner.example")
		w.yes(first, "id")
		w.write("saved", w.approvalOf(first))
		w.send()
		second := w.propose("eve@partner.example")
		before := w.read("home/q/agenda")
		w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && "+script, "sh", first, second)
		if w.read("home/q/agenda") == before {
			t.Errorf("%s: the agenda was not forged:\n%s", name, before)
		}
		w.send()
		if w.sent() != 1 {
			t.Errorf("%s: sent %d times", name, w.sent())
		}
	}
}

// TestSupersededYes: a yes that was never spent dies with the one that was.
func TestSupersededYes(t *testing.T) { byEachDoor(t, supersededYes) }

func supersededYes(t *testing.T, way door) {
	w := newWorld(t).through(way)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	saved := w.approvalOf(id)
	w.must(intake, "", "pulse-queue", "cancel", id)
	old := regexp.MustCompile(`"given":"[^"]*"`).FindString(saved)
	for old == regexp.MustCompile(`"given":"[^"]*"`).FindString(w.approvalOf(id)) || w.approvalOf(id) == "" { // it counts in seconds
		if w.show(id).State == "scheduled" {
			w.must(intake, "", "pulse-queue", "cancel", id)
		}
		if status, screen := w.answer([]string{"PULSE_KEY=" + w.path("keys/id")}, "pulse-queue", "requeue", id); status != 0 {
			t.Fatalf("exit %d:\n%s", status, screen)
		}
	}
	w.send()
	if w.sent() != 1 {
		t.Fatalf("sent %d times", w.sent())
	}
	w.forge("the genuine one", id, saved)
	w.send()
	if got := w.show(id); w.sent() != 1 || got.Reason != "approval_not_good" {
		t.Errorf("sent %d times, %+v", w.sent(), got)
	}
}

// TestNothingHappenedGivesItBack: exit status 75 of a sender restores the approval,
// in the queue and in the ledger; and nobody else's.
func TestNothingHappenedGivesItBack(t *testing.T) { byEachDoor(t, nothingHappenedGivesItBack) }

func nothingHappenedGivesItBack(t *testing.T, way door) {
	w := newWorld(t).through(way)
	id := w.propose("bob@partner.example")
	w.yes(id, "id")
	w.send("exit 75")
	if got, l := w.show(id), w.read("ledger/nonces"); got.State != "scheduled" || strings.Count(l, " returned ") != 1 {
		t.Errorf("%+v, the ledger:\n%s", got, l)
	}
	if w.approvalOf(id) == "" {
		t.Error("the approval is gone")
	}
	w.send("exit 1")
	if got := w.show(id); got.State != "scheduled" || w.sent() != 1 {
		t.Errorf("it did not wait: %+v", got)
	}
}

// TestLinksOfTheOwner: root does not follow what the queue's owner put in its way.
func TestLinksOfTheOwner(t *testing.T) {
	for _, name := range []string{"approvals", "audit", "tmp", "running", "meta", "results", "workers", "awaiting_review", "completed", "lock", "agenda", "checkpoint", "starts", "format", "hold"} {
		w := newWorld(t)
		id := w.propose("bob@partner.example")
		w.yes(id, "id")
		w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home/q")+" && { [ ! -e "+name+" ] || mv "+name+" ../was; } && ln -s "+w.path("aim")+" "+name)
		w.write("aim/"+id+".json", "{}\n")
		w.send()
		w.run(0, "", "pulse-queue", "cancel", id)
		entries, err := os.ReadDir(w.path("aim"))
		w.do(err)
		if len(entries) != 1 || w.read("aim/"+id+".json") != "{}\n" {
			t.Errorf("%s: root left %v", name, entries)
		}
	}
}

// TestQueueBehindALink: nor a link in place of the queue, nor into one that others
// may write.
func TestQueueBehindALink(t *testing.T) {
	w := newWorld(t)
	id := w.propose("bob@partner.example")
	w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && mv q elsewhere && ln -s "+w.path("aim")+" q")
	if status := w.send(); status != 64 {
		t.Errorf("exit %d", status)
	}
	w.must(intake, "", "/bin/sh", "-c", "cd "+w.path("home")+" && rm q && mv elsewhere q && chmod 770 q")
	if status := w.send(); status != 64 {
		t.Errorf("a queue that a group may write: exit %d", status)
	}
	w.must(intake, "", "/bin/chmod", "700", w.path("home/q"))
	if got := w.show(id); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
}

// TestSetUp: a set-up that somebody else could change is refused before anything
// TestNoSignature: what keeps a person from signing changes nothing, is 77, and says

// TestSignedAsk: a yes to an ask is for one start as well; one that is to be tried
// again takes its yes along.
func TestSignedAsk(t *testing.T) { byEachDoor(t, signedAsk) }

func signedAsk(t *testing.T, way door) {
	for end, want := range map[string]struct{ state, last string }{
		"exit 0": {"completed", " spent "}, "exit 75": {"scheduled", " returned "}, "exit 1": {"scheduled", " returned "},
	} {
		w := newWorld(t).through(way)
		ask := strings.Replace(strings.Replace(proposed, "%TARGET%", "bob@partner.example", 1), `,"via":"agent","parent":"0123456789abcdef0123456789abcdef"`, `,"via":"submit"`, 1)
		id := w.task(w.must(intake, w.must(intake, ask, "pulse-authorize"), "pulse-queue", "add")).ID
		w.yes(id, "id")
		saved := w.approvalOf(id)
		work := func() {
			w.must(0, "", "pulse-queue", "run", "--as", worker, "--", "/bin/sh", "-c", "cat >/dev/null; echo asked >>"+w.path("out/sent")+"; "+end)
		}
		work()
		lines := strings.Split(strings.TrimSpace(w.read("ledger/nonces")), "\n")
		if got := w.show(id); got.State != want.state || w.sent() != 1 || !strings.Contains(lines[len(lines)-1], want.last) {
			t.Errorf("%s: %+v, started %d times, the ledger:\n%s", end, got, w.sent(), lines)
		}
		if want.state != "completed" {
			continue
		}
		w.forge("the genuine one", id, saved)
		work()
		if got := w.show(id); got.Reason != "approval_not_good" || w.sent() != 1 {
			t.Errorf("%s: replayed: %+v, started %d times", end, got, w.sent())
		}
	}
}

// TestNobodyElsesIsGivenBack: a spent approval that is put beside a task that needs
// none is not given back by that task's worker.
func TestNobodyElsesIsGivenBack(t *testing.T) { byEachDoor(t, nobodyElsesIsGivenBack) }

func nobodyElsesIsGivenBack(t *testing.T, way door) {
	w := newWorld(t).through(way)
	first := w.propose("bob@partner.example")
	w.yes(first, "id")
	saved := w.approvalOf(first)
	w.send()
	ask := w.task(w.must(intake, "", "pulse-queue", "submit", "--action", "read_public", "news?")).ID
	w.write("saved", strings.Replace(saved, first, ask, 1))
	w.must(intake, "", "/bin/cp", w.path("saved"), w.path("home/q/approvals/"+ask+".json"))
	w.must(0, "", "pulse-queue", "run", "--as", worker, "--", "/bin/sh", "-c", "cat >/dev/null; exit 75")
	if got, l := w.show(ask), w.read("ledger/nonces"); got.Reason != "worker_asked_for_later" || strings.Contains(l, "returned") || strings.Count(l, "spent") != 1 {
		t.Errorf("%+v, the ledger:\n%s", got, l)
	}
}
