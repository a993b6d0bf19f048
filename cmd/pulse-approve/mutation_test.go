package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestSwappedApprovals: a yes lies in a file under its task's id, and says whose it is;
// who exchanges two of them starts nothing.
func TestSwappedApprovals(t *testing.T) {
	for name, swap := range map[string]string{
		"exchanged":          "mv q/approvals/$1.json x; mv q/approvals/$2.json q/approvals/$1.json; mv x q/approvals/$2.json",
		"one for both":       "cp q/approvals/$1.json q/approvals/$2.json; rm q/approvals/$1.json",
		"with the digest":    `sed "s/$1/$2/" q/approvals/$1.json >x; mv x q/approvals/$2.json; rm q/approvals/$1.json`,
		"garbled":            "echo rubbish >q/approvals/$1.json; : >q/approvals/$2.json",
		"of another queue":   `for i in $1 $2; do sed -i "s/sha256:[0-9a-f]*/sha256:$(printf %064d 0)/" q/approvals/$i.json; done`,
		"gone":               "rm q/approvals/$1.json q/approvals/$2.json",
		"that never expires": `for i in $1 $2; do sed -i 's/"expires":"[^"]*"/"expires":"never"/' q/approvals/$i.json; done`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ids := []string{d.add(to("ann")), d.add(to("ben"))}
			for _, id := range ids {
				if status, screen := d.answer(right, "yes", id); status != 0 {
					t.Fatal(screen)
				}
			}
			d.must("", "sh", "-c", swap, "sh", ids[0], ids[1])
			d.send(started + d.path("starts"))
			if got := d.read("starts"); got != "" {
				t.Errorf("%d were started: %v", strings.Count(got, "\n"), d.states(ids...))
			}
			if _, status := d.run("", "pulse-queue", "verify"); status == 0 && d.approvals() > 0 {
				t.Error("verify finds nothing")
			}
		})
	}
}

// TestReplayedApproval: the file of a spent yes, put back by hand, starts nothing
// once more: the task is where it was moved to, and the log knows.
func TestReplayedApproval(t *testing.T) {
	for _, end := range []string{"exit 0", "exit 1"} {
		d, id := approved(t)
		saved := d.read("q/approvals/" + id + ".json")
		d.send(started + d.path("starts") + "; " + end)
		state := d.show(id)
		d.write("q/approvals/"+id+".json", saved)
		d.send(started + d.path("starts"))
		if got := d.show(id); got != state || d.read("starts") != "started\n" {
			t.Errorf("%s: %+v, then %+v, started %q", end, state, got, d.read("starts"))
		}
		if _, status := d.run("", "pulse-queue", "verify"); status != 1 {
			t.Errorf("%s: verify: exit %d", end, status)
		}
	}
}

// TestReplayedGrant: who can put the file of a spent grant back could as well have
// written one that nobody gave: at level terminal that counts, and the log tells.
func TestReplayedGrant(t *testing.T) {
	d := newDesk(t)
	d.must("", "pulse-queue", "init")
	if status, screen := d.answer(right, "grant", "bob@partner.example"); status != 0 {
		t.Fatal(screen)
	}
	names, _ := filepath.Glob(d.path("q/grants/*.json"))
	if len(names) != 1 {
		t.Fatal(names)
	}
	file := "q/grants/" + filepath.Base(names[0])
	saved := d.read(file)
	d.must("", "pulse-approve", "consume", "bob@partner.example")
	if _, status := d.run("", "pulse-approve", "consume", "bob@partner.example"); status != 77 {
		t.Errorf("a spent one: exit %d", status)
	}
	d.must("", "pulse-queue", "verify")
	d.write(file, saved)
	if _, status := d.run("", "pulse-queue", "verify"); status != 1 {
		t.Errorf("verify, of one that was put back: exit %d", status)
	}
	d.run("", "pulse-approve", "consume", "bob@partner.example")
	if _, status := d.run("", "pulse-queue", "verify"); status != 1 {
		t.Errorf("verify, of one that was spent again: exit %d", status)
	}
}

// expires is what an approval, a grant or a session says of its end.
var expires = regexp.MustCompile(`"expires":"[^"]*"`)

// TestExpired: what is over by a second is over: a yes at the start of its task, and
// a grant when it is to be spent. The boundary itself is lib/shared/approval's.
func TestExpired(t *testing.T) {
	over := fmt.Sprintf(`"expires":%q`, time.Now().Add(-time.Second).UTC().Format(time.RFC3339))
	d, id := approved(t)
	file := "q/approvals/" + id + ".json"
	d.write(file, expires.ReplaceAllString(d.read(file), over))
	d.send(started + d.path("starts"))
	if got := d.show(id); got.State != "awaiting_review" || d.read("starts") != "" {
		t.Errorf("%+v, started %q", got, d.read("starts"))
	}
	if status, screen := d.answer(right, "grant", "--any", "--for", "1s"); status != 0 {
		t.Fatal(screen)
	}
	grants := func() string { return d.must("", "pulse-approve", "grants") }
	for !strings.Contains(grants(), "expired") { // the clock is what it waits for
		time.Sleep(20 * time.Millisecond)
	}
	if _, status := d.run("", "pulse-approve", "consume", "bob@partner.example"); status != 77 {
		t.Errorf("an expired grant: exit %d", status)
	}
}

// TestTwoAtOnce: two persons have the same question in front of them, and answer it.
// One answer counts, and the other person is told.
func TestTwoAtOnce(t *testing.T) {
	for name, second := range map[string][]string{"yes": {"yes"}, "no": {"no", "--reason", "no"}} {
		d := newDesk(t)
		id := d.add(proposal)
		a, b := d.sit("yes", id), d.sit(append(second, id)...)
		codes := []string{d.code(a), d.code(b)}
		if codes[0] == codes[1] {
			codes[1] = d.code(b)
		}
		a.Type(codes[0] + "\n")
		b.Type(codes[1] + "\n")
		first, screenA := a.Wait()
		other, screenB := b.Wait()
		if first+other != 77 || first*other != 0 {
			t.Errorf("%s: exit %d and %d:\n%s\n%s", name, first, other, screenA, screenB)
		}
		loser := string(screenA)
		if first == 0 {
			loser = string(screenB)
		}
		if !strings.Contains(loser, "pulse-approve: error: ") || !strings.Contains(loser, "pulse-approve: hint: pulse-queue show") {
			t.Errorf("%s: who came second is told\n%s", name, loser)
		}
		log := d.must("", "sh", "-c", "cat q/audit/*")
		if n := strings.Count(log, `"event":"approved"`) + strings.Count(log, `"event":"denied"`); n != 1 {
			t.Errorf("%s: %d answers were recorded", name, n)
		}
		d.must("", "pulse-queue", "verify")
	}
}

// TestNotEachOthersCode: the code of one terminal is good at no other.
func TestNotEachOthersCode(t *testing.T) {
	d := newDesk(t)
	ids := []string{d.add(to("ann")), d.add(to("ben"))}
	a, b := d.sit("yes", ids[0]), d.sit("yes", ids[1])
	codes := []string{d.code(a), d.code(b)}
	a.Type(codes[1] + "\n")
	b.Type(codes[0] + "\n")
	for _, p := range []interface{ Wait() (int, []byte) }{a, b} {
		if status, screen := p.Wait(); status != 77 {
			t.Errorf("exit %d:\n%s", status, screen)
		}
	}
	for _, state := range d.states(ids...) {
		if state != "awaiting_review" {
			t.Error(state)
		}
	}
}

// TestKilledBetweenSpendingAndStarting: whenever the runner dies, at each sync of a
// start, the effect starts at most once for one yes.
func TestKilledBetweenSpendingAndStarting(t *testing.T) {
	between := 0
	for n := 1; ; n++ {
		d, id := approved(t)
		path := d.must("", "sh", "-c", "command -v pulse-queue")
		d.run("", "strace", "-f", "-qq", "-o", d.path("trace"), "-e", "trace=fsync,fdatasync,syncfs",
			"-e", fmt.Sprintf("inject=fsync:signal=KILL:when=%d", n), strings.TrimSpace(path),
			"run", "--effect", "external_send", "--", "sh", "-c", started+d.path("starts"))
		if !strings.Contains(d.read("trace"), "killed by SIGKILL") {
			if d.read("starts") != "started\n" {
				t.Errorf("with nobody killed: started %q", d.read("starts"))
			}
			break
		}
		before := d.read("starts")
		left := d.approvals()
		d.send(started + d.path("starts"))
		got := d.show(id)
		if n := strings.Count(d.read("starts"), "\n"); n > 1 {
			t.Errorf("killed at sync %d: started %d times", n, n)
		}
		if before == "" && left == 0 {
			between++
			if got.State != "awaiting_review" || got.Reason != "effect_unknown" || d.read("starts") != "" {
				t.Errorf("killed at sync %d: %+v, started %q", n, got, d.read("starts"))
			}
		}
		d.must("", "pulse-queue", "verify")
		if n > 100 {
			t.Fatal("it never ends")
		}
	}
	if between == 0 {
		t.Error("nobody was killed in between: this test can't fail")
	}
}

// TestMutatedInBetween: whatever is changed in the queue between the yes and the
// start, by hand, nothing starts that is not what was shown.
func TestMutatedInBetween(t *testing.T) {
	for name, change := range map[string]string{
		"the target":    `sed -i s/bob@/eve@/ q/scheduled/$1.json`,
		"the text":      `sed -i 's/"hi"/"HI"/' q/scheduled/$1.json`,
		"a blank":       `printf ' \n' >>q/scheduled/$1.json`,
		"another task":  `cp q/awaiting_review/$2.json q/scheduled/$1.json`,
		"another's id":  `mv q/awaiting_review/$2.json q/scheduled/$2.json`,
		"the same name": `cp q/awaiting_review/$2.json x; mv x q/scheduled/$1.json`,
		"a link":        `mv q/scheduled/$1.json x; sed -i s/bob@/eve@/ x; ln -s "$PWD/x" q/scheduled/$1.json`,
		"no text":       `: >q/scheduled/$1.json`,
	} {
		t.Run(name, func(t *testing.T) {
			d, id := approved(t)
			other := d.add(to("eve"))
			d.must("", "sh", "-c", change, "sh", id, other)
			d.run("", "pulse-queue", "run", "--effect", "external_send", "--", "sh", "-c", "cat >>"+d.path("given"))
			given := d.read("given")
			if strings.Contains(given, "eve@") || strings.Contains(given, "HI") || given != "" && name != "another's id" {
				t.Errorf("a worker was given %s", given)
			}
			if _, status := d.run("", "pulse-queue", "verify"); status != 1 {
				t.Errorf("verify: exit %d", status)
			}
			if _, err := os.Stat(d.path("q/running/" + other + ".json")); err == nil {
				t.Error("the other one runs")
			}
		})
	}
}
