package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// tick is a line of a clock that is off by so much.
type tick struct {
	off time.Duration
	e   task.Event
}

// clocks are honest lines by clocks, from when a world is.
func clocks(ticks ...tick) func(*world) []call {
	return func(w *world) (list []call) {
		for _, t := range ticks {
			s, who := w.note("", t.e), "gate1"
			if t.e == audit.ClockConfirmed {
				who = "ann"
			}
			if s.Time = w.now.Add(t.off); t.e == audit.ClockJumped || t.e == audit.ClockConfirmed {
				s.Change.Since, s.Before, s.Began = w.now, w.now, w.now // which a client says, and no server believes
			}
			list = append(list, by(who, s))
		}
		return list
	}
}

// at lets the last line be of another time.
func at(off time.Duration) func(*world, *call) {
	return func(w *world, c *call) { c.steps[0].Time = w.now.Add(off) }
}

const h, m = time.Hour, time.Minute

// ofClocks are jumps of a clock that did not jump.
var ofClocks = []forgery{
	{"a jump back of less than an hour", clocks(tick{-61 * m, audit.ClockJumped}), at(-59 * m)},
	{"a jump ahead of less than two days", clocks(tick{49 * h, audit.ClockJumped}), at(47 * h)},
	{"a jump from a clock that is not believed", clocks(tick{72 * h, audit.ClockJumped}, tick{72*h + 10*m, audit.Held}, tick{122 * h, audit.ClockJumped}), at(74 * h)},
	{"a return to nowhere near", clocks(tick{-5 * h, audit.ClockJumped}, tick{-270 * m, audit.Held}, tick{10 * m, audit.ClockJumped}), at(-2 * h)},
	{"a return by less than an hour", clocks(tick{-70 * m, audit.ClockJumped}, tick{-20 * m, audit.Held}, tick{45 * m, audit.ClockJumped}), at(35 * m)},
	{"a return from a clock that was believed, to nowhere near", clocks(tick{-5 * h, audit.ClockJumped}, tick{-3 * h, audit.Held}, tick{-30 * m, audit.ClockJumped}), at(-90 * m)},
	{"a return from where the clock had come to", clocks(tick{-5 * h, audit.ClockJumped}, tick{-1 * m, audit.Held}, tick{62 * m, audit.ClockJumped}),
		at(58 * m)},
	{"a return that was made", clocks(tick{-5 * h, audit.ClockJumped}, tick{-3 * h, audit.Held}, tick{10 * m, audit.ClockJumped}, tick{-5 * h, audit.ClockJumped}), at(70 * m)},
	{"a return from a clock that a person believed, to nowhere near", clocks(tick{-5 * h, audit.ClockJumped}, tick{-270 * m, audit.ClockConfirmed}, tick{0, audit.ClockJumped}), at(-2 * h)},
	{"a return to where a clock ahead was", clocks(tick{72 * h, audit.ClockJumped}, tick{72*h + 10*m, audit.ClockConfirmed}, tick{m, audit.ClockJumped}), at(74 * h)},
	{"a jump twice in a commit", clocks(tick{-5 * h, audit.ClockJumped}), func(_ *world, c *call) { c.steps = append(c.steps, c.steps...) }},
}

// jumping returns jumps of each kind, one after the other. The first is to before all starts.
func jumping(w *world) []call {
	const jumped, confirmed, held = audit.ClockJumped, audit.ClockConfirmed, audit.Held
	list := clocks(
		tick{-2 * h, jumped}, tick{-100 * m, held}, tick{25 * h, jumped}, tick{25 * h, confirmed}, // right again, and a person says so
		tick{80 * h, jumped}, tick{80*h + 10*m, held}, tick{-3 * h, jumped}, // from one that is not believed
		tick{-3*h + 30*m, held}, tick{85 * h, jumped}, tick{87 * h, held}, tick{140 * h, jumped}, // from one that is
		tick{-4 * h, jumped}, tick{-2 * h, held}, tick{-20 * h, jumped}, // further back, from one that is
		tick{-18 * h, held}, tick{90 * m, held}, tick{60 * h, jumped}, // from one that has come to where it was
	)(w)
	both := clocks(tick{-5 * h, jumped}, tick{-5 * h, audit.Released}, tick{-5 * h, confirmed})(w)
	return append(list, by("ann", both[0].steps[0], both[1].steps[0], both[2].steps[0]), by("ann", both[1].steps[0], both[2].steps[0]))
}

// TestJumpsAreTrue: what a line of a clock says is the server's, whatever the client says: one
// that names no line before it, or a time in two hundred years, would stop all starts.
func TestJumpsAreTrue(t *testing.T) {
	w, _ := base(t)
	for _, honest := range []func(*world) []call{
		clocks(tick{-5 * h, audit.ClockJumped}),
		clocks(tick{-5 * h, audit.ClockJumped}, tick{-4 * h, audit.Held}, tick{10 * m, audit.ClockJumped}),
		clocks(tick{-5 * h, audit.ClockJumped}, tick{-4 * h, audit.ClockConfirmed}),
	} {
		calls := honest(w)
		if _, err := w.try(calls...); err != nil {
			t.Fatal(err)
		}
		want := w.written[0]
		c := &calls[len(calls)-1]
		c.steps[0].Change.Since, c.steps[0].Before, c.steps[0].Began = w.now.AddDate(0, -1, 0), w.now.AddDate(200, 0, 0), w.now.AddDate(-50, 0, 0)
		if _, err := w.try(calls...); err != nil || w.written[0] != want {
			t.Errorf("%v: %s, want %s", err, w.written[0], want)
		}
	}
	if err := w.exec(pgtest.Strict); err != nil {
		t.Fatal(err)
	}
	if _, err := w.try(w.legal(audit.ClockJumped, "gate1")); code(err) != "PU002" {
		t.Errorf("a jump of a clock that is right: %v", err)
	}
}

// TestCapsOfTheServer: what was started before the server's clock went back counts, by the
// server's own count, too.
func TestCapsOfTheServer(t *testing.T) {
	w, _ := base(t)
	if err := w.exec("UPDATE pulse.queue SET max_per_day = (SELECT count(*) FROM pulse.start WHERE entry LIKE '% a %' AND at > extract(epoch FROM now()) - 86400)"); err != nil {
		t.Fatal(err)
	}
	start := w.legal(task.Started, "runner1")
	if _, err := w.try(start); code(err) != "PU002" {
		t.Fatalf("the cap does not hold: %v", err)
	}
	back := clocks(tick{-30 * h, audit.ClockJumped})(w)[0]
	start.steps[0].Time = w.now.Add(-29 * h)
	if n, err := w.try(back, start); n != 1 || code(err) != "PU002" {
		t.Errorf("the cap is empty after the clock went back: call %d, %v", n, err)
	}
}

// TestJumpByALogin: that a server says by which login a line is makes nobody vouch for the clock.
func TestJumpByALogin(t *testing.T) {
	s := open(t, pgtest.New(t).DSN("machine1"))
	at := time.Now().UTC().Truncate(time.Second)
	var clock clock.Clock
	for _, now := range []time.Time{at, at.Add(72 * time.Hour)} {
		if err := queuetest.Brake(audit.Held).Do(s, now); err != nil {
			t.Fatal(err)
		}
		err := s.View(func(v store.View) (err error) {
			clock, err = queue.ClockOf(v, now.Add(time.Second))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if clock.To.IsZero() || clock.Confirmed || clock.Jump.By != "" {
		t.Errorf("%+v", clock)
	}
}

// TestForgets: what was started is forgotten after two days, and not by a clock that may be wrong; verify
// expects just the starts that are left.
func TestForgets(t *testing.T) {
	w, d := base(t)
	if err := w.forgets(); err != nil {
		t.Fatal(err)
	}
	for _, c := range append(clocks(tick{72 * h, audit.ClockJumped})(w), w.begins("a.sched", 72*h+m),
		clocks(tick{m, audit.ClockJumped})(w)[0], w.begins("a.local", 2*m), w.begins("a.send", 50*h)) {
		if err := w.commit(&c); err != nil {
			t.Fatal(err)
		}
		if err := w.exec("COMMIT"); err != nil {
			t.Fatal(err)
		}
		if verified, _ := findings(t, d); len(verified) > 0 {
			t.Errorf("after %s at %s: %q", c.steps[0].Event, c.steps[0].Time, verified)
		}
	}
}

// begins is a start by a clock that is off by so much.
func (w *world) begins(name string, off time.Duration) call {
	s := w.start(name)
	s.Time = w.now.Add(off)
	return by("all1", s)
}

// forgets is the first part of TestForgets.
func (w *world) forgets() error {
	jumped := tick{72 * h, audit.ClockJumped}
	for _, f := range []struct {
		at    time.Duration
		ticks []tick
		kept  bool
	}{
		{48 * h, nil, true},
		{48*h + time.Second, nil, false},
		{72*h + 59*m, []tick{jumped}, true},
		{73*h + time.Second, []tick{jumped}, false},
		{72*h + m, []tick{jumped, {72 * h, audit.ClockConfirmed}}, false},
	} {
		calls := append(clocks(f.ticks...)(w), w.begins("a.sched", f.at),
			call{who: "gate1", sql: fmt.Sprintf("DO $$ BEGIN ASSERT (SELECT count(*) > 1 FROM pulse.start) = %v; END $$", f.kept)})
		if _, err := w.try(calls...); err != nil {
			return fmt.Errorf("a start after %s, and %v: %w", f.at, f.ticks, err)
		}
	}
	return nil
}
