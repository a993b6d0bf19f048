package pgstore_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// forgery is a commit that is accepted, and what is changed in it so that it is refused. Of
// several calls the last one is changed.
type forgery struct {
	name   string
	honest func(w *world) []call
	forge  func(w *world, c *call)
}

// forgeries are all, by what they attack.
var forgeries = slices.Concat(ofTasks, ofSenders, ofRuns, ofEnds(), ofStarts, ofTogether, ofCorrections, ofYeses, ofGrants, ofNotes, ofCounts, ofGoing, ofLines, ofArguments, ofClocks)

// refusals are the SQLSTATEs with which forgeries are refused: by name, or by a constraint.
var refusals = []string{"P0001", "PU001", "PU002", "23502", "23505", "21000", "22P02", "22P05", "22003", "22007", "22008", "42501"}

// conflicts are those that look like what happens to the honest, because others were faster.
var conflicts = []string{"a task that starts before it comes", "a task that is resurfaced before it comes", "a log that is shorter", "a log that is longer", "a log of nothing",
	"a task of another state", "a task that is not known", "a task that is there", "a task twice", "a task that was pruned", "a name that is taken", "a name twice",
	"a run that ends after it was taken back", "the run of another machine", "the fence of another run", "the fence of a run before", "a fence below all",
	"a start of what waits", "a first yes to what does not wait", "a first yes to what is not known", "a start twice", "a start again with grants",
	"a grant that was spent before", "a grant that nobody gave", "a grant with another target in its words", "a grant that is revoked and is not there", "a grant that is revoked twice", "a grant that is revoked in other words",
	"a task that is resurfaced, and is not there", "a running task that is resurfaced", "a closed task that is opened", "a closed task that is resurfaced",
	"a task that is resurfaced in another state",
	"what is forgotten, and is not there", "what is forgotten, of another size", "a file that moves", "a file that is pruned",
	"a file that is resurfaced", "a file that is forgotten as a refused record"}

// TestForgeries: each forgery is refused, and what it differs from by one thing is accepted.
func TestForgeries(t *testing.T) {
	w, _ := base(t)
	names := map[string]bool{}
	for i := range forgeries {
		f := &forgeries[i]
		if names[f.name] {
			t.Errorf("%s: there are two", f.name)
		}
		names[f.name] = true
		if err := cmp.Or(w.honest(f), w.forged(f)); err != nil {
			t.Error(err)
		}
	}
	if len(forgeries) < 60 {
		t.Errorf("there are %d", len(forgeries))
	}
}

// honest tries what a forgery differs from.
func (w *world) honest(f *forgery) error {
	defer w.keep()()
	if n, err := w.try(f.honest(w)...); err != nil {
		return fmt.Errorf("%s: call %d that is honest: %v", f.name, n, err)
	}
	return nil
}

// keep returns what forgets the words of people, and the runs, that are made up from now on.
func (w *world) keep() (forget func()) {
	fences, yeses, given, opened := maps.Clone(w.fences), maps.Clone(w.yeses), maps.Clone(w.given), maps.Clone(w.opened)
	return func() { w.fences, w.yeses, w.given, w.opened = fences, yeses, given, opened }
}

// forged tries a forgery.
func (w *world) forged(f *forgery) error {
	defer w.keep()()
	forged := f.honest(w)
	f.forge(w, &forged[len(forged)-1])
	n, err := w.try(forged...)
	switch {
	case err == nil:
		return fmt.Errorf("%s: it was accepted", f.name)
	case (code(err) == "PU001") != slices.Contains(conflicts, f.name):
		return fmt.Errorf("%s: it is a conflict: %v", f.name, err)
	case n != len(forged)-1 || !slices.Contains(refusals, code(err)):
		return fmt.Errorf("%s: call %d: %v", f.name, n, err)
	}
	return nil
}

// about is TestAbout, in a transaction.
func (w *world) about() error {
	odd := w.note("a.wait", audit.Held)
	odd.edit = func(raw string) string { return swap(raw, `{`, `{"x":1,`) }
	for _, c := range []call{by("gate1", w.note("a.wait", audit.Released), w.note("a.sched", audit.Held)), by("gate1", odd),
		by("runner1", w.start("l.sched"), w.note("a.sched", audit.Judged))} {
		var pg *pgconn.PgError
		if _, err := w.try(c); !errors.As(err, &pg) || code(err) != "PU002" || pg.Detail != c.steps[0].Task {
			return fmt.Errorf("a refusal does not say that it is about task %s: %v", c.steps[0].Task, err)
		}
	}
	return nil
}

// TestAbout: a refusal says which task its line is about, so that a run goes on with the others. What was
// refused before any line was looked at is about none.
func TestAbout(t *testing.T) {
	w, _ := base(t)
	if err := cmp.Or(w.about(), w.exec("ROLLBACK")); err != nil {
		t.Fatal(err)
	}
	w.do(by("runner1", w.note("a.sched", audit.Judged)))
	err := w.done(&call{who: "gate1", host: "here", unlisted: -1})
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || code(err) != "PU002" || pg.Detail != "" {
		t.Errorf("%v: a refusal is about a task of the commit before: %s", err, pg.Detail)
	}
}

// just is an honest call.
func just(fn func(w *world) call) func(*world) []call {
	return func(w *world) []call { return []call{fn(w)} }
}

// event is an honest line of an event.
func event(e task.Event, who string) func(*world) []call {
	return just(func(w *world) call { return w.legal(e, who) })
}

// first changes the first line.
func first(fn func(s *step)) func(*world, *call) { return func(_ *world, c *call) { fn(&c.steps[0]) } }

// called gives a line another name of its task.
func called(s step, name string) step {
	s.KnownAs = idOf(name)
	return s
}

// last changes the last line.
func last(fn func(s *step)) func(*world, *call) {
	return func(_ *world, c *call) { fn(&c.steps[len(c.steps)-1]) }
}

// replace replaces a text in the first line.
func replace(old, to string) func(*world, *call) {
	return first(func(s *step) { s.edit = func(raw string) string { return swap(raw, old, to) } })
}

// swap replaces a text that must be there.
func swap(raw, old, to string) string {
	if !strings.Contains(raw, old) {
		panic(fmt.Sprintf("%s has no %s", raw, old))
	}
	return strings.Replace(raw, old, to, 1)
}

// with puts a member in front of the others of the first line.
func with(member string) func(*world, *call) {
	return first(func(s *step) { s.edit = func(raw string) string { return "{" + member + "," + raw[1:] } })
}

// as lets another login make the call.
func as(who string) func(*world, *call) { return func(_ *world, c *call) { c.who = who } }

// adds adds a task that waits.
func adds(name string) func(*world) []call {
	return just(func(w *world) call { return by("gate1", w.of(name, task.Added, "", task.Awaiting)) })
}

var ofTasks = []forgery{
	{"a task that comes put off", event(task.Added, "gate1"), first(func(s *step) { s.Change.Deferred = 1 })},
	{"a task that comes with attempts", event(task.Added, "gate1"), first(func(s *step) { s.Change.Attempts = 1 })},
	{"a task that comes with restarts", event(task.Added, "gate1"), first(func(s *step) { s.Change.Restarts = 1 })},
	{"a task that comes told", event(task.Added, "gate1"), first(func(s *step) { s.Change.Told = s.Time })},
	{"a task that is put off more often than it was", event(task.Retried, "runner1"), first(func(s *step) { s.Change.Deferred += 5 })},
	{"a denied task that was told at another time", func(w *world) []call {
		told, denied := w.resurfaced("a.told", task.Awaiting), w.of("a.told", task.Denied, task.Awaiting, task.Rejected)
		denied.Change.Told = told.Change.Told
		return []call{by("gate1", told), by("ann", denied)}
	}, first(func(s *step) { s.Change.Told = s.Time.Add(time.Minute) })},
	{"a task that is tried again after more than a day", putOff(task.Retried, "runner1"), first(func(s *step) { s.Change.NotBefore = s.Time.Add(26 * time.Hour) })},
	{"an effect that did not happen, for more than a day", putOff(task.Restored, "sender1"), first(func(s *step) { s.Change.NotBefore = s.Time.Add(26 * time.Hour) })},
	{"a task that is restarted after an hour", event(task.Restarted, "runner1"), first(func(s *step) { s.Change.NotBefore = s.Time.Add(time.Hour) })},
	{"a cancelled task without its time, to another state", func(w *world) []call {
		mail := w.of("a.new", task.Added, "", task.Scheduled)
		mail.Change.NotBefore = w.now.Add(time.Hour)
		return []call{by("gate1", mail), by("ann", w.of("a.new", task.Cancelled, task.Scheduled, task.Rejected))}
	}, first(func(s *step) { s.To = task.Failed })},
	{"a cancelled task with another time", func(w *world) []call {
		mail, cancelled := w.of("a.new", task.Added, "", task.Scheduled), w.of("a.new", task.Cancelled, task.Scheduled, task.Rejected)
		mail.Change.NotBefore, cancelled.Change.NotBefore = w.now.Add(time.Hour), w.now.Add(time.Hour)
		return []call{by("gate1", mail), by("ann", cancelled)}
	}, first(func(s *step) { s.Change.NotBefore = s.Change.NotBefore.Add(time.Hour) })},
	{"an outward effect that waits for nobody", adds("e.new"), first(func(s *step) { s.To, s.shelf = task.Scheduled, "scheduled" })},
	{"an effect that destroys, and waits for nobody", adds("d.new"), first(func(s *step) { s.To, s.shelf = task.Scheduled, "scheduled" })},
	{"an effect that runs code, and waits for nobody", adds("d.code"), first(func(s *step) { s.To, s.shelf = task.Scheduled, "scheduled" })},
	{"a running task out of nothing", adds("e.new"), first(func(s *step) { s.To, s.shelf = task.Running, "running" })},
	{"a task that is closed at once", event(task.Added, "gate1"), first(func(s *step) { s.To, s.shelf = task.Completed, "completed" })},
	{"a task that comes from a state", event(task.Added, "gate1"), first(func(s *step) { s.From = task.Failed })},
	{"a task without its file", event(task.Added, "gate1"), first(func(s *step) { s.shelf = "" })},
	{"a task with another file", event(task.Added, "gate1"), first(func(s *step) { s.blob = []byte("other") })},
	{"a task whose file lies elsewhere", event(task.Added, "gate1"), first(func(s *step) { s.shelf = store.Results })},
	{"a task without a digest", event(task.Added, "gate1"), first(func(s *step) { s.Digest = "" })},
	{"a task of another kind", event(task.Added, "gate1"), first(func(s *step) { s.Kind = "order" })},
	{"a task of no action", event(task.Added, "gate1"), first(func(s *step) { s.Action = "" })},
	{"a task without an id", event(task.Added, "gate1"), first(func(s *step) { s.Task = "" })},
	{"a task that is there", event(task.Added, "gate1"), first(func(s *step) { s.Task = idOf("a.wait") })},
	{"a task that was pruned", event(task.Added, "gate1"), first(func(s *step) { s.Task = idOf("a.pruned") })},
	{"a task that starts before it comes", just(func(w *world) call {
		return by("machine1", w.of("a.new", task.Added, "", task.Scheduled), w.start("a.new"))
	}), swapped},
	{"a task that is resurfaced before it comes", just(func(w *world) call {
		return by("gate1", w.of("a.new", task.Added, "", task.Scheduled), w.resurfaced("a.new", task.Scheduled))
	}), swapped},
	{"a task twice", event(task.Added, "gate1"), func(_ *world, c *call) { c.steps = append(c.steps, c.steps[0]) }},
	{"a name that is taken", func(w *world) []call {
		return []call{by("gate1", called(w.of("a.new", task.Added, "", task.Scheduled), "n.one")), by("gate1", called(w.of("e.new", task.Added, "", task.Awaiting), "n.two"))}
	}, first(func(s *step) { s.KnownAs = idOf("n.one") })},
	{"a name twice", just(func(w *world) call {
		return by("gate1", called(w.of("a.new", task.Added, "", task.Scheduled), "n.one"), called(w.of("e.new", task.Added, "", task.Awaiting), "n.two"))
	}), last(func(s *step) { s.KnownAs = idOf("n.one") })},
	{"a name of what is not added", just(func(w *world) call { return by("gate1", w.refused("r.new")) }), first(func(s *step) { s.KnownAs = idOf("n.one") })},
	{"a task with an approval", adds("e.new"), first(func(s *step) { s.Approval = &approval.Approval{Task: s.Task, Digest: s.Digest, Action: s.Action} })},
	{"a task with a grant", event(task.Added, "gate1"), func(w *world, c *call) { c.steps[0].Grant = w.given["g.bob"] }},
	{"a task with a session", event(task.Added, "gate1"), func(w *world, c *call) { c.steps[0].Session = w.opened["s.one"] }},
	{"a task with a result", event(task.Added, "gate1"), first(func(s *step) { s.Result = s.Digest })},
	{"a task with an outbox", event(task.Added, "gate1"), first(func(s *step) { s.Proposed = []audit.Proposed{{ID: idOf("x"), Digest: s.Digest}} })},
	{"a task with an outbox, and a parent", adds("e.new"), first(func(s *step) { s.Proposed = []audit.Proposed{{ID: idOf("x"), Digest: s.Digest}} })},
	{"a task that does not say how often it was started", event(task.Added, "gate1"), replace(`"attempts":0,`, ``)},
	{"a closed task that does not say how often it was started", event(task.Denied, "ann"), replace(`"attempts":0,`, ``)},
	{"a closed task that does not say how often it was restarted", event(task.Denied, "ann"), replace(`"restarts":0,`, ``)},
	{"a task of a message without a number", event(task.Added, "gate1"), with(`"uid":0`)},
	{"a task in a state besides", event(task.Added, "gate1"), with(`"state":"running"`)},
	{"a task of another state", event(task.Denied, "ann"), first(func(s *step) { s.From = task.Scheduled })},
	{"a task that is not known", event(task.Denied, "ann"), first(func(s *step) { s.Task = idOf("x") })},
	{"a task to another state", event(task.Denied, "ann"), first(func(s *step) { s.To = task.Failed })},
	{"a line about other bytes", event(task.Denied, "ann"), first(func(s *step) { s.Digest = task.Digest(nil) })},
	{"a line about another kind", event(task.Denied, "ann"), first(func(s *step) { s.Kind = task.Effect })},
	{"a line about another action", event(task.Denied, "ann"), first(func(s *step) { s.Action = terms.WriteLocal })},
	{"a line about no bytes", event(task.Denied, "ann"), first(func(s *step) { s.Digest = "" })},
	{"a line that moves nothing in the name of an event that does", event(audit.Noted, "sender1"), first(func(s *step) { s.Event, s.By = task.Approved, "ann" })},
	{"a line that moves a task in the name of an event that does not", event(audit.Noted, "sender1"), first(func(s *step) { s.From, s.To = task.Scheduled, task.Completed })},
	{"a line that takes a task away by its state", event(audit.Noted, "sender1"), with(`"state":"scheduled"`)},
	{"a task that is pruned with a yes", event(task.Pruned, "gate1"), with(`"approval":{"grants":[{}]}`)},
	{"a task that is pruned while it is open", event(task.Pruned, "gate1"), first(func(s *step) { s.Task, s.From = idOf("a.wait"), task.Awaiting })},
	{"a task that is pruned with other bytes than its draft", drafted, first(func(s *step) { s.Result = task.Digest([]byte("other")) })},
	{"a task that is pruned with the draft of another", event(task.Pruned, "gate1"), first(func(s *step) { s.Result = task.Digest([]byte("printed by " + idOf("l.done"))) })},
	{"an ask that is carried out", event(task.Carried, "machine1"), func(w *world, c *call) {
		c.steps[0] = w.of("a.sched", task.Carried, task.Scheduled, task.Completed)
	}},
	{"an ask to write that is carried out", event(task.Carried, "machine1"), func(w *world, c *call) {
		c.steps[0] = w.of("a.local", task.Carried, task.Scheduled, task.Completed)
	}},
	{"an outward effect that is carried out", event(task.Carried, "machine1"), func(w *world, c *call) {
		c.steps[0] = w.of("e.yes", task.Carried, task.Scheduled, task.Completed)
	}},
	{"a move with a grant that nobody can read", event(task.Dropped, "runner1"), with(`"grant":{}`)},
	{"a move with a session that nobody can read", event(task.Dropped, "runner1"), with(`"session":{}`)},
	{"a move with labels that nobody can read", event(task.Dropped, "runner1"), with(`"labels":[{}]`)},
	{"a result with other bytes", event(task.Carried, "machine1"), first(func(s *step) { s.blob = []byte("other") })},
	{"a result without bytes", event(task.Carried, "machine1"), first(func(s *step) { s.shelf = "" })},
	{"a result from another shelf", event(task.Carried, "machine1"), first(func(s *step) { s.shelf = store.Results })},
	{"a cancelled run with an outbox", just(func(w *world) call { return by("ann", w.ends("a.run", task.Cancelled, task.Rejected)) }), first(func(s *step) { *s = proposing(*s, "e.x") })},
}

var ofRuns = []forgery{
	{"the run of another machine", just(func(w *world) call { return by("machine1", w.ends("a.mach", task.Finished, task.Completed)) }), as("machine2")},
	{"the run of another machine, without its fence", just(func(w *world) call {
		s := w.ends("a.mach", task.Restarted, task.Scheduled)
		s.reap = true
		return by("machine1", s)
	}), as("machine2")},
	{"a run whose locks lie elsewhere, without its fence", just(func(w *world) call { return by("machine1", reap(w, "a.mach")) }), func(_ *world, c *call) { c.host = "elsewhere" }},
	{"a run that finishes without its fence", event(task.Finished, "runner1"), first(func(s *step) { s.reap = true })},
	{"a run that is tried again without its fence", event(task.Retried, "runner1"), first(func(s *step) { s.reap = true })},
	{"an effect that did not happen, without its fence", event(task.Restored, "sender1"), first(func(s *step) { s.reap = true })},
	{"the fence of another run", event(task.Finished, "runner1"), func(w *world, c *call) { c.steps[0].fence = w.fences[idOf("a.mach")] }},
	{"the fence of a run before", event(task.Finished, "runner1"), func(w *world, c *call) { c.steps[0].fence = w.fences[idOf("a.back")] }},
	{"a fence below all", just(func(w *world) call { return by("machine1", w.ends("a.mach", task.Finished, task.Completed)) }), func(w *world, c *call) { c.who, c.steps[0].fence = "machine2", -1 }},
	{"a fence where no client looks", just(func(w *world) call { return by("machine1", w.ends("a.mach", task.Finished, task.Completed)) }), func(w *world, c *call) { c.who, c.args[2] = "machine2", "'[0:0]={0}'" }},
	{"fences in rows", just(func(w *world) call { return by("machine1", w.ends("a.mach", task.Finished, task.Completed)) }), func(w *world, c *call) { c.who, c.args[2] = "machine2", "'{{0}}'" }},
	{"a run that is taken back ends well", just(func(w *world) call { return by("machine2", reap(w, "a.late")) }), first(func(s *step) { s.Event, s.To = task.Finished, task.Completed })},
	{"a run that is taken back did not happen", just(func(w *world) call { return by("machine2", reap(w, "a.late")) }), first(func(s *step) { s.Event = task.Restored })},
	{"a run that finishes in failure", event(task.Finished, "runner1"), first(func(s *step) { s.To = task.Failed })},
	{"a run that is dropped", event(task.Finished, "runner1"), first(func(s *step) { s.Event, s.To, s.Result, s.shelf = task.Dropped, task.Rejected, "", "" })},
	{"a run that ends after it was taken back", func(w *world) []call {
		return []call{by("machine2", reap(w, "a.late")), by("machine2", w.start("a.late"))}
	}, func(w *world, c *call) {
		c.who, c.steps[0] = "machine1", w.ends("a.late", task.Finished, task.Completed)
	}},
	{"a result with other bytes, of a run", event(task.Finished, "runner1"), first(func(s *step) { s.blob = []byte("other") })},
	{"an extract from another shelf", event(task.Extracted, "runner1"), first(func(s *step) { s.shelf = store.Results })},
	{"an outbox with other bytes", outboxed, first(func(s *step) { s.blob = []byte("{}\n{}\n") })},
	{"an outbox with more", outboxed, first(func(s *step) { s.blob = append(s.blob, "{}\n"...) })},
	{"an outbox with less", outboxed, first(func(s *step) { s.blob = s.blob[:len(s.blob)/2] })},
	{"an outbox without its newline", outboxed, first(func(s *step) { s.blob = s.blob[:len(s.blob)-1] })},
	{"an outbox with a letter in the place of its newline", outboxed, first(func(s *step) { s.blob[len(s.blob)-1] = 'x' })},
	{"a proposal without a number", outboxed, first(func(s *step) {
		s.edit = func(raw string) string { return swap(raw, `"id":"`+idOf("e.x")+`",`, "") }
	})},
	{"an outbox without bytes", outboxed, first(func(s *step) { s.shelf = "" })},
	{"an outbox of a run of which nobody knows", outboxed, first(func(s *step) { s.Event, s.To = task.Undecided, task.Awaiting })},
	{"an outbox with other bytes, of a run that failed", outboxedBy(task.GaveUp, task.Failed), first(func(s *step) { s.blob = []byte("{}\n{}\n") })},
	{"an outbox with other bytes, of a run that is tried again", outboxedBy(task.Retried, task.Scheduled), first(func(s *step) { s.blob = []byte("{}\n{}\n") })},
	{"an outbox with other bytes, of a run that is restarted", outboxedBy(task.Restarted, task.Scheduled), first(func(s *step) { s.blob = []byte("{}\n{}\n") })},
	{"an outbox with other bytes, of a run that waits for a person", outboxedBy(task.Parked, task.Awaiting), first(func(s *step) { s.blob = []byte("{}\n{}\n") })},
	{"an outbox of nothing that ran", event(audit.Noted, "runner1"), first(func(s *step) { *s = proposing(*s, "e.x") })},
	{"a yes that an outward effect keeps when it is tried again", just(func(w *world) call { return by("sender1", w.ends("e.run", task.Retried, task.Scheduled)) }), keeps},
	{"a yes that an outward effect keeps when it is restarted", just(func(w *world) call { return by("sender1", w.ends("e.run", task.Restarted, task.Scheduled)) }), keeps},
	{"a yes that an outward effect keeps when it is parked", just(func(w *world) call { return by("sender1", w.ends("e.run", task.Parked, task.Awaiting)) }), keeps},
	{"a yes that an outward effect keeps though nobody knows", just(func(w *world) call { return by("sender1", w.ends("e.run", task.Undecided, task.Awaiting)) }), keeps},
	{"another yes that comes back", event(task.Restored, "sender1"), func(w *world, c *call) {
		a := *w.yeses["e.run"]
		a.Expires = a.Expires.Add(time.Hour)
		c.steps[0].Approval = &a
	}},
	{"a beat of another login", beats("runner1", "a.run"), as("sender1")},
	{"a beat of another run", beats("machine1", "a.mach"), func(w *world, c *call) { *c = beats("machine1", "a.run")(w)[0] }},
	{"a beat with the fence of a run that was before", beats("machine1", "a.mach"), func(w *world, c *call) {
		c.sql = swap(c.sql, fmt.Sprint(w.fences[idOf("a.mach")]), fmt.Sprint(w.fences[idOf("a.mach")]-1))
	}},
	{"a beat for another task that has its fence now", beats("machine1", "a.mach"), func(w *world, c *call) { c.sql = swap(c.sql, idOf("a.mach"), idOf("a.late")) }},
	{"a beat of a run that was cancelled", beats("machine1", "a.mach"), func(w *world, c *call) {
		c.super = "UPDATE pulse.task SET state = 'rejected' WHERE id = '" + idOf("a.mach") + "'"
	}},
	{"a beat of a run that was taken back", beats("machine1", "a.mach"), func(w *world, c *call) { c.super = "DELETE FROM pulse.run WHERE task = '" + idOf("a.mach") + "'" }},
	{"a run that was taken back although it has beaten", func(w *world) []call {
		return []call{by("machine2", reap(w, "a.late"))}
	}, func(w *world, c *call) {
		c.super = strings.Replace(beats("machine1", "a.late")(w)[0].sql, "DO $$ BEGIN", "SET SESSION AUTHORIZATION machine1; DO $$ BEGIN", 1) + "; RESET SESSION AUTHORIZATION"
	}},
	{"a proposal that a runner takes away", event(audit.Settled, "gate1"), func(w *world, c *call) { c.who, c.steps[0].Event = "runner1", audit.Judged }},
}

// putOff lets a run end, and the next begin in a day.
func putOff(e task.Event, who string) func(*world) []call {
	return just(func(w *world) call {
		c := w.legal(e, who)
		c.steps[0].Change.NotBefore = w.now.Add(24 * time.Hour)
		return c
	})
}

// sent adds an ask that a stranger sent, and puts it where a person decides.
func sent(e task.Event, to task.State) func(*world) []call {
	return func(w *world) []call {
		mail, next := w.of("a.new", task.Added, "", task.Scheduled), w.of("a.new", e, task.Scheduled, to)
		for _, s := range []*step{&mail, &next} {
			s.Sender, s.Trust, s.Source, s.UID, s.MessageID = bob, terms.ExternalVerified, "imap", 7, "<a@b>"
		}
		return []call{by("gate1", mail), by("machine1", next)}
	}
}

var parks = sent(task.Parked, task.Awaiting)

// ofSenders are about who sent a task, which decides what it may do.
var ofSenders = []forgery{
	{"a task that another one sent", parks, first(func(s *step) { s.Sender = eve })},
	{"a task that the owner sent", parks, first(func(s *step) { s.Trust = terms.OwnerVerifiedEmail })},
	{"a task from another source", parks, first(func(s *step) { s.Source = "box" })},
	{"a task of another message", parks, first(func(s *step) { s.UID = 8 })},
	{"a task of another Message-ID", parks, first(func(s *step) { s.MessageID = "<c@d>" })},
	{"a task that another one sent, and that runs", sent(task.Started, task.Running), first(func(s *step) { s.Sender = eve })},
	{"a task that another one sent, and that ran", func(w *world) []call {
		calls := sent(task.Started, task.Running)(w)
		again := calls[1].steps[0]
		again.Event, again.From, again.To = task.Retried, task.Running, task.Scheduled
		return append(calls, by("machine1", again))
	}, first(func(s *step) { s.Sender = eve })},
	{"a closed task that nobody sent", func(w *world) []call { // which nothing comes of
		calls := sent(task.Dropped, task.Rejected)(w)
		calls[1].steps[0] = w.of("a.new", task.Dropped, task.Scheduled, task.Rejected)
		return calls
	}, first(func(s *step) { s.To = task.Awaiting })},
	{"a requeued task that was started more often", event(task.Requeued, "ann"), first(func(s *step) { s.Change.Attempts = 3 })},
	{"an extracted task that was started more often", event(task.Extracted, "runner1"), first(func(s *step) { s.Change.Restarts = 3 })},
}

// swapped puts the second line before the first.
func swapped(_ *world, c *call) { c.steps[0], c.steps[1] = c.steps[1], c.steps[0] }

// ofEnds are about the events that end a run, whoever holds it.
func ofEnds() (list []forgery) {
	for e, to := range map[task.Event]task.State{task.Restarted: task.Scheduled, task.Undecided: task.Awaiting, task.GaveUp: task.Failed, task.Parked: task.Awaiting, task.Broke: task.Corrupt} {
		back := func(w *world, name string) call {
			s := w.ends(name, e, to)
			s.reap = true
			return by("machine2", s)
		}
		list = append(list, forgery{"a run within its lease is taken back: " + string(e), just(func(w *world) call { return back(w, "a.late") }), func(w *world, c *call) { *c = back(w, "a.mach") }})
		if e != task.Broke {
			list = append(list, forgery{"a result with other bytes: " + string(e), just(func(w *world) call { return by("runner1", result(w.ends("a.run", e, to), store.Results)) }), first(func(s *step) { s.blob = []byte("other") })})
		}
	}
	for _, e := range []task.Event{task.Retried, task.Restarted, task.Extracted} {
		list = append(list, forgery{"another yes that an ask keeps: " + string(e), func(w *world) []call {
			s := w.ends("a.yes", e, task.Scheduled)
			s.Approval = w.yeses["a.yes"]
			return []call{by("runner1", w.start("a.yes")), by("runner1", s)}
		}, says(func(a *approval.Approval) { a.Text = true })})
	}
	return list
}

// beats is the beat of a run.
func beats(who, name string) func(*world) []call {
	return just(func(w *world) call {
		return call{who: who, sql: fmt.Sprintf("DO $$ BEGIN IF NOT pulse.beat(%d, '%s') THEN RAISE 'it is not yours'; END IF; END $$", w.fences[idOf(name)], idOf(name))}
	})
}

// keeps keeps the yes of an effect that was started.
func keeps(w *world, c *call) { c.steps[0].Approval = w.yeses["e.run"] }

// drafted prunes a task with its draft.
func drafted(w *world) []call {
	s := w.of("l.done", task.Pruned, task.Completed, "")
	s.Result = task.Digest([]byte("printed by " + s.Task))
	return []call{by("gate1", s)}
}

// outboxed is the end of a run that proposes.
func outboxed(w *world) []call { return outboxedBy(task.Finished, task.Completed)(w) }

// outboxedBy is outboxed for a run that ends otherwise: its model was told what was put to a
// person.
func outboxedBy(e task.Event, to task.State) func(*world) []call {
	return just(func(w *world) call { return by("runner1", proposing(w.ends("a.run", e, to), "e.x", "e.y")) })
}

// reap returns the line by which a run is taken back.
func reap(w *world, name string) step {
	s := w.ends(name, task.Restarted, task.Scheduled)
	s.reap = true
	return s
}

// came labels a thing, and then once more.
func came(kind string) func(*world) []call {
	return func(w *world) []call {
		return []call{by("runner1", w.thing(kind, label.Private, label.Untrusted)), by("gate1", w.thing(kind, label.Private, label.Untrusted))}
	}
}

var ofNotes = []forgery{
	{"a label of a pruned task that goes away", just(func(w *world) call {
		return by("gate1", w.labelled("a.pruned", label.Private), w.of("a.new", task.Added, "", task.Scheduled))
	}), first(func(s *step) { s.Labels = nil })},
	{"a label of what has an outbox, that is none", just(func(w *world) call { return by("gate1", w.labelled("a.twin", label.Private)) }), first(func(s *step) { s.Labels = nil })},
	{"a label that goes away with a finding", func(w *world) []call {
		both := "login imaps://me@imap.example.com/INBOX" // whose sum is the key of the finding
		return []call{by("gate1", w.labelled(both, label.Private), w.finding(audit.FindingClosed, "login")), by("gate1", w.labelled(both, label.Private, label.Untrusted))}
	}, first(func(s *step) { s.Labels = s.Labels[1:] })},
	{"a label of a file that goes away", came("path"), last(func(s *step) { s.Labels = s.Labels[:1] })},
	{"labels of a file that are none", came("content"), last(func(s *step) { s.Labels = nil })},
	{"a label of a file twice", came("name"), last(func(s *step) { s.Labels = slices.Concat(s.Labels, s.Labels[1:]) })},
	{"a label of a file that nobody knows", came("link"), last(func(s *step) { s.Labels[0].Label = "secret" })},
	{"labels of what was read that have another name", came("root"), last(func(s *step) { s.Labels[1].Label = label.Private })},
	{"a file that moves", came("path"), last(func(s *step) { s.From, s.To = task.Scheduled, task.Running })},
	{"a file that comes as a task", came("path"), last(func(s *step) { s.Event, s.To, s.Labels = task.Added, task.Scheduled, nil })},
	{"a file that is pruned", came("content"), last(func(s *step) { s.Event, s.From, s.Labels = task.Pruned, task.Completed, nil })},
	{"a file that is resurfaced", came("path"), last(func(s *step) { s.Event, s.From, s.Labels = audit.Resurfaced, task.Awaiting, nil })},
	{"a file that is forgotten as a refused record", came("path"), last(func(s *step) { s.Event, s.Size, s.Labels = audit.Forgotten, 0, nil })},
	{"a label that goes away", event(audit.Labelled, "gate1"), first(func(s *step) { s.Labels = s.Labels[:1] })},
	{"no labels", event(audit.Labelled, "gate1"), first(func(s *step) { s.Labels = nil })},
	{"a finding that is nothing", event(audit.Found, "gate1"), first(func(s *step) { s.Finding = nil })},
	{"a finding of no code", event(audit.Found, "gate1"), replace(`"code":"login",`, ``)},
	{"a finding that nobody was told of", event(audit.Found, "gate1"), replace(`"told":"`, `"since":"`)},
	{"a finding that does what nobody knows", event(audit.Found, "gate1"), replace(`"what":"opened"`, `"what":"kept"`)},
	{"a finding of a source that is written in two ways", event(audit.Found, "gate1"), replace(`imaps:`, `\u0000imaps:`)},
	{"a finding on another line", event(audit.Held, "gate1"), func(w *world, c *call) { c.steps[0].Finding = w.finding(audit.FindingOpened, "login").Finding }},
	{"labels of no task", event(audit.Labelled, "gate1"), first(func(s *step) { s.Task = "" })},
	{"a label that nobody knows", event(audit.Labelled, "gate1"), replace(`"label":"private"`, `"label":"secret"`)},
	{"a label without a name", event(audit.Labelled, "gate1"), replace(`"label":"private",`, ``)},
	{"a label twice", event(audit.Labelled, "gate1"), first(func(s *step) { s.Labels = slices.Concat(s.Labels, label.Set{s.Labels[0]}) })},
	{"labels on another line", event(audit.Held, "gate1"), with(`"labels":[{"label":"secret"}]`)},
	{"a task that is resurfaced, and is not there", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Task = idOf("x") })},
	{"a running task that is resurfaced", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Task, s.From = idOf("a.run"), task.Running })},
	{"a closed task that is opened", event(audit.Resurfaced, "gate1"), func(w *world, c *call) { c.steps[0] = w.resurfaced("a.failed", task.Scheduled) }},
	{"a closed task that is resurfaced", event(audit.Resurfaced, "gate1"), func(w *world, c *call) { c.steps[0] = w.resurfaced("a.failed", task.Failed) }},
	{"a task that is resurfaced in another state", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.From = task.Scheduled })},
	{"a task that is resurfaced with other bytes", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Digest = task.Digest(nil) })},
	{"a task that is resurfaced with another action", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Action = terms.ReadPrivate })},
	{"a task that is resurfaced as another kind", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Kind = task.Effect })},
	{"a task that is resurfaced as if nothing had happened", just(func(w *world) call {
		s := w.resurfaced("e.unknown", task.Awaiting)
		return by("gate1", s)
	}), first(func(s *step) { s.Change.Reason = "effect_person" })},
	{"a task that is resurfaced with fewer attempts", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Change.Attempts = 1 })},
	{"a task that is resurfaced with more restarts", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Change.Restarts = 1 })},
	{"a task that is resurfaced as if it had been put off", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Change.Deferred = 1 })},
	{"a task that is resurfaced and put off", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Change.NotBefore = s.Time.Add(time.Hour) })},
	{"a task that is resurfaced, and that another one sent", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Sender = eve })},
	{"a task that is resurfaced, and that the owner sent", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Trust = terms.OwnerVerifiedEmail })},
	{"a task that is resurfaced, from a source", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.Source = "imap" })},
	{"a task that is resurfaced, of a message", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.UID = 7 })},
	{"a task that is resurfaced, of a Message-ID", event(audit.Resurfaced, "gate1"), first(func(s *step) { s.MessageID = "<a@b>" })},
	{"a task that is resurfaced and moves", event(audit.Resurfaced, "gate1"), with(`"to":"scheduled"`)},
	{"a refused record with other bytes", event(task.Refused, "gate1"), first(func(s *step) { s.blob = []byte("other") })},
	{"a refused record without bytes", event(task.Refused, "gate1"), first(func(s *step) { s.shelf = "" })},
	{"a refused record without a name", event(task.Refused, "gate1"), first(func(s *step) { s.Task = "" })},
	{"a refused record that is kept twice", event(task.Refused, "gate1"), func(w *world, c *call) { c.steps[0] = w.refused("r.two") }},
	{"a refused record that is kept twice, of a name that has labels", just(func(w *world) call { return by("gate1", w.refused("a.sched")) }), func(_ *world, c *call) { c.steps = append(c.steps, c.steps[0]) }},
	{"a refused record of another size", event(task.Refused, "gate1"), first(func(s *step) { s.Size = 1 })},
	{"a refused record that moves", event(task.Refused, "gate1"), first(func(s *step) { s.To = task.Scheduled })},
	{"what is forgotten, and is not there", event(audit.Forgotten, "gate1"), first(func(s *step) { s.Task = idOf("x") })},
	{"what is forgotten, of another size", event(audit.Forgotten, "gate1"), first(func(s *step) { s.Size++ })},
	{"a source that a runner has read", event(audit.Held, "runner1"), func(w *world, c *call) { c.steps[0].Positions = w.read(99).Positions }},
	{"a source without a name", event(audit.Read, "gate1"), replace(`"source":"imap",`, ``)},
	{"a source that nobody can find", event(audit.Read, "gate1"), replace(`"source":"imap"`, `"source":"\u0000"`)},
	{"a source twice", event(audit.Read, "gate1"), first(func(s *step) { s.Positions = append(s.Positions, s.Positions...) })},
	{"a finding that nobody can find", event(audit.Found, "gate1"), first(func(s *step) { s.Finding.About = "a\x00" })},
	{"a finding that is not there", event(audit.Found, "gate1"), first(func(s *step) { s.Finding = nil })},
	{"attempts of what moves nothing", event(audit.Released, "ann"), with(`"attempts":1`)},
	{"what was put off, of what moves nothing", event(audit.Released, "ann"), with(`"deferred":1`)},
	{"restarts of what moves nothing", event(audit.Released, "ann"), with(`"restarts":1`)},
	{"a time of what moves nothing", event(audit.Released, "ann"), with(`"not_before":"2026-01-01T00:00:00Z"`)},
	{"a person told of what moves nothing", event(audit.Released, "ann"), with(`"told":"2026-01-01T00:00:00Z"`)},
	{"since when it waits, of what does not", event(audit.Released, "ann"), with(`"since":"2026-01-01T00:00:00Z"`)},
	{"the time before a jump, of what is none", event(audit.Released, "ann"), replace(`"event":"released"`, `"event":"released","before":"2026-01-01T00:00:00Z"`)},
	{"the beginning of a clock, of what is no jump", event(audit.Released, "ann"), replace(`"event":"released"`, `"event":"released","began":"2026-01-01T00:00:00Z"`)},
	{"the words of what did not end", event(audit.Noted, "runner1"), with(`"said":"x"`)},
	{"a release by nobody who may", event(audit.Released, "ann"), as("machine1")},
}
