package queue

import (
	"errors"
	"slices"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// nowOf returns the time of a command: that of the store, if the store has a clock of its own that
// all commands share, and otherwise now, which is the clock of this machine. It is the time that a
// line has which is committed now.
func nowOf(v store.View, now time.Time) (time.Time, error) {
	shared, _, err := v.Clock()
	if shared.IsZero() {
		shared = now
	}
	return shared.UTC(), err
}

// ClockOf returns what the queue makes of the clock now.
func ClockOf(v store.View, now time.Time) (c clock.Clock, err error) {
	if now, err = nowOf(v, now); err != nil {
		return c, err
	}
	return clockOf(v, now)
}

// clockOf is ClockOf for a time that a line has. What is kept of the last jump, if it can't be
// read, is as good as a jump now: so it is made anew.
func clockOf(v store.View, now time.Time) (c clock.Clock, err error) {
	tx, ok := v.(*Tx)
	m := &mark{}
	if ok && tx.mark != nil {
		m = tx.mark // nobody can change it now
	} else if _, m.last, err = v.Clock(); err == nil {
		m.jump, err = jumpOf(v)
		m.unread = errors.Is(err, store.ErrCorrupt)
	}
	switch {
	case err != nil && !m.unread:
		return c, err
	case ok:
		tx.mark = m
	}
	if m.unread {
		return clock.Clock{Now: now, Last: m.last, Jump: clock.To(m.last, now, time.Time{}, now), New: true}, nil
	}
	return clock.At(m.last, m.jump, now), nil
}

// mark is what a clock is held against.
type mark struct {
	last   time.Time // of the last line
	jump   clock.Jump
	unread bool // what is kept of the jump can't be read
}

// jumpOf returns the last jump that the log has.
func jumpOf(v store.View) (j clock.Jump, err error) {
	item, err := v.Get(store.Clocks, "")
	if errors.Is(err, store.ErrUnknown) {
		return j, nil
	}
	if err != nil {
		return j, err
	}
	l, err := audit.Parse(item.Bytes)
	if err != nil || l.Time.IsZero() {
		return j, errors.Join(store.ErrCorrupt, err)
	}
	return clock.JumpOf(&l), nil
}

// Starts calls fn for the starts that count against a limit, in the order of the log, with the time
// that they count from. After a jump of the clock it asks the log, because only the order of its
// lines tells which clock a start was made by.
func Starts(v store.View, now time.Time, fn func(store.Start)) error {
	c, err := ClockOf(v, now)
	if err != nil {
		return err
	}
	if !c.Recent(store.Window) {
		return v.Starts(c.Now, func(st store.Start) {
			st.Time = c.Of(st.Time)
			fn(st)
		})
	}
	var list []store.Start
	ages := c.Ages(true)
	err = v.Back(func(l audit.Line) bool {
		at := ages.Of(&l)
		if l.Event == task.Started {
			if !at.Equal(l.Time) {
				doubts(v, &c)
			}
			e := store.EntryOf(&l)
			list = append(list, store.Start{Time: at, Kind: e.Kind, External: e.External, Sender: e.Sender})
		}
		return !ages.Over(at, store.Window)
	}, task.Started, audit.ClockJumped)
	for _, st := range slices.Backward(list) {
		fn(st)
	}
	return err
}

// Confirm records that a person vouches for the clock of now.
func Confirm(tx *Tx, line audit.Line, now time.Time) error {
	c, err := ClockOf(tx, now)
	if err != nil {
		return err
	}
	line.Time, line.Event, line.Change.Since, line.Before, line.Began = c.Now, audit.ClockConfirmed, c.From, c.High, c.Began
	return tx.Log(line)
}

// doubts reports whether something that is due has to wait, because the clock is not believed.
// The log says so in any case: the hour until it is believed counts from that line.
func (t *Tx) doubts(c *clock.Clock) bool {
	if c.New && t.doubted.IsZero() {
		t.doubted = c.Now
	}
	return !c.Confirmed
}

// doubts is Tx.doubts for what may be read in an Update.
func doubts(v store.View, c *clock.Clock) {
	if tx, ok := v.(*Tx); ok {
		tx.doubts(c)
	}
}

// jumped puts a line before those that are staged, if the clock jumped.
func (t *Tx) jumped() error {
	at := t.doubted
	if len(t.commit.Lines) > 0 {
		at = t.commit.Lines[0].Time
	}
	if at.IsZero() {
		return nil
	}
	c, err := ClockOf(t, at)
	if err != nil {
		return err
	}
	if c.New {
		line := audit.Line{Time: c.Now, Event: audit.ClockJumped, Before: c.High, Began: c.Began}
		line.Change.Since = c.From
		t.commit.Lines = append([]audit.Line{line}, t.commit.Lines...)
	}
	t.commit.Unsure = !c.Confirmed
	return nil
}
