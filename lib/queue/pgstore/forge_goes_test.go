package pgstore_test

import (
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// waits knows the asks that wait for their effects, and these: those of a.goes have ended, except
// one that reaches nobody; one of a.held has not, and those of a.full lie in its outbox.
func (w *world) waits() {
	for _, n := range []string{"a.goes", "a.held", "a.full"} {
		w.know(n, task.Ask, terms.ReadPublic, "", bob)
	}
	w.know("e.goes", task.Effect, terms.ExternalSend, "a.goes", bob)
	w.know("l.goes", task.Effect, terms.WriteLocal, "a.goes", bob)
	w.know("e.held", task.Effect, terms.ExternalSend, "a.held", bob)
}

// pause lets them come to wait.
func (w *world) pause() {
	w.do(by("gate1", append(w.add(task.Scheduled, "a.goes", "a.held", "a.full"), w.add(task.Awaiting, "e.goes", "l.goes", "e.held")...)...))
	full := proposing(w.pauses("a.full"), "e.prop1")
	w.do(by("runner1", w.start("a.goes"), w.start("a.held"), w.start("a.full")), by("runner1", w.pauses("a.goes"), w.pauses("a.held"), full),
		by("ann", w.of("e.goes", task.Denied, task.Awaiting, task.Rejected)))
}

// pauses returns the line by which an ask comes to wait, after its first attempt.
func (w *world) pauses(name string) step {
	s := w.ends(name, task.Finished, task.Completed)
	s.Change = task.Change{Attempts: 1, Reason: queue.ReasonPaused}
	return s
}

// goes returns the line by which an ask goes on.
func (w *world) goes(name string) step {
	s := w.of(name, task.Continued, task.Completed, task.Scheduled)
	s.Change = task.Change{Continues: 1, Reason: "effects_ended"}
	return s
}

// revised is a person's word that an ask is to be done otherwise.
var revised = just(func(w *world) call {
	s := w.of("a.pair", task.Continued, task.Completed, task.Scheduled)
	s.Change = task.Change{Revisions: 1, Reason: "revised"}
	return by("ann", s)
})

// gone lets an ask go on, and then what fn says.
func gone(who string, fn func(w *world) step) func(*world) []call {
	return func(w *world) []call { return []call{by("sender1", w.goes("a.goes")), by(who, fn(w))} }
}

// went returns a line about an ask that has gone on.
func went(s step) step {
	s.Change.Reason = "effects_ended"
	s.Change.Continues = 1
	return s
}

// is lets a line be about another task.
func is(name string) func(*world, *call) {
	return func(w *world, c *call) {
		change, t := c.steps[0].Change, c.steps[0]
		c.steps[0] = w.of(name, t.Event, t.From, t.To)
		c.steps[0].Change = change
	}
}

func continues(n int) func(*world, *call) { return first(func(s *step) { s.Change.Continues = n }) }
func revisions(n int) func(*world, *call) { return first(func(s *step) { s.Change.Revisions = n }) }

// ofGoing are about asks that go on.
var ofGoing = []forgery{
	{"an ask that goes on, and does not wait", event(task.Continued, "sender1"), is("a.pair")},
	{"an ask that goes on before an effect has ended", event(task.Continued, "runner1"), is("a.held")},
	{"an ask that goes on before its effects were taken", event(task.Continued, "gate1"), is("a.full")},
	{"an ask that goes on twice", event(task.Continued, "gate1"), continues(2)},
	{"an ask that goes on and is not counted", event(task.Continued, "gate1"), continues(0)},
	{"an ask that goes on, and was started before", event(task.Continued, "gate1"), first(func(s *step) { s.Change.Attempts = 2 })},
	{"an ask that a program wants otherwise", revised, as("machine1")},
	{"an effect that a person wants otherwise", revised, is("l.done")},
	{"an ask that a person wants otherwise twice", revised, revisions(2)},
	{"an ask that a person wants otherwise, and that goes on", revised, continues(1)},
	{"an ask that has gone on, and is started as if it had not", gone("runner1", func(w *world) step { return went(w.start("a.goes")) }), continues(0)},
	{"an ask that is started as if it had been revised", gone("runner1", func(w *world) step { return went(w.start("a.goes")) }), revisions(1)},
	{"an ask that has gone on, and is told of as if it had not", gone("gate1", func(w *world) step { return went(w.resurfaced("a.goes", task.Scheduled)) }), continues(0)},
	{"an ask that is told of as if it had been revised", gone("gate1", func(w *world) step { return went(w.resurfaced("a.goes", task.Scheduled)) }), revisions(1)},
	{"an ask that comes and has gone on", event(task.Added, "gate1"), continues(1)},
	{"an ask that comes and was revised", event(task.Added, "gate1"), revisions(1)},
	{"what has gone on, of what moves nothing", event(audit.Released, "ann"), with(`"continues":1`)},
	{"what was revised, of what moves nothing", event(audit.Released, "ann"), with(`"revisions":1`)},
	{"an ask that goes on as if it had been revised", event(task.Continued, "gate1"), revisions(1)},
	{"an ask that has gone on, and that a person puts back", putBack, continues(1)},
	{"an ask that a person puts back as if it had been revised", putBack, revisions(1)},
	{"an ask that has gone on, and is pruned", func(w *world) []call {
		return append(ended(w), by("gate1", w.of("a.goes", task.Pruned, task.Completed, "")))
	}, otherFile},
	{"an ask that has gone on, and can't be read", func(w *world) []call {
		return append(ended(w), by("runner1", w.of("a.goes", task.Broke, task.Completed, task.Corrupt)))
	}, as("gate1")},
}

// ended lets an ask go on and end.
func ended(w *world) []call {
	end := went(w.ends("a.goes", task.Finished, task.Completed))
	return []call{by("sender1", w.goes("a.goes")), by("runner1", went(w.start("a.goes"))), by("runner1", end)}
}

func putBack(w *world) []call {
	return append(ended(w), by("ann", w.yes("a.goes", task.Requeued, task.Completed, approval.Terminal, bob)))
}
