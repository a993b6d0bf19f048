// Package queue says what happens to a task: how a record becomes a task, when it may
// start, what its end means, what a person's answer changes. Package store has what
// is kept of it.
//
// Invariants. An accepted task is started once for each approval or attempt, and never
// after it completed. Before each start it is decided on again, with the policy of that
// moment. An effect that reaches the outside starts only on a person's approval, which is
// spent first.
//
// Caveat: nearly all of this runs inside a View or an Update, and the caller brings the
// clock.
package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// Tx is a View in which changes can be staged. Where shows what is staged, and so does Get of
// labels; all else is the picture from before.
type Tx struct {
	store.View
	commit    store.Commit
	states    map[string]task.State // of the tasks looked at or staged
	refused   int                   // rejections staged on day
	limited   bool                  // the log says that some of day have no line
	day       string
	labels    map[string]label.Set // of root tasks, as staged
	positions []store.Position
	read      time.Time        // when these were staged
	pasts     map[string]*Past // what asks are told, as far as it was asked for
	mark      *mark            // nil: not read
	clock     *[2]time.Time    // what Clock returns; nil: not read
	doubted   time.Time        // when something was left alone, because the clock had jumped
}

// InTurns calls fn in one Update after the other while it wants more, so that other commands get the lock in between.
func InTurns(s store.Store, fn func(*Tx) (more bool, err error)) error {
	for more := true; more; {
		err := Update(s, func(tx *Tx) (err error) {
			more, err = fn(tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Update runs fn on a store that no other command can change meanwhile, and then carries
// out what fn staged: all of it, durably, or nothing if fn or the commit fails. If fn comes to
// start an ask that is told of earlier effects, that is read first, and fn runs once more: the
// log is too long to be read while others wait.
func Update(s store.Store, fn func(*Tx) error) error {
	pasts := map[string]*Past{}
	for {
		err := s.Update(func(v store.View) (*store.Commit, error) {
			tx := &Tx{View: v, states: map[string]task.State{}, pasts: pasts}
			if err := fn(tx); err != nil {
				return nil, err
			}
			if err := tx.goOn(); err != nil {
				return nil, err
			}
			if err := tx.readFurther(); err != nil {
				return nil, err
			}
			if err := tx.jumped(); err != nil {
				return nil, err
			}
			return &tx.commit, nil
		})
		var id errPast
		if !errors.As(err, &id) {
			return err
		}
		if pasts[string(id)], err = PastOf(s, string(id)); err != nil {
			return err
		}
	}
}

// Where returns the task's state, staged changes included.
func (t *Tx) Where(id string) (st task.State, err error) {
	st, ok := t.states[id]
	if !ok {
		if st, err = t.View.Where(id); err == nil {
			t.states[id] = st // no other command can change it now
		}
	}
	return st, err
}

// Clock is that of the View, which no other command can change now.
func (t *Tx) Clock() (now, last time.Time, err error) {
	if t.clock == nil {
		if now, last, err = t.View.Clock(); err != nil {
			return now, last, err
		}
		t.clock = &[2]time.Time{now, last}
	}
	return t.clock[0], t.clock[1], nil
}

// Get reads a thing, and labels as they are staged.
func (t *Tx) Get(s store.Shelf, key string) (store.Item, error) {
	if set, staged := t.labels[key]; staged && s == store.Labels {
		return store.Item{Bytes: store.LabelsFile(set)}, nil
	}
	return t.View.Get(s, key)
}

// Add stages a new task file in the state the line leads to. It fails if the id is
// known in any state.
func (t *Tx) Add(file []byte, line audit.Line) error {
	if err := t.legal(&line); err != nil {
		return err
	}
	t.blob(store.On(line.To), &line, file)
	t.log(line)
	return nil
}

// Move stages a transition. It is a compare-and-swap: the task must be in the state
// that the line names.
func (t *Tx) Move(line audit.Line) error {
	if err := t.legal(&line); err != nil {
		return err
	}
	t.log(line)
	return nil
}

func (t *Tx) legal(line *audit.Line) error {
	st, err := t.Where(line.Task)
	if err != nil {
		return err
	}
	if st != line.From {
		return fmt.Errorf("%w: %s is in %q, not in %q", store.ErrConflict, line.Task, st, line.From)
	}
	if line.Event == task.Continued && line.Kind != task.Ask {
		return fmt.Errorf("queue: %s is no ask, and does not go on", line.Task)
	}
	return task.Legal(line.Event, line.From, line.To)
}

// Stage stages bytes whose digest the next line holds.
func (t *Tx) Stage(s store.Shelf, key string, b []byte) {
	t.commit.Blobs = append(t.commit.Blobs, store.Blob{Shelf: s, Key: key, Bytes: b})
}

// Log stages a line that moves no task.
func (t *Tx) Log(line audit.Line) error {
	if line.Moves() {
		return fmt.Errorf("queue: %s moves a task", line.Event)
	}
	t.log(line)
	return nil
}

func (t *Tx) log(line audit.Line) {
	if line.Moves() {
		t.states[line.Task] = line.To
	}
	if line.Event == audit.Labelled {
		if t.labels == nil {
			t.labels = map[string]label.Set{}
		}
		t.labels[line.Task] = line.Labels
	}
	t.commit.Lines = append(t.commit.Lines, line)
}

// MaxRefusals is how many policy rejections of one day get a line of their own in the
// audit log. The others are only counted.
const MaxRefusals = 1000

// Refuse counts a rejection, and stages its line unless the day has had MaxRefusals. kept is
// what is kept of the record, and what the line has the digest of; nil: nothing is kept.
// listed reports whether both were staged.
func (t *Tx) Refuse(line audit.Line, kept []byte) (listed bool, err error) {
	if day := line.Time.UTC().Format(time.DateOnly); day != t.day {
		t.day, t.refused, t.limited, t.commit.Unlisted = day, 0, false, 0
	}
	t.refused++
	n, c := t.refused, t.Counts()
	if c.Day == t.day {
		n += c.Refused
		t.limited = t.limited || c.Limited
	}
	if n <= MaxRefusals {
		return true, t.logKept(line, kept)
	}
	if !t.limited { // effects count, too, so this need not be the first beyond
		t.limited = true
		t.log(audit.Line{Time: line.Time, Event: audit.Limited})
	}
	t.commit.Unlisted++
	return false, nil
}

// logKept stages the line of a rejection, and what is kept of the record.
func (t *Tx) logKept(line audit.Line, kept []byte) error {
	if kept != nil {
		t.blob(store.Refused, &line, kept)
	}
	return t.Log(line)
}

// blob stages the file that a line is about, before the line.
func (t *Tx) blob(s store.Shelf, line *audit.Line, b []byte) {
	made := line.Time.Add(time.Duration(len(t.commit.Lines))) // those a nanosecond apart keep their order
	t.commit.Blobs = append(t.commit.Blobs, store.Blob{Shelf: s, Key: line.Task, Bytes: b, Made: made})
}

// Position stages how far a source was read. If it is staged more than once, the furthest
// position counts.
func (t *Tx) Position(p store.Position, now time.Time) {
	t.read = now
	t.positions = furthest(t.positions, p)
}

// furthest returns a list of positions, one for each source, with p if that is further.
func furthest(list []store.Position, p store.Position) []store.Position {
	i := slices.IndexFunc(list, func(have store.Position) bool { return have.Source == p.Source })
	switch {
	case i < 0:
		return append(list, p)
	case !backwards(&list[i], &p):
		list[i] = onward(&list[i], p)
	}
	return list
}

// readFurther puts the positions of sources that were read further into the last staged
// line, or into a line of their own, so that the log says what the store holds.
func (t *Tx) readFurther() error {
	var further []store.Position
	for _, p := range t.positions {
		old, known, err := PositionOf(t, p.Source)
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			return err
		}
		if !known || err != nil {
			further = append(further, p)
		} else if !backwards(&old, &p) {
			further = append(further, onward(&old, p))
		}
	}
	if len(further) == 0 {
		return nil
	}
	if len(t.commit.Lines) == 0 {
		t.log(audit.Line{Time: t.read, Event: audit.Read})
	}
	t.commit.Lines[len(t.commit.Lines)-1].Positions = further
	return nil
}

// onward returns p, which lies after old, with a time that does not lie before old's. An old
// mail that is moved into a mailbox is the last one there; if its UID means nothing any more,
// fetch begins at that time, and must not begin years ago.
func onward(old *store.Position, p store.Position) store.Position {
	if p.Received.Before(old.Received) {
		p.Received = old.Received
	}
	return p
}

// backwards reports whether p does not lie after old, because a replayed record must not
// set a source back. UIDs of different UIDVALIDITY can't be compared, but times can.
func backwards(old, p *store.Position) bool {
	if old.UIDValidity == p.UIDValidity {
		return old.UID >= p.UID
	}
	return p.Received.Before(old.Received)
}
