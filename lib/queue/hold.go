package queue

import (
	"fmt"
	"time"

	"pulse/lib/queue/store"
)

// stopped reports whether nothing may start, because the queue is on hold, or lacks a line
// that was committed and no person has accepted that.
func stopped(v store.View) (bool, error) {
	if hold, err := Holding(v); hold != nil || err != nil {
		return true, err
	}
	lost, err := v.Lost()
	return lost != "", err
}

// Held returns the words that say since when and by whom a queue is held, or the empty
// string.
func Held(v store.View) (string, error) {
	l, err := Holding(v)
	if l == nil || err != nil {
		return "", err
	}
	if l.Time.IsZero() {
		return "held by a file made by hand", nil
	}
	text := fmt.Sprintf("held since %s by %s", l.Time.Format(time.RFC3339), l.By)
	if l.Change.Reason != "" {
		text += " " + l.Change.Reason
	}
	return text, nil
}
