package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/shared/task"
)

// TestUngated: an ask whose client used a tool that nobody was asked about waits for a
// person, whatever its worker says; one whose client never began is tried again. What its
// model was told to be put to a person is proposed all the same.
func TestUngated(t *testing.T) {
	for _, c := range []struct {
		end   queue.End
		state task.State
	}{
		{queue.End{Exit: 0, Ungated: "x used y", Unasked: true}, task.Awaiting},
		{queue.End{Exit: 1, Ungated: "x used y", Unasked: true}, task.Awaiting},
		{queue.End{Exit: 75, Ungated: "x used y", Unasked: true}, task.Awaiting},
		{queue.End{Exit: 0, Ungated: "no hello"}, task.Scheduled},
		{queue.End{Exit: 1, Ungated: "no hello"}, task.Scheduled},
	} {
		d := reader(t, nil)
		id, _ := d.add(fmt.Sprintf(ask, 1))
		d.finish(d.start(""), c.end, note)
		s := d.find(id)
		if s.Task.State != c.state || s.Task.Reason != queue.ReasonUngated {
			t.Errorf("%+v: %s, %s", c.end, s.Task.State, s.Task.Reason)
		}
		if box := d.outbox(); len(box) != 1 || !strings.Contains(box[0], id) {
			t.Errorf("%+v: %q", c.end, box)
		}
	}
}

// TestUngatedInTheEnd: a client that never begins fails, as any worker that fails does.
func TestUngatedInTheEnd(t *testing.T) {
	d := reader(t, nil)
	id, _ := d.add(fmt.Sprintf(ask, 1))
	d.p.Limits.MaxAttempts = 1
	d.finish(d.start(""), queue.End{Exit: 1, Ungated: "no hello"})
	if s := d.find(id); s.Task.State != task.Failed || s.Task.Reason != queue.ReasonUngated {
		t.Errorf("%s, %s", s.Task.State, s.Task.Reason)
	}
}
