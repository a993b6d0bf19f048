package queue_test

import (
	"testing"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/task"
)

// TestSender: what the agenda says never rules out a task that is meant.
func TestSender(t *testing.T) {
	for _, c := range []struct {
		meant, sender string
		is            bool
	}{
		{"", "me@example.com", true}, {"Me@Example.COM", "me@example.com", true}, {"me@example.com", "me@example.com", true},
		{"you@example.com", "me@example.com", false}, {"@example.com", "me@example.com", true}, {"@EXAMPLE.com", "me@example.com", true},
		{"@example.com", "me@sub.example.com", false}, {"@le.com", "me@example.com", false}, {"example.com", "me@example.com", false},
		{"telegram:7", "telegram:7", true},
	} {
		w := queue.Sender(c.meant)
		s := &queue.Stored{}
		s.Identity.Sender = c.sender
		e := &store.Entry{State: task.Awaiting, Sender: store.KeyOf(c.sender)}
		if w.Is(s) != c.is || c.is && !w.May(e) || !w.Valid() {
			t.Errorf("%q of %q: %t, may be: %t, valid: %t", c.meant, c.sender, w.Is(s), w.May(e), w.Valid())
		}
	}
	for _, bad := range []queue.Sender{"@", "@a b", "@@example.com"} {
		if bad.Valid() {
			t.Error(bad)
		}
	}
}
