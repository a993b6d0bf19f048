package desk_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/record"
)

// grant gives one, signed, and returns its id.
func (w *world) grant(args ...string) string {
	w.t.Helper()
	return w.ahead("grants", append([]string{"grant"}, args...)...)
}

// session opens one for me@example.com, signed, and returns its id.
func (w *world) session(args ...string) string {
	w.t.Helper()
	return w.ahead("sessions", append([]string{"session", "me@example.com", "--for", "1h"}, args...)...)
}

// ahead says a yes ahead, and returns the id of the file that came of it.
func (w *world) ahead(dir string, args ...string) string {
	w.t.Helper()
	before, _ := filepath.Glob(w.path("home/q/" + dir + "/*"))
	if status, screen := w.say("id", args...); status != 0 {
		w.t.Fatalf("%v: exit %d:\n%s", args, status, screen)
	}
	after, _ := filepath.Glob(w.path("home/q/" + dir + "/*"))
	for _, name := range after {
		if !strings.Contains(strings.Join(before, "\n"), name) {
			return strings.TrimSuffix(filepath.Base(name), ".json")
		}
	}
	w.t.Fatalf("%v: no file", args)
	return ""
}

// mail takes an ask into the queue that was sent by hand within a session, and returns
// its id. at is when it says it was written and received.
func (w *world) mail(n int, session, sender string, at time.Time) string {
	w.t.Helper()
	line := fmt.Sprintf(`{"message":{"source":"imaps://me@imap.example.net/INBOX","id":"<%d@example.com>","received":%q,"fetched":%q,"headers":[["Date",%q]],"text":"?","defects":[]},`+
		`"identity":{"sender":%q,"trust":"approved_session","verified":true,"stale":false,"automatic":false,"reason":"approved_session","why":"","session":%q}}`+"\n",
		n, at.Format(time.RFC3339), at.Add(time.Second).Format(time.RFC3339), at.Format(time.RFC1123Z), sender, session)
	return w.task(w.must(intake, w.must(intake, line, "pulse-authorize"), "pulse-queue", "add")).ID
}

// work starts asks: each adds a line to out/sent.
func (w *world) work(script string) {
	w.t.Helper()
	w.must(0, "", "pulse-queue", "run", "--as", worker, "--", "/bin/sh", "-c", "cat >/dev/null; echo asked >>"+w.path("out/sent")+"; "+script)
}

// opensAt returns when a session opens, at most a second from now, once that is over.
func opensAt(t *testing.T, file string) time.Time {
	t.Helper()
	s, err := approval.DecodeSession(record.Value(strings.TrimSpace(file)))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(s.Opened))
	return s.Opened
}

// tampered writes another object under a name that root and the queue's owner know.
func (w *world) tampered(name, text string) {
	w.t.Helper()
	w.write("saved", text)
	w.must(intake, "", "/bin/cp", w.path("saved"), w.path("home/q/"+name))
}

func (w *world) consume(target string) int {
	w.t.Helper()
	_, status := w.run(0, "", "pulse-approve", "consume", target)
	return status
}

// TestSignedGrantIsSpentOnce: by a script as root, whatever the queue looks like after.
func TestSignedGrantIsSpentOnce(t *testing.T) { byEachDoor(t, signedGrantIsSpentOnce) }

func signedGrantIsSpentOnce(t *testing.T, way door) {
	w := newWorld(t).through(way)
	id := w.grant("bob@partner.example")
	saved := w.read("home/q/grants/" + id + ".json")
	if !strings.Contains(saved, `"level":"signature"`) || !strings.Contains(saved, `"signer":"me@example.com"`) || !strings.Contains(saved, "BEGIN SSH SIGNATURE") {
		t.Error(saved)
	}
	if out, status := w.run(intake, "", "pulse-approve", "consume", "bob@partner.example"); status != 77 || !strings.Contains(out, "hint: as root") {
		t.Errorf("who can't write the ledger: exit %d: %s", status, out)
	}
	cmd := w.command(0, "pulse-approve", "consume", "bob@partner.example")
	cmd.Env = append(cmd.Env, "PULSE_POLICY=")
	if out, status := w.finish(cmd, ""); status != 64 || !strings.Contains(out, "give --policy") {
		t.Errorf("without a policy: exit %d: %s", status, out)
	}
	if status := w.consume("eve@partner.example"); status != 77 {
		t.Errorf("another target: exit %d", status)
	}
	if status := w.consume("BOB@partner.example"); status != 0 {
		t.Errorf("exit %d", status)
	}
	if l := w.read("ledger/nonces"); strings.Count(l, " spent "+id+" ") != 1 {
		t.Errorf("the ledger:\n%s", l)
	}
	w.must(intake, "", "pulse-queue", "verify")
	for range 2 {
		w.tampered("grants/"+id+".json", saved)
		if status := w.consume("bob@partner.example"); status != 77 {
			t.Errorf("a spent one was put back: exit %d", status)
		}
	}
	w.ownedBy(intake)
}

// TestForgedGrants: who can write the queue makes no grant better than it was signed,
// neither for a script nor for a run.
func TestForgedGrants(t *testing.T) { byEachDoor(t, forgedGrants) }

func forgedGrants(t *testing.T, way door) {
	task := strings.Repeat("a", 32)
	for name, change := range map[string]func(string) string{
		"another target": func(s string) string { return strings.Replace(s, "bob@", "eve@", 1) },
		"any target": func(s string) string {
			return strings.Replace(s, `"target":"bob@partner.example","any":false`, `"any":true`, 1)
		},
		"any task": func(s string) string { return strings.Replace(s, `"task":"`+task+`",`, "", 1) },
		"longer": func(s string) string {
			return regexp.MustCompile(`"expires":"\d+`).ReplaceAllString(s, `"expires":"2099`)
		},
		"another id":     func(s string) string { return strings.Replace(s, `{"id":"`, `{"id":"00`, 1) },
		"level terminal": func(s string) string { return strings.Replace(s, `"level":"signature"`, `"level":"terminal"`, 1) },
		"no signature":   func(s string) string { return regexp.MustCompile(`,"signature":"[^"]*"`).ReplaceAllString(s, "") },
		"another signer": func(s string) string { return strings.Replace(s, `"signer":"me@`, `"signer":"it@`, 1) },
	} {
		w := newWorld(t).through(way)
		effect := w.propose("eve@partner.example")
		id := w.grant("bob@partner.example", "--task", task)
		saved := w.read("home/q/grants/" + id + ".json")
		forged := change(saved)
		if forged == saved {
			t.Fatalf("%s: nothing was forged: %s", name, saved)
		}
		file := "grants/" + id + ".json"
		if name == "another id" {
			file = "grants/00" + id + ".json"
			w.must(intake, "", "/bin/rm", w.path("home/q/grants/"+id+".json"))
		}
		if name != "another target" && name != "any target" {
			forged = strings.Replace(forged, "bob@", "eve@", 1) // else it would fit nothing
		}
		forged = strings.Replace(forged, `"task":"`+task, `"task":"`+effect, 1)
		w.tampered(file, forged)
		w.send()
		if got := w.show(effect); w.sent() != 0 || got.State != "awaiting_review" || got.Reason != "effect_needs_person" && got.Reason != "needs_confirmation" {
			t.Errorf("%s: sent %d, %+v", name, w.sent(), got)
		}
		if _, status := w.run(0, "", "pulse-approve", "consume", "eve@partner.example", "--task", effect); status != 77 {
			t.Errorf("%s: a script got it: exit %d", name, status)
		}
		if l := w.read("ledger/nonces"); l != "" {
			t.Errorf("%s: the ledger:\n%s", name, l)
		}
	}
}

// TestRunSpendsSignedGrant: the effect starts on the grant, once; what nothing happened
// of is given back, grant and all; and a copy of the grant starts nothing more.
func TestRunSpendsSignedGrant(t *testing.T) { byEachDoor(t, runSpendsSignedGrant) }

func runSpendsSignedGrant(t *testing.T, way door) {
	for end, want := range map[string]string{"exit 0": "completed", "exit 1": "awaiting_review", "exit 75": "scheduled"} {
		w := newWorld(t).through(way)
		id := w.grant("bob@partner.example")
		saved := w.read("home/q/grants/" + id + ".json")
		first := w.propose("bob@partner.example")
		other := w.propose("eve@partner.example")
		w.send(end)
		last := map[bool]string{true: " returned ", false: " spent "}[end == "exit 75"]
		lines := strings.Split(strings.TrimSpace(w.read("ledger/nonces")), "\n")
		if got := w.show(first); w.sent() != 1 || got.State != want || !strings.Contains(lines[len(lines)-1], last+id+" "+first) {
			t.Errorf("%s: sent %d, %+v, the ledger:\n%s", end, w.sent(), got, lines)
		}
		if got := w.show(other); got.State != "awaiting_review" {
			t.Errorf("%s: %+v", end, got)
		}
		w.must(intake, "", "pulse-queue", "verify")
		if end == "exit 75" {
			if a := w.approvalOf(first); !strings.Contains(a, `"grants":[{"id":"`+id) || !strings.Contains(a, `"by":"grant `+id+` of `) {
				t.Errorf("its yes is %s", a)
			}
			continue
		}
		again := w.task(w.must(intake, w.must(intake, strings.Replace(strings.Replace(proposed, "%TARGET%", "bob@partner.example", 1), `"hi"`, `"ho"`, 1), "pulse-authorize"), "pulse-queue", "add")).ID
		w.tampered("grants/"+id+".json", saved)
		w.send()
		if got := w.show(again); w.sent() != 1 || got.State != "awaiting_review" {
			t.Errorf("%s: a spent grant, put back: sent %d, %+v", end, w.sent(), got)
		}
	}
}

// TestForgedApprovalOfGrants: who can write the queue approves with grants that are not
// for it, or that are spent.
func TestForgedApprovalOfGrants(t *testing.T) { byEachDoor(t, forgedApprovalOfGrants) }

func forgedApprovalOfGrants(t *testing.T, way door) {
	for name, c := range map[string]struct {
		grants []string // of what targets; the forger takes them all
		target string
		spent  bool
	}{
		"for it":            {[]string{"bob@partner.example"}, `"bob@partner.example"`, false},
		"for another":       {[]string{"bob@partner.example"}, `"eve@partner.example"`, false},
		"one for two":       {[]string{"bob@partner.example"}, `["bob@partner.example","eve@partner.example"]`, false},
		"twice the same":    {[]string{"bob@partner.example", "="}, `["bob@partner.example","bob@partner.example"]`, false},
		"in another order":  {[]string{"bob@partner.example", "eve@partner.example"}, `["eve@partner.example","bob@partner.example"]`, false},
		"spent by a script": {[]string{"bob@partner.example"}, `"bob@partner.example"`, true},
	} {
		w := newWorld(t).through(way)
		var saved []string
		for _, target := range c.grants {
			if target == "=" {
				saved = append(saved, saved[0])
				continue
			}
			saved = append(saved, strings.TrimSpace(w.read("home/q/grants/"+w.grant(target)+".json")))
		}
		if c.spent && w.consume(c.grants[0]) != 0 {
			t.Fatal(name)
		}
		w.must(intake, "", "/bin/sh", "-c", "rm -f "+w.path("home/q/grants")+"/*")
		line := strings.Replace(proposed, `"%TARGET%"`, c.target, 1)
		id := w.task(w.must(intake, w.must(intake, line, "pulse-authorize"), "pulse-queue", "add")).ID
		w.forgeAhead("approval", id, "["+strings.Join(saved, ",")+"]")
		w.send()
		want := 0
		if name == "for it" { // it was signed for exactly that
			want = 1
		}
		if got := w.show(id); w.sent() != want || want == 0 && (got.State != "awaiting_review" || got.Reason != "approval_not_good") {
			t.Errorf("%s: sent %d, %+v", name, w.sent(), got)
		}
		if want == 1 {
			w.forgeAhead("approval", id, "["+strings.Join(saved, ",")+"]")
			if w.send(); w.sent() != 1 {
				t.Errorf("%s: sent %d", name, w.sent())
			}
		}
	}
}

// TestSignedSession: an ask starts on it, and so it does again after a failure; with
// one use for each, and not after it was revoked.
func TestSignedSession(t *testing.T) { byEachDoor(t, signedSession) }

func signedSession(t *testing.T, way door) {
	w := newWorld(t).through(way)
	id := w.session("--max", "2")
	opened := opensAt(t, w.read("home/q/sessions/"+id+".json"))
	first := w.mail(1, id, "me@example.com", opened)
	w.work("exit 75")
	if got, l := w.show(first), w.read("ledger/nonces"); w.sent() != 1 || got.State != "scheduled" || !strings.Contains(l, " spent "+id+"01 "+first) || !strings.Contains(l, " returned "+id+"01 "+first) {
		t.Errorf("sent %d, %+v, the ledger:\n%s", w.sent(), got, l)
	}
	second := w.mail(2, id, "me@example.com", opened)
	w.must(intake, "", "/bin/sh", "-c", "test -e "+w.path("home/q/sessions/"+id+".json")) // used up, and needed
	w.work("exit 0")
	if got := w.show(second); got.State != "completed" || !strings.Contains(w.read("ledger/nonces"), " spent "+id+"02 "+second) {
		t.Errorf("%+v, the ledger:\n%s", got, w.read("ledger/nonces"))
	}
	w.must(intake, "", "pulse-queue", "verify")

	w = newWorld(t).through(way)
	id = w.session("--max", "2")
	opened = opensAt(t, w.read("home/q/sessions/"+id+".json"))
	first = w.mail(1, id, "me@example.com", opened)
	if status, screen := w.answer(nil, "pulse-approve", "revoke", id); status != 0 {
		t.Fatalf("exit %d:\n%s", status, screen)
	}
	w.work("exit 0")
	if got := w.show(first); w.sent() != 0 || got.State != "awaiting_review" || got.Reason != "session_spent" {
		t.Errorf("revoked: sent %d, %+v", w.sent(), got)
	}
	w.yes(first, "id")
	w.work("exit 0")
	if got := w.show(first); w.sent() != 1 || got.State != "completed" {
		t.Errorf("a yes to it: sent %d, %+v", w.sent(), got)
	}
}

// TestForgedSessions: who can write the queue makes no session better than it was
// signed, nor lets more asks start on it, or others.
func TestForgedSessions(t *testing.T) { byEachDoor(t, forgedSessions) }

func forgedSessions(t *testing.T, way door) {
	for name, c := range map[string]struct {
		change func(string) string
		sender string
		asks   int
		after  time.Duration // the opening
		want   int
	}{
		"as it is":       {nil, "me@example.com", 1, time.Second, 1},
		"more asks":      {func(s string) string { return strings.Replace(s, `"left":1`, `"left":2`, 1) }, "me@example.com", 3, time.Second, 2},
		"more uses":      {func(s string) string { return strings.ReplaceAll(s, `:2`, `:9`) }, "me@example.com", 3, time.Second, 0},
		"another sender": {func(s string) string { return strings.Replace(s, "me@example.com", "it@example.com", 1) }, "it@example.com", 1, time.Second, 0},
		"another's mail": {nil, "it@example.com", 1, time.Second, 0},
		"sent before":    {nil, "me@example.com", 1, -time.Second, 0},
		"sent after":     {nil, "me@example.com", 1, 2 * time.Hour, 0},
		"longer": {func(s string) string {
			return regexp.MustCompile(`"expires":"\d+`).ReplaceAllString(s, `"expires":"2099`)
		}, "me@example.com", 1, 2 * time.Hour, 0},
		"opened before": {func(s string) string {
			return regexp.MustCompile(`"opened":"\d+`).ReplaceAllString(s, `"opened":"2020`)
		}, "me@example.com", 1, -time.Minute, 0},
		"no signature":        {func(s string) string { return regexp.MustCompile(`,"signature":"[^"]*"`).ReplaceAllString(s, "") }, "me@example.com", 1, time.Second, 0},
		"level terminal":      {func(s string) string { return strings.Replace(s, `"level":"signature"`, `"level":"terminal"`, 1) }, "me@example.com", 1, time.Second, 0},
		"a grant's signature": {nil, "me@example.com", 1, time.Second, 0},
		"none at all":         {func(string) string { return "" }, "me@example.com", 1, time.Second, 0},
	} {
		w := newWorld(t).through(way)
		w.policy("[matrix.approved_session]\nallow = [\"read_public\"]\n")
		w.write("etc/policy.toml", strings.Replace(w.read("etc/policy.toml"), `"me@example.com"`, `"me@example.com", "it@example.com"`, 1))
		id := w.session("--max", "2")
		file := "sessions/" + id + ".json"
		opened := opensAt(t, w.read("home/q/"+file))
		var asks []string
		for n := range c.asks {
			if n > 0 && c.want > 0 { // left is what the queue says
				w.tampered(file, regexp.MustCompile(`"left":\d`).ReplaceAllString(w.read("home/q/"+file), `"left":2`))
			}
			asks = append(asks, w.mail(n, id, c.sender, opened.Add(c.after)))
		}
		text := w.read("home/q/" + file)
		switch {
		case name == "a grant's signature":
			g := w.read("home/q/grants/" + w.grant("--any") + ".json")
			of := regexp.MustCompile(`"signature":"[^"]*"`)
			text = of.ReplaceAllLiteralString(text, of.FindString(g))
			w.tampered(file, text)
		case c.change != nil:
			w.tampered(file, c.change(text))
		}
		for _, ask := range asks { // what add saw through, the forger puts back
			if w.show(ask).State != "scheduled" {
				w.forgeAhead("schedule", ask, "")
			}
		}
		w.work("exit 0")
		if w.sent() != c.want {
			t.Errorf("%s: %d started, want %d", name, w.sent(), c.want)
		}
		for _, ask := range asks {
			if got := w.show(ask); got.State != "completed" && (got.State != "awaiting_review" || got.Reason != "session_spent") {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if c.want == 0 && w.read("ledger/nonces") != "" {
			t.Errorf("%s: the ledger:\n%s", name, w.read("ledger/nonces"))
		}
		if name != "more asks" {
			continue
		}
		// The same ask again, as after a crash: as often as one may be started again.
		for range 9 {
			w.forgeAhead("schedule", asks[0], "")
			w.work("exit 0")
		}
		if w.sent() != 2+3 { // max_restarts
			t.Errorf("%s: %d started in the end", name, w.sent())
		}
	}
}

// forgeAhead is forge for what is not an approval of its own.
func (w *world) forgeAhead(how, id, saved string) {
	w.t.Helper()
	cmd := w.command(intake, "forger", "-test.run", "^TestForgerAhead$", "-test.count", "1")
	cmd.Env = append(cmd.Env, "FORGE="+how, "TASK="+id, "SAVED="+saved, "HOME="+w.path("home"), "TMPDIR="+w.path("home"))
	if out, status := w.finish(cmd, ""); status != 0 || !strings.Contains(out, "forged") {
		w.t.Fatalf("the forger failed: %s", out)
	}
}

// TestForgerAhead is not a test but the attacker, as TestForger.
func TestForgerAhead(t *testing.T) {
	how := os.Getenv("FORGE")
	if how != "approval" && how != "schedule" {
		return
	}
	s, err := spool.Open(os.Getenv("PULSE_QUEUE"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var store store.Store = s
	if how == "schedule" {
		store = noApproval{s}
	}
	err = queue.Update(store, func(tx *queue.Tx) error {
		shown, err := queue.Find(tx, os.Getenv("TASK"))
		if err != nil {
			return err
		}
		yes := queue.Yes(&shown, "me (uid 0)", approval.Signature, time.Now())
		if how == "approval" {
			forged, err := approval.Decode(record.Value(`{"grants":` + os.Getenv("SAVED") + `}`))
			if err != nil {
				return err
			}
			yes.Grants = forged.Grants
		}
		if queue.Requeueable(&shown) == nil {
			return queue.Requeue(tx, &shown, yes, time.Now())
		}
		return queue.Approve(tx, &shown, yes, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString("forged\n")
}

// noApproval schedules a task as a person does, and leaves no approval.
type noApproval struct{ store.Store }

func (s noApproval) Update(fn func(store.View) (*store.Commit, error)) error {
	return s.Store.Update(func(v store.View) (*store.Commit, error) {
		c, err := fn(v)
		if err != nil {
			return nil, err
		}
		for i := range c.Lines {
			c.Lines[i].Approval = nil
		}
		return c, nil
	})
}
