package desk_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// refused sees that an answer does not count by any door, and changes nothing.
func (e *elsewhere) refused(what, id, answer string, says string) {
	e.t.Helper()
	before, sent := e.image(), e.sent()
	out, status := e.take(e.spool("refused", answer))
	if status != 77 || !strings.Contains(out, says) {
		e.t.Errorf("%s: take: exit %d: %s", what, status, out)
	}
	if id != "" {
		armor := answer[strings.IndexByte(answer, '\n')+1:]
		if out, status := e.intake(armor, "pulse-approve", "yes", id, "--signature", "-"); status != 77 {
			e.t.Errorf("%s: --signature: exit %d: %s", what, status, out)
		}
	}
	if after := e.image(); after != before || e.sent() != sent {
		e.t.Errorf("%s: sent %d more, changed %v", what, e.sent()-sent, changes(before, after))
	}
}

// TestAnsweredAgain: an answer that was taken counts no more, wherever its task is.
func TestAnsweredAgain(t *testing.T) {
	for _, level := range levels {
		e := newElsewhere(t, level)
		id := e.propose("bob@partner.example")
		answer := e.answer("token", id)
		e.must("", "pulse-approve", "take", e.spool("answer", answer))
		e.refused("scheduled", id, answer, "it is scheduled")

		// While its sender runs, and waits for this.
		e.must("", "/bin/sh", "-c", "mkfifo -m 666 "+e.path("home/started")+" && chmod 755 "+e.path("home")+" && mkfifo -m 666 "+e.path("home/go"))
		ended := make(chan string)
		go func() {
			out, _ := e.send("echo >"+e.path("home/started"), "read x <"+e.path("home/go"), "exit 75")
			ended <- out
		}()
		_, err := os.ReadFile(e.path("home/started"))
		e.do(err)
		e.refused("running", id, answer, "it is running")
		e.do(os.WriteFile(e.path("home/go"), []byte("\n"), 0))
		<-ended
		e.refused("put off by its sender", id, answer, "it is scheduled")
		e.must("", "pulse-queue", "cancel", id)
		e.refused("cancelled", id, answer, "it is rejected")
		e.must("", "pulse-queue", "verify")
	}
}

// TestRolledBack: a queue that was put back to before the answer asks again, and takes the
// answer again; the ledger outside it knows that it was spent.
func TestRolledBack(t *testing.T) {
	for _, level := range []string{"user", "signature"} {
		e := newElsewhere(t, level)
		id := e.propose("bob@partner.example")
		answer := e.answer("id", id)
		e.do(os.MkdirAll(e.path("backup"), 0o755))
		shell := func(script string) {
			if out, status := e.run(0, "", "/bin/sh", "-c", "cd "+e.dir+" && "+script); status != 0 {
				t.Fatalf("%s: %s", script, out)
			}
		}
		shell("cp -a home/q backup/q")
		e.must("", "pulse-approve", "take", e.spool("answer", answer))
		if e.send(); e.sent() != 1 {
			t.Fatalf("%s: sent %d", level, e.sent())
		}
		shell("rm -r home/q && mv backup/q home/q && rm -rf state/*") // as another machine would not remember, either
		if out, status := e.take(e.spool("answer", answer)); status != 0 {
			t.Errorf("%s: the queue knows of nothing: exit %d: %s", level, status, out)
		}
		for range 2 {
			e.send()
			if got := e.show(id); e.sent() != 1 || got.State != "awaiting_review" || got.Reason != "approval_not_good" {
				t.Errorf("%s: sent %d, %+v", level, e.sent(), got)
			}
			e.take(e.spool("answer", answer))
		}
		e.must("", "pulse-approve", "take", e.spool("answer", e.answer("id", id)))
		if e.send(); e.sent() != 2 {
			t.Errorf("%s: asked again: sent %d", level, e.sent())
		}
	}
}

// TestPolicyBetween: what changes between the statement and the answer, or between the
// answer and the start.
func TestPolicyBetween(t *testing.T) {
	for _, level := range levels {
		e := newElsewhere(t, level)
		id := e.propose("bob@partner.example")
		answer := e.answer("id", id)
		e.rules("[limits]\nreview_expires = \"7d\"\n")
		e.refused("another limits.review_expires", id, answer, "limits.review_expires")
		e.rules("")
		e.write("etc/allowed_signers", `me@example.com namespaces="pulse-approve" `+e.read("keys/token.pub"))
		e.refused("a signer who was taken out", id, answer, "no such key")
		e.write("etc/allowed_signers", "# nobody\n")
		if out, status := e.take(e.spool("answer", answer)); status != 75 {
			t.Errorf("%s: nobody may sign: exit %d: %s", level, status, out)
		}
		e.signers("")
		e.must("", "pulse-approve", "take", e.spool("answer", answer))
		if level != "terminal" { // at which nothing is proven at the start
			e.write("etc/allowed_signers", `me@example.com namespaces="pulse-approve" `+e.read("keys/token.pub"))
			e.send()
			if got := e.show(id); e.sent() != 0 || got.Reason != "approval_not_good" {
				t.Errorf("%s: taken out before the start: sent %d, %+v", level, e.sent(), got)
			}
			e.signers("")
			e.refused("the question before", id, answer, "earlier question")
			e.must("", "pulse-approve", "take", e.spool("answer", e.answer("id", id)))
		}
		if e.send(); e.sent() != 1 {
			t.Errorf("%s: sent %d, %+v", level, e.sent(), e.show(id))
		}
	}
}

// TestBroughtByAWorker: a worker brings nothing, not even what a person signed: neither
// through its environment nor past it.
func TestBroughtByAWorker(t *testing.T) {
	e := newElsewhere(t, "terminal")
	id := e.propose("bob@partner.example")
	answer := e.answer("id", id)
	genuine := e.spool("genuine", answer)
	e.spool("armor", answer[strings.IndexByte(answer, '\n')+1:])
	grant, session := e.spool("grant", e.answer("id", "--any")), e.spool("session", e.answer("id", "--session", "me@example.com", "--for", "1h", "--max", "3"))
	ask := e.task(e.must("", "pulse-queue", "submit", "--action", "read_public", "hello")).ID
	bin, err := built()
	e.do(err)
	clean := fmt.Sprintf("env -i PATH=%s:/usr/bin:/bin PULSE_QUEUE=%s PULSE_POLICY=%s ", bin, e.path("home/q"), e.path("etc/policy.toml"))
	script, tried := "cat >/dev/null\n", 0
	for _, words := range []string{"take " + genuine, "take " + grant, "take " + session, "yes " + id + " --signature " + e.path("spool/armor"),
		"no " + id + " --signature " + e.path("spool/armor"), "grant --signature " + grant, "session --signature " + session} {
		for _, how := range []string{"", "PULSE_TASK= ", clean, "setsid -w " + clean, "setsid -w sh -c 'exec \"$@\"' sh " + clean} {
			tried++
			script += fmt.Sprintf("%spulse-approve %s >>%s 2>&1; echo $? >>%s\n", how, words, e.path("home/said"), e.path("home/ends"))
		}
	}
	mine := func() string {
		return e.must("", "/bin/sh", "-c", "cd "+e.path("home/q")+" && grep -hv "+ask+" audit/*; ls grants approvals sessions awaiting_review")
	}
	before := mine()
	e.must("", "pulse-queue", "run", "--env", "PULSE_QUEUE", "--env", "PULSE_POLICY", "--", "/bin/sh", "-c", script)
	if got := strings.Fields(e.read("home/ends")); len(got) != tried || slices.ContainsFunc(got, func(s string) bool { return s != "77" }) {
		t.Errorf("of %d: %v: %s", tried, got, e.read("home/said"))
	}
	if n := strings.Count(e.read("home/said"), "refused inside a run"); n != tried {
		t.Errorf("%d of %d: %s", n, tried, e.read("home/said"))
	}
	if after := mine(); after != before {
		t.Errorf("before:\n%safter:\n%s", before, after)
	}
	e.must("", "pulse-approve", "take", genuine, grant, session) // they were good
}

// TestForgedAhead: a grant or a session that was signed elsewhere is good as it was signed,
// once, until it expires, is revoked or is used.
func TestForgedAhead(t *testing.T) {
	for _, level := range levels {
		e := newElsewhere(t, level)
		tried := 0
		for what, words := range map[string][]string{
			"grant": {"--grant", "bob@partner.example"}, "grant for a task": {"--any", "--task", strings.Repeat("a", 32)},
			"session": {"--session", "me@example.com", "--for", "1h", "--max", "3"},
		} {
			line := e.statement(words...)
			good := e.sign("id", line)
			var files []string
			for name, text := range altered(t, line) {
				if !slices.Contains(harmless, name) {
					files = append(files, e.spool("ahead "+name, text+good))
				}
			}
			files = append(files, e.spool("ahead unsigned", line), e.spool("ahead by another", line+e.signFor("file", "id", line)))
			before := e.image()
			out, status := e.take(files...)
			if n := strings.Count(out, ": left: "); status != 77 || n < len(files) || e.image() != before {
				t.Errorf("%s: exit %d, %d of %d were left, changed %v: %.1000s", what, status, n, len(files), changes(before, e.image()), out)
			}
			tried += len(files)
			e.must("", "pulse-approve", "take", e.spool("genuine", line+good))
			e.refused(what+", again", "", line+good, "it was recorded before")
			id := line[strings.Index(line, `"id":"`)+6:][:16]
			p, err := cmdlinetest.Sit(e.command(0, "pulse-approve", "revoke", id))
			e.do(err)
			code, err := p.Code()
			e.do(err)
			e.do(p.Type(code + "\n"))
			if status, screen := p.Wait(); status != 0 {
				t.Fatalf("%s: revoke: exit %d:\n%s", what, status, screen)
			}
			e.refused(what+", after it was revoked", "", line+good, "it was recorded before")
		}
		line := e.statement("--any", "--for", "1s")
		answer := line + e.sign("id", line)
		for over := time.Now().Add(1100 * time.Millisecond); time.Now().Before(over); { // the clock is what it waits for
			time.Sleep(10 * time.Millisecond)
		}
		e.refused("expired", "", answer, "it expired at")
		t.Logf("level %s: %d forged grants and sessions by take, none counted", level, tried)
	}
}
