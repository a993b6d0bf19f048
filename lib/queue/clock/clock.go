// Package clock says what a queue makes of the clock of a command. The queue's own time is that of
// its log: a clock that lies too far from the last line is not believed until it has gone on for
// an hour, or a person confirms it. It is pure.
package clock

import (
	"time"

	"pulse/lib/shared/audit"
)

// How far a line may lie from the one before it, and for how long a clock has to go on after a
// jump until it is believed. A queue in which nothing happened for longer than maxAhead so has an
// hour in which nothing expires.
const (
	MaxBehind = time.Hour
	maxAhead  = 48 * time.Hour

	Confirming = time.Hour
)

// Jump is a place in the log where the clock jumped.
type Jump struct {
	From, To time.Time // the lines before and after it; zero: the clock never jumped
	High     time.Time // the last line of a clock that was believed, if that of From was not
	Began    time.Time // the time after the last jump back, this one or an earlier; zero: the clock never went back
	By       string    // a person who confirmed the clock after it
}

// To returns a jump between two lines.
func To(from, to, high, began time.Time) Jump {
	if to.Before(from) {
		began = to
	}
	return Jump{From: from, To: to, High: high, Began: began}
}

// Back reports whether the clock jumped back.
func (j *Jump) Back() bool { return j.To.Before(j.From) }

// Reached returns the last line of a clock that was believed.
func (j *Jump) Reached() time.Time {
	if j.High.IsZero() {
		return j.From
	}
	return j.High
}

// settled reports whether the clock after the jump is believed at a time.
func (j *Jump) settled(t time.Time) bool {
	return j.To.IsZero() || j.By != "" || t.Sub(j.To) >= Confirming
}

// Clock is what a queue makes of the clock of a command. The queue's own time is that of its
// log: a clock that lies too far from the last line is not believed until it has gone on for an
// hour, or a person confirms it. Until then tasks are taken and started, and nothing expires or
// is forgotten.
type Clock struct {
	Now       time.Time
	Last      time.Time // of the last line; zero: there is none
	Jump                // the last one, which may be the one from Last to Now
	New       bool      // it is, and the log does not have it yet
	Confirmed bool
}

// At returns what a queue makes of the clock now, by the last line and the last jump of its log.
func At(last time.Time, jump Jump, now time.Time) Clock {
	c := Clock{Now: now, Last: last, Jump: jump, Confirmed: jump.settled(now)}
	high := time.Time{}
	if top := jump.Reached(); !jump.settled(last) || last.Before(top) && now.After(top.Add(-MaxBehind)) {
		high = top // also if the clock was believed meanwhile: its lines are not as old as they look
	}
	step := now.Sub(last)
	returns := last.Before(high) && step > MaxBehind && now.After(high.Add(-MaxBehind))
	if !last.IsZero() && (step < -MaxBehind || step > maxAhead || returns) {
		c.Jump, c.New, c.Confirmed = To(last, now, high, jump.Began), true, false
	}
	return c
}

// JumpOf returns the jump that a line of the log is about.
func JumpOf(l *audit.Line) Jump {
	j := Jump{From: l.Change.Since, To: l.Time, High: l.Before, Began: l.Began}
	if l.Event == audit.ClockConfirmed { // a server says of every line who wrote it
		j.By = l.By
	}
	return j
}

// Of returns since when something is as it is that has been so since t by the log. What lies
// far ahead of the clock was written by another one, and counts from where that was left; what was
// written by a clock that was behind until the last jump is no older than what that clock went
// back from. A jump ahead that does not come back to that shows no clock to be behind. Caveat: after
// another jump, that is known only where the log is read (Ages, Older).
func (c *Clock) Of(t time.Time) time.Time {
	behind := !c.Back() && !c.Began.IsZero() && c.From.Before(c.High) && c.To.After(c.High.Add(-MaxBehind))
	if behind && !t.Before(c.Began.Add(-MaxBehind)) && !t.After(c.From) {
		t = c.High
	}
	switch {
	case !t.After(c.Now) || c.Now.IsZero():
		return t
	case t.Sub(c.Now) <= MaxBehind || c.Began.IsZero() || c.Began.After(c.Now):
		return c.Now // clocks differ
	}
	return c.Began
}

// Latest returns the time by which a yes must not have expired: that of the clock or, while that
// is not believed, what the log had reached if that is later. So a clock that is set back revives
// nothing.
func (c *Clock) Latest() time.Time {
	if high := c.Reached(); !c.Confirmed && high.After(c.Now) {
		return high
	}
	return c.Now
}

// Recent reports whether the clock jumped less than d ago.
func (c *Clock) Recent(d time.Duration) bool { return !c.To.IsZero() && c.Now.Sub(c.To) < d }

// By returns the time by which a yes that was given then must not have expired. One that was given
// ahead of the clock counts from where the clock began, and one that had expired before the clock
// went back is not revived by it. Caveat: of one whose time a clock that went back, and is believed,
// has come to again, nobody knows by which clock it was given.
func (c *Clock) By(given time.Time) time.Time {
	by := c.Latest()
	ahead := given.After(by)
	if ahead {
		by = by.Add(given.Sub(c.Of(given)))
	}
	if high := c.Reached(); c.Back() && high.After(by) && (ahead || given.Before(c.Began)) {
		return high // the log had reached that after it was given
	}
	return by
}

// Sure returns the time of the clock or, while that is not believed, that of the log before it,
// whichever is earlier: what is kept for a while is kept at least for that.
func (c *Clock) Sure() time.Time {
	if high := c.Reached(); !c.Confirmed && high.Before(c.Now) {
		return high
	}
	return c.Now
}

// Ages says when the lines of a log were, by the clock of now. It has to be asked for each line,
// the newest first, and believes of no line that
//
//   - it is still to come: what lies ahead counts as of the jump back;
//   - it is before the last line of a clock that was believed, if its own was not: what was done
//     with a clock that was a day behind does not look a day old once it is right again;
//   - if it is asked for a limit: that time has passed since the clock was believed, until it is
//     again. Otherwise one tick with a wrong clock would empty all limits.
type Ages struct {
	clock       *Clock
	latest, not time.Time     // when a line was that lies ahead; and no line was before the other
	later       time.Duration // by which lines count as later than they say
	believed    bool          // the clock of the lines was
	doubts      bool          // it is asked for a limit, and has not come to a clock that was believed
}

// Ages returns ages from the end of the log, for a limit or for what people read.
func (c *Clock) Ages(limit bool) *Ages {
	a := &Ages{clock: c, latest: c.Now, believed: true, doubts: limit && !c.Confirmed}
	if c.New {
		a.pass(c.Now, &c.Jump)
	}
	return a
}

// Of returns when a line was.
func (a *Ages) Of(l *audit.Line) time.Time {
	at := l.Time.Add(a.later)
	if at.Before(a.not) {
		at = a.not
	}
	if at.After(a.clock.Now) && !a.clock.Now.IsZero() {
		at = a.latest
	}
	if l.Event == audit.ClockJumped {
		j := JumpOf(l)
		a.pass(at, &j)
	}
	return at
}

// Over reports whether no line before one of a time is younger than d.
func (a *Ages) Over(at time.Time, d time.Duration) bool {
	return a.believed && a.clock.Now.Sub(at) >= d
}

// pass goes from the first line after a jump to the last one before it.
func (a *Ages) pass(at time.Time, j *Jump) {
	a.latest, a.believed = at, j.High.IsZero()
	switch {
	case a.doubts && !a.believed:
		a.not = at
		return
	case a.doubts:
		a.later, a.doubts = max(0, a.clock.To.Sub(j.From)), false
	}
	a.not = j.High.Add(a.later)
}
