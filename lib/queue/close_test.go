package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// TestCloseNeedsProof: an agent's close is carried out unasked only if it names the message
// of its root, and that is proven. On anything else it waits for a person, whose yes
// carries it out.
func TestCloseNeedsProof(t *testing.T) {
	plain := func(root *queue.Stored) {}
	for name, c := range map[string]struct {
		evidence string
		root     func(root *queue.Stored)
		closes   bool
	}{
		"its id":                       {`["<1@t>"]`, plain, true},
		"its digest":                   {`["sha256:d"]`, plain, true},
		"both":                         {`["sha256:d","<1@t>"]`, plain, true},
		"nothing":                      {`[]`, plain, false},
		"no list":                      {`"<1@t>"`, plain, false},
		"another message too":          {`["<1@t>","<2@t>"]`, plain, false},
		"an empty id":                  {`[""]`, func(root *queue.Stored) { root.Message.Digest = "" }, false},
		"a number":                     {`[1]`, plain, false},
		"null":                         {`null`, plain, false},
		"of nobody proven":             {`["<1@t>"]`, func(root *queue.Stored) { root.Identity.Verified = false }, false},
		"of a root that is no message": {`["<1@t>"]`, func(root *queue.Stored) { root.Message = nil }, false},
		"of a root that is gone":       {`["<1@t>"]`, func(root *queue.Stored) { root.Task.ID = fmt.Sprintf("%032x", 9) }, false},
	} {
		root := asked(stored(1, task.Completed, time.Hour, time.Hour))
		subject := effect(stored(2, task.Scheduled, time.Hour, time.Hour), root.Task.ID, `{"action":"read_public"}`)
		one := evident(3, root.Task.ID, proposal.Close, subject.Task.ID, c.evidence)
		c.root(root)
		s := newShelf(t, root, subject, one)
		if _, err := s.chores(); err != nil {
			t.Fatal(err)
		}
		got, end := s.find(one.Task.ID), s.find(subject.Task.ID).Task
		switch {
		case c.closes && (got.Task.State != task.Completed || end.Reason != "closed_by_agent"):
			t.Errorf("%s: it is %s (%s), the other %s", name, got.Task.State, got.Task.Reason, end.State)
		case !c.closes && (got.Task.State != task.Awaiting || got.Task.Reason != queue.ReasonCloseUnproven || end.State != task.Scheduled):
			t.Errorf("%s: it is %s (%s), the other %s", name, got.Task.State, got.Task.Reason, end.State)
		case !c.closes:
			s.yes(&got, queue.Yes(&got, "me", approval.Terminal, now))
			if state, end := s.find(one.Task.ID).Task, s.find(subject.Task.ID).Task; state.State != task.Completed || end.Reason != "closed_by_agent" {
				t.Errorf("%s, after a yes: it is %s (%s), the other %s", name, state.State, state.Reason, end.State)
			}
		}
	}
}

// yes approves a task, and carries out what there is to do.
func (s *shelf) yes(shown *queue.Stored, yes approval.Approval) {
	s.t.Helper()
	err := s.update(func(tx *queue.Tx) error { return queue.Approve(tx, shown, yes, now) })
	if err == nil {
		_, err = s.chores()
	}
	if err != nil {
		s.t.Error(err)
	}
}

// TestCloseOnABadYes: a yes that is not good does not carry a close out.
func TestCloseOnABadYes(t *testing.T) {
	for name, spoil := range map[string]func(yes *approval.Approval){
		"expired":         func(yes *approval.Approval) { yes.Expires = now.Add(-time.Second) },
		"for other bytes": func(yes *approval.Approval) { yes.Digest = "sha256:0" },
	} {
		root := asked(stored(1, task.Completed, time.Hour, time.Hour))
		subject := effect(stored(2, task.Scheduled, time.Hour, time.Hour), root.Task.ID, `{"action":"read_public"}`)
		one := evident(3, root.Task.ID, proposal.Close, subject.Task.ID, `[]`)
		s := newShelf(t, root, subject, one)
		if _, err := s.chores(); err != nil {
			t.Fatal(err)
		}
		shown := s.find(one.Task.ID)
		yes := queue.Yes(&shown, "me", approval.Terminal, now)
		spoil(&yes)
		s.yes(&shown, yes)
		if got := s.find(one.Task.ID).Task; got.State != task.Awaiting || got.Reason != queue.ReasonApproval || s.find(subject.Task.ID).Task.State != task.Scheduled {
			t.Errorf("%s: it is %s (%s)", name, got.State, got.Reason)
		}
	}
}
