package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
)

// ErrRecorded means that a grant or a session was recorded before.
var ErrRecorded = errors.New("it was recorded before")

// Anew makes sure that a grant or a session that is good since a time was never recorded,
// whatever became of it, and returns the rest of that check, which belongs into the Update
// that records it. Anew reads the log back to that time, and keeps nobody out meanwhile; the
// rest reads only the lines that came since.
func Anew(s store.Store, id string, since time.Time) (rest func(*Tx) error, err error) {
	var lines store.Lines
	var last string // prev of the last line that was read
	err = s.View(func(v store.View) (err error) {
		last = ""
		if lines, err = v.Lines(since, store.About(id)); err != nil {
			return err
		}
		return v.Back(func(l audit.Line) bool {
			last = l.Prev
			return false
		})
	})
	if err != nil {
		return nil, err
	}
	err = lines(func(_ []byte, l *audit.Line) error { return recorded(l, id) })
	if err != nil {
		return nil, err
	}
	return func(tx *Tx) (err error) {
		back := tx.Back(func(l audit.Line) bool {
			err = recorded(&l, id)
			return err == nil && l.Prev != last
		})
		return errors.Join(err, back)
	}, nil
}

// recorded returns ErrRecorded if a line is about the grant or the session.
func recorded(l *audit.Line, id string) error {
	if l.Grant != nil && l.Grant.ID == id || l.Session != nil && l.Session.ID == id {
		return fmt.Errorf("%w, at %s", ErrRecorded, l.Time.Format(time.RFC3339))
	}
	return nil
}
