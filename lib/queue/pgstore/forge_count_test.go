package pgstore_test

import (
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// lapsed takes back an effect whose machine was not heard of.
func lapsed(w *world) []call {
	s := w.ends("e.mach", task.Undecided, task.Awaiting)
	s.reap, s.Change = true, task.Change{Reason: queue.ReasonUnknownEffect, Restarts: 1}
	c := by("runner1", s)
	c.super = "UPDATE pulse.run SET until = now() - '1 s'::interval WHERE task = '" + s.Task + "'"
	return []call{c}
}

// and returns what happens after an effect was taken back.
func and(list ...func(w *world) call) func(*world) []call {
	return func(w *world) []call {
		all := lapsed(w)
		for _, fn := range list {
			all = append(all, fn(w))
		}
		return all
	}
}

// shuts closes that effect, with its number of starts.
func shuts(w *world) call {
	s := w.of("e.mach", task.Dropped, task.Awaiting, task.Rejected)
	s.Change.Restarts = 1
	return by("runner1", s)
}

// again lets a person say yes to that effect, and starts it.
var again = []func(w *world) call{
	func(w *world) call {
		s := w.yes("e.mach", task.Approved, task.Awaiting, approval.Terminal, bob)
		s.Change.Restarts = 1
		return by("ann", s)
	},
	func(w *world) call {
		s := w.start("e.mach")
		s.Change.Restarts = 1
		return by("machine1", s)
	},
	func(w *world) call {
		c := lapsed(w)[0]
		c.steps[0].Change.Restarts = 2
		return c
	},
}

// broken says that the file of that effect can't be read.
func broken(w *world) []call {
	all := lapsed(w)
	s := w.ends("e.mach", task.Broke, task.Corrupt)
	s.reap = true
	all[0].steps[0] = s
	return all
}

var otherFile = first(func(s *step) { s.Digest = task.Digest(nil) })

// ofCounts are about how often an effect was started, which tells a person whether it may have
// happened.
var ofCounts = []forgery{
	{"an effect that is taken back as if nothing had happened", lapsed, first(func(s *step) { s.Change.Reason = "effect_needs_person" })},
	{"an effect that is taken back without a reason", lapsed, first(func(s *step) { s.Change.Reason = "" })},
	{"an effect that is taken back as if it had not been started", lapsed, first(func(s *step) { s.Change.Restarts = 0 })},
	{"an effect that is taken back twice as if it had been started once", and(again...), first(func(s *step) { s.Change.Restarts = 1 })},
	{"an effect that is taken back to start again", lapsed, first(func(s *step) { s.Event, s.To = task.Restarted, task.Scheduled })},
	{"an effect that is taken back for good", lapsed, first(func(s *step) { s.Event, s.To = task.GaveUp, task.Failed })},
	{"an effect that is taken back, and can't be read", broken, func(_ *world, c *call) { c.super = "" }},
	{"an effect that was started, and is closed as if it had not been", and(shuts), first(func(s *step) { s.Change.Restarts = 0 })},
	{"an effect that failed, and is closed as if it had not", func(w *world) []call {
		end, closed := w.ends("e.run", task.Undecided, task.Awaiting), w.of("e.run", task.Dropped, task.Awaiting, task.Rejected)
		end.Change.Attempts, closed.Change.Attempts = 1, 1
		return []call{by("sender1", end), by("runner1", closed)}
	}, first(func(s *step) { s.Change.Attempts = 0 })},
	{"an effect that was started, and that a person puts back", and(shuts, func(w *world) call {
		return by("ann", w.yes("e.mach", task.Requeued, task.Rejected, approval.Terminal, bob))
	}), otherFile},
	{"an effect that was started, and is pruned", and(shuts, func(w *world) call {
		return by("gate1", w.of("e.mach", task.Pruned, task.Rejected, ""))
	}), otherFile},
	{"an effect that was started, and can't be read", and(func(w *world) call {
		return by("runner1", w.of("e.mach", task.Broke, task.Awaiting, task.Corrupt))
	}), as("gate1")},
	{"an ask that counts anew with its extract", func(w *world) []call {
		again, start := w.ends("a.run", task.Retried, task.Scheduled), w.start("a.run")
		again.Change.Attempts, start.Change.Attempts = 1, 1
		return []call{by("runner1", again), by("runner1", start), by("runner1", result(w.ends("a.run", task.Extracted, task.Scheduled), store.Extracts))}
	}, otherFile},
	{"an ask that counts anew when it is tried again", func(w *world) []call {
		first, start, again := w.ends("a.run", task.Retried, task.Scheduled), w.start("a.run"), w.ends("a.run", task.Retried, task.Scheduled)
		first.Change.Attempts, start.Change.Attempts, again.Change.Attempts = 1, 1, 2
		return []call{by("runner1", first), by("runner1", start), by("runner1", again)}
	}, first(func(s *step) { s.Change.Attempts = 0 })},
	{"an ask that was started more often than it was, with a yes", func(w *world) []call {
		parked := w.ends("a.run", task.Parked, task.Awaiting)
		parked.Change.Attempts = 1
		return []call{by("runner1", parked), by("ann", w.yes("a.run", task.Approved, task.Awaiting, approval.Terminal, bob))} // it counts anew
	}, first(func(s *step) { s.Change.Attempts = 2 })},
	{"an effect that counts anew with a yes", and(again[0]), first(func(s *step) { s.Change.Restarts = 0 })},
}
