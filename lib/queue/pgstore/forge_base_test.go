package pgstore_test

import (
	"testing"
	"time"

	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// bob and eve are recipients; two rooms differ in a capital.
const (
	bob, eve   = "bob@partner.example", "eve@evil.example"
	room, hall = "matrix:!Room:m.example", "matrix:!room:m.example"
)

// cohort lists the tasks of a world: a. are asks, e. and d. effects that reach the outside, l.
// those that don't. The second word says where a task stands.
func (w *world) cohort() {
	for _, n := range []string{"a.sched", "a.wait", "a.run", "a.mach", "a.late", "a.done", "a.failed", "a.rejected", "a.pruned", "a.yes", "a.back", "a.new", "a.free", "a.told"} {
		w.know(n, task.Ask, terms.ReadPublic, "", bob)
	}
	w.know("a.local", task.Ask, terms.WriteLocal, "", bob)
	w.know("a.pair", task.Ask, terms.ReadPublic, "", bob)
	w.know("a.old", task.Ask, terms.ReadPublic, "", bob)
	w.know("e.paid", task.Effect, terms.ExternalSend, "a.done", bob)
	w.know("e.prop2", task.Effect, terms.ExternalSend, "a.done", bob)
	w.know("a.twin", task.Ask, terms.ReadPublic, "", bob)
	w.know("a.gone", task.Ask, terms.ReadPublic, "", bob)
	w.know("l.back", task.Effect, terms.WriteLocal, "a.done", bob)
	w.know("a.send", task.Ask, terms.ExternalSend, "", bob)
	for _, n := range []string{"e.drop", "e.lost", "e.wait", "e.yes", "e.run", "e.mach", "e.unknown", "e.signed", "e.twice", "e.old", "e.two", "e.new", "e.again"} {
		w.know(n, task.Effect, terms.ExternalSend, "a.done", bob)
	}
	w.know("e.both", task.Effect, terms.ExternalSend, "a.done", bob, eve)
	w.know("e.room", task.Effect, terms.ExternalSend, "a.done", room)
	w.know("d.wait", task.Effect, terms.Destructive, "a.done", bob)
	w.know("d.none", task.Effect, terms.CodeOrComputer, "a.done")
	w.know("d.new", task.Effect, terms.Destructive, "a.done", bob)
	w.know("d.code", task.Effect, terms.CodeOrComputer, "a.done")
	for _, n := range []string{"l.note", "l.sched", "l.wait", "l.run", "l.new", "l.done", "l.kept"} {
		w.know(n, task.Effect, terms.WriteLocal, "a.done", bob)
	}
	w.know("e.prop1", task.Effect, terms.ExternalSend, "a.done", bob)
	w.twoWanted("e.pair")
	w.twoWanted("e.pair2")
	w.waits()
}

// base returns a world in which everything has happened, in a transaction.
func base(tb testing.TB) (*world, *pgtest.DB) {
	tb.Helper()
	d := pgtest.New(tb)
	w := play(tb, d)
	w.cohort()
	w.happen()
	if err := w.exec("BEGIN"); err != nil {
		tb.Fatal(err)
	}
	return w, d
}

// happen lets everything happen that makes a world of an empty queue.
func (w *world) happen() {
	clear(w.yeses)
	w.arrive()
	w.answer()
	w.run()
	w.pause()
}

// add returns the lines by which tasks come.
func (w *world) add(to task.State, names ...string) (list []step) {
	for _, n := range names {
		list = append(list, w.of(n, task.Added, "", to))
		if to == task.Scheduled {
			list[len(list)-1].KnownAs = idOf("name of " + n)
		}
	}
	return list
}

// arrive lets tasks, labels, positions and refused records come.
func (w *world) arrive() {
	w.do(by("gate1", w.add(task.Scheduled, "a.sched", "a.send", "a.local", "l.note", "a.old", "a.pair", "a.twin", "a.gone", "l.back", "a.run", "a.mach", "a.late", "a.done", "a.failed", "a.rejected", "a.pruned", "a.back", "l.sched", "l.run", "l.done", "l.kept")...),
		by("gate1", w.add(task.Awaiting, "e.drop", "e.lost", "e.paid", "a.wait", "a.yes", "a.told", "e.wait", "e.yes", "e.run", "e.mach", "e.unknown", "e.signed", "e.twice", "e.old", "e.two", "e.both", "e.room", "e.again", "d.wait", "d.none", "l.wait")...),
		by("gate1", w.resurfaced("a.told", task.Awaiting)), by("gate1", w.refused("r.one"), w.refused("r.two"), w.note("", audit.Limited), w.note("r.three", task.Refused), w.read(7)),
		by("machine1", w.labelled("a.sched", label.Untrusted), w.labelled("a.done", label.Untrusted), w.labelled("e.prop2", label.Untrusted)))
}

// answer lets people say yes and no, now and ahead.
func (w *world) answer() {
	signed := w.yes("e.signed", task.Approved, task.Awaiting, approval.Signature, bob)
	twice := w.yes("e.twice", task.Approved, task.Awaiting, approval.Signature, bob)
	again := w.yes("e.again", task.Approved, task.Awaiting, approval.Signature, bob)
	signed.Approval.Nonce, again.Approval.Nonce = "once", "once more"
	twice.Approval.Nonce = "once"
	paid := w.grant("g.paid", bob, "", time.Hour)
	paid.Grant.Level = approval.Signature
	old := w.yes("e.old", task.Approved, task.Awaiting, approval.Terminal, bob)
	old.Approval.Expires = w.now.Add(-time.Second)
	w.do(by("ann", w.yes("e.drop", task.Approved, task.Awaiting, approval.Terminal, bob)), by("sender1", w.of("e.drop", task.Parked, task.Scheduled, task.Awaiting)))
	w.do(by("ann", w.yes("e.lost", task.Approved, task.Awaiting, approval.Terminal, bob)), by("sender1", w.start("e.lost")), by("sender1", w.ends("e.lost", task.GaveUp, task.Failed)))
	w.do(by("ann", w.yes("e.yes", task.Approved, task.Awaiting, approval.Terminal, bob), w.yes("e.run", task.Approved, task.Awaiting, approval.Terminal, bob),
		w.yes("e.mach", task.Approved, task.Awaiting, approval.Terminal, bob), w.yes("e.unknown", task.Approved, task.Awaiting, approval.Terminal, bob),
		signed, twice, again, old, w.yes("a.yes", task.Approved, task.Awaiting, approval.Terminal, bob)),
		by("all1", w.yes("e.two", task.Approved, task.Awaiting, approval.Terminal, bob), w.grant("g.all", bob, "", time.Hour)),
		by("ann", w.grant("g.bob", bob, "", time.Hour), w.grant("g.bob2", bob, "", time.Hour), w.grant("g.eve", eve, "", time.Hour), w.grant("g.BOB", "Bob@PARTNER.example", "", time.Hour), w.grant("g.room", room, "", time.Hour), w.grant("g.hall", hall, "", time.Hour), w.grant("g.any", "", "", time.Hour),
			w.grant("g.chain", bob, "a.done", time.Hour), w.grant("g.this", bob, "e.wait", time.Hour), w.grant("g.other", bob, "a.sched", time.Hour),
			w.grant("g.late", bob, "", -time.Second), w.grant("g.d", bob, "d.wait", time.Hour), w.grant("g.none", "", "d.none", time.Hour), paid, w.grant("g.local", bob, "l.wait", time.Hour), w.grant(idOf("a.sched"), bob, "", time.Hour)),
		by("ann", w.session(audit.SessionOpened, "s.one", 3), w.session(audit.SessionOpened, "s.two", 3), w.session(audit.SessionOpened, "s.over", 3)),
		by("gate1", w.session(audit.SessionUsed, "s.two", 2)))
	signed1, signed0 := w.session(audit.SessionOpened, "s.signed", 1), w.session(audit.SessionUsed, "s.signed", 0)
	signed1.Session.Level, signed0.Session.Level = approval.Signature, approval.Signature
	signed1.Session.Max, signed0.Session.Max = 1, 1
	gone := w.note("", audit.Revoked)
	gone.Grant = w.given[idOf("a.sched")]
	w.do(by("ann", gone, signed1, w.session(audit.SessionOpened, idOf("a.done"), 3)), by("gate1", signed0),
		by("gate1", w.session(audit.SessionUsed, idOf("a.done"), 2)), by("gate1", w.session(audit.SessionEnded, idOf("a.done"), 2)))
	w.session(audit.SessionOpened, "s.one", 3)
}

// start returns the line of a start.
func (w *world) start(name string) step {
	s := w.of(name, task.Started, task.Scheduled, task.Running)
	if w.tasks[name].kind == task.Ask {
		s.Approval = w.yeses[name]
	}
	return s
}

// ends returns the line of the end of a run.
func (w *world) ends(name string, e task.Event, to task.State) step {
	return w.of(name, e, task.Running, to)
}

// run lets tasks start and end.
func (w *world) run() {
	both := proposing(w.ends("a.done", task.Finished, task.Completed), "e.prop1", "e.prop2")
	both.also = []byte("printed")
	both.Result = task.Digest(both.also)
	paid := append(w.bought("e.paid", []string{bob}, "g.paid"), w.start("e.paid"))
	old := w.start("a.old")
	old.Time = w.now.Add(-72 * time.Hour)
	early := w.start("l.back")
	early.Time = w.now.Add(-2 * time.Hour)
	w.do(by("runner1", old), by("sender1", w.of("l.note", task.Carried, task.Scheduled, task.Completed)), by("sender1", paid...))
	w.do(by("machine1", early), by("machine1", result(w.ends("l.back", task.Retried, task.Scheduled), store.Results)), by("machine1", w.start("l.back")),
		by("machine1", w.ends("l.back", task.Retried, task.Scheduled)))
	w.do(by("runner1", w.start("a.pair"), w.start("a.twin"), w.start("a.gone"), w.start("a.run"), w.start("a.done"), w.start("a.failed"), w.start("a.rejected"), w.start("a.pruned"), w.start("a.back")),
		by("runner1", result(w.ends("a.pruned", task.Extracted, task.Scheduled), store.Extracts)), by("runner1", w.start("a.pruned")),
		by("runner1", both, proposing(w.ends("a.twin", task.Finished, task.Completed), "e.prop1", "e.prop2"), result(w.ends("a.pair", task.Finished, task.Completed), store.Results), w.ends("a.failed", task.GaveUp, task.Failed),
			result(w.ends("a.pruned", task.Finished, task.Completed), store.Results), result(w.ends("a.back", task.Extracted, task.Scheduled), store.Extracts)),
		by("ann", w.ends("a.rejected", task.Cancelled, task.Rejected), w.ends("a.gone", task.Cancelled, task.Rejected)), by("runner1", w.note("a.rejected", audit.Ended)),
		by("machine1", w.note("a.gone", audit.Ended)), call{who: "runner1", steps: []step{w.note("a.gone", audit.Ended)}, host: "elsewhere"}, by("runner1", w.note("a.run", audit.Ended)), by("gate1", w.of("a.pruned", task.Pruned, task.Completed, "")),
		by("machine1", w.start("a.mach"), w.start("a.late"), w.start("e.mach")),
		by("sender1", w.start("e.run"), w.start("e.unknown"), w.start("e.again"), w.start("l.run"), w.start("e.signed"),
			result(w.of("l.done", task.Carried, task.Scheduled, task.Completed), store.Drafts),
			result(w.of("l.kept", task.Carried, task.Scheduled, task.Completed), store.Drafts)),
		by("gate1", w.of("l.kept", task.Pruned, task.Completed, "")))
	back := result(w.ends("e.mach", task.Restored, task.Scheduled), store.Results)
	back.Approval = w.yeses["e.mach"]
	w.do(by("machine1", back), by("machine1", w.start("e.mach")))
	restored := w.ends("e.signed", task.Restored, task.Scheduled)
	restored.Approval = w.yeses["e.signed"]
	w.do(by("sender1", w.note("e.signed", audit.Noted), w.ends("e.unknown", task.Undecided, task.Awaiting), restored))
	w.do(call{who: "gate1", sql: "SELECT", super: `
		UPDATE pulse.run SET until = clock_timestamp() + CASE task WHEN '` + idOf("a.late") + `' THEN -'1 s'::interval ELSE '1 day' END`})
}

// TestForgeBase: the world of these tests is as its log says.
func TestForgeBase(t *testing.T) {
	w, d := base(t)
	if err := w.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	r, err := open(t, d.DSN("machine1")).Verify("")
	if err != nil || len(r.Findings) > 0 {
		t.Errorf("%v, %v", err, r)
	}
}
