package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// outcomes returns what the worker of an ask is told.
func outcomes(s store.Store, id string) ([]queue.Outcome, error) {
	p, err := queue.PastOf(s, id)
	if err != nil {
		return nil, err
	}
	return p.Outcomes, nil
}

// TestEndings: each way in which an effect can go is one word, and what may have happened
// once is never said not to have happened.
func TestEndings(t *testing.T) {
	const sends, writes = terms.ExternalSend, terms.WriteLocal
	move := func(e task.Event, from, to task.State, reason string) audit.Line {
		return audit.Line{Event: e, From: from, To: to, Change: task.Change{Reason: reason}}
	}
	added := move(task.Added, "", task.Awaiting, "needs_confirmation")
	free := move(task.Added, "", task.Scheduled, "allowed")
	approved := move(task.Approved, task.Awaiting, task.Scheduled, "approved")
	started := move(task.Started, task.Scheduled, task.Running, "allowed")
	undecided := move(task.Undecided, task.Running, task.Awaiting, queue.ReasonUnknownEffect)
	restored := move(task.Restored, task.Running, task.Scheduled, queue.ReasonLater)
	finished := move(task.Finished, task.Running, task.Completed, queue.ReasonDone)
	refused := move(task.GaveUp, task.Running, task.Failed, queue.ReasonNotDone)
	gaveUp := move(task.GaveUp, task.Running, task.Failed, queue.ReasonExit)
	denied := move(task.Denied, task.Awaiting, task.Rejected, "expired") // a person's own word
	expired := move(task.Expired, task.Awaiting, task.Rejected, "review_expired")
	cancelled := move(task.Cancelled, task.Scheduled, task.Rejected, "cancelled")
	stopped := move(task.Cancelled, task.Running, task.Rejected, "cancelled")
	closed := move(task.Closed, task.Awaiting, task.Rejected, "closed_by_agent")
	dropped := move(task.Dropped, task.Scheduled, task.Rejected, "target_not_allowed")
	requeued := move(task.Requeued, task.Completed, task.Scheduled, "requeued")
	broke := move(task.Broke, task.Running, task.Corrupt, "edited")
	for name, c := range map[string]struct {
		action terms.Action
		lines  []audit.Line
		want   string
	}{
		"it waits":                         {sends, []audit.Line{added}, "waiting"},
		"a yes":                            {sends, []audit.Line{added, approved}, "approved"},
		"it runs":                          {sends, []audit.Line{added, approved, started}, "approved"},
		"its sender wants to wait":         {sends, []audit.Line{added, approved, started, restored}, "approved"},
		"sent":                             {sends, []audit.Line{added, approved, started, finished}, "sent"},
		"done":                             {terms.Destructive, []audit.Line{added, approved, started, finished}, "done"},
		"its sender refused it":            {sends, []audit.Line{added, approved, started, refused}, "not_done"},
		"nobody knows":                     {sends, []audit.Line{added, approved, started, undecided}, "unknown"},
		"nobody knows, and then a no":      {sends, []audit.Line{added, approved, started, undecided, denied}, "unknown expired"},
		"nobody knows, and then too late":  {sends, []audit.Line{added, approved, started, undecided, expired}, "unknown"},
		"nobody knows, and then refused":   {sends, []audit.Line{added, approved, started, undecided, approved, started, refused}, "unknown"},
		"nobody knows, and then it worked": {sends, []audit.Line{added, approved, started, undecided, approved, started, finished}, "sent"},
		"sent, and not a second time":      {sends, []audit.Line{added, approved, started, finished, requeued, cancelled}, "unknown"},
		"a no":                             {sends, []audit.Line{added, denied}, "refused expired"},
		"by the policy":                    {sends, []audit.Line{added, approved, dropped}, "refused target_not_allowed"},
		"by the policy at first":           {sends, []audit.Line{move(task.Refused, "", "", "not_permitted")}, "refused not_permitted"},
		"too late":                         {sends, []audit.Line{added, expired}, "expired"},
		"cancelled":                        {sends, []audit.Line{added, approved, cancelled}, "cancelled"},
		"cancelled in the middle":          {sends, []audit.Line{added, approved, started, stopped}, "unknown"},
		"broken in the middle":             {sends, []audit.Line{added, approved, started, broke}, "unknown"},
		"closed":                           {sends, []audit.Line{added, closed}, "closed"},
		"pruned":                           {sends, []audit.Line{added, denied, move(task.Pruned, task.Rejected, "", "")}, "refused expired"},
		"on this machine: it waits":        {writes, []audit.Line{free}, "waiting"},
		"on this machine: it runs":         {writes, []audit.Line{free, started}, "waiting"},
		"on this machine: done":            {writes, []audit.Line{free, started, finished}, "done"},
		"on this machine: failed":          {writes, []audit.Line{free, started, gaveUp}, "failed"},
		"on this machine: cancelled":       {writes, []audit.Line{free, started, stopped}, "cancelled"},
	} {
		s := newShelf(t, stored(0xa5c, task.Completed, time.Hour, time.Minute))
		for i := range c.lines {
			l := c.lines[i]
			l.Time, l.Task, l.Kind, l.Action = now, fmt.Sprintf("%032x", 1), task.Effect, c.action
			if i == 0 {
				l.Parent = fmt.Sprintf("%032x", 0xa5c)
			}
			s.started(l)
		}
		list, err := outcomes(s, fmt.Sprintf("%032x", 0xa5c))
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", name, list, err)
			continue
		}
		if got := strings.TrimSpace(string(list[0].Ending) + " " + list[0].Reason); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOutcomesOfTheSameSender: in a conversation one hears only what was proposed for one's
// own proven asks.
func TestOutcomesOfTheSameSender(t *testing.T) {
	const bob, eve = "bob@partner.example", "eve@partner.example"
	const first, answer, other = 0xa5c, 0xa5d, 0xa5e
	id := func(n int) string { return fmt.Sprintf("%032x", n) }
	link := task.Link{Answers: id(1), Thread: id(first)}
	for name, c := range map[string]struct {
		first, other, asks string
		trust              terms.Trust
		verified           bool
		link               task.Link // of the other answer
		want               string    // effects of: the first ask, its effect, the other answer
	}{
		"of one sender":             {bob, bob, "BOB@partner.example", terms.ExternalVerified, true, link, "1 2 3"},
		"the first is not proven":   {bob, bob, bob, terms.OwnerClaim, true, link, "3"},
		"the first is a stranger":   {bob, bob, bob, terms.Unknown, true, link, "3"},
		"the first is another's":    {eve, bob, bob, terms.ExternalVerified, true, link, "3"},
		"an answer of somebody":     {bob, eve, bob, terms.ExternalVerified, true, link, "1 2"},
		"of another conversation":   {bob, bob, bob, terms.ExternalVerified, true, task.Link{Answers: id(9), Thread: id(8)}, "1 2"},
		"the answer is not proven":  {bob, bob, bob, terms.ExternalVerified, false, link, ""},
		"somebody else asks for it": {bob, bob, eve, terms.ExternalVerified, true, link, ""},
	} {
		ask := stored(answer, task.Scheduled, 0, 0)
		ask.Task.Link, ask.Identity.Sender, ask.Identity.Verified = link, c.asks, c.verified
		s := newShelf(t, ask)
		for _, l := range []audit.Line{
			{Task: id(first), Kind: task.Ask, Sender: c.first, Trust: c.trust},
			{Task: id(1), Kind: task.Effect, Parent: id(first), Action: terms.ExternalSend},
			{Task: id(2), Kind: task.Effect, Parent: id(1), Action: terms.WriteLocal},
			{Task: id(other), Kind: task.Ask, Sender: c.other, Trust: terms.ExternalVerified, Link: c.link},
			{Task: id(3), Kind: task.Effect, Parent: id(other), Action: terms.ExternalSend},
		} {
			l.Time, l.Event, l.To = now, task.Added, task.Awaiting
			s.started(l)
		}
		list, err := outcomes(s, id(answer))
		var got []string
		for _, o := range list {
			got = append(got, strings.TrimLeft(o.Task, "0"))
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestOutcomesAreBounded: the newest ones are told.
func TestOutcomesAreBounded(t *testing.T) {
	root := fmt.Sprintf("%032x", 0xa5c)
	s := newShelf(t, stored(0xa5c, task.Completed, time.Hour, time.Minute))
	for n := 1; n <= 60; n++ {
		s.started(audit.Line{Time: now, Event: task.Added, To: task.Awaiting, Task: fmt.Sprintf("%032x", n), Kind: task.Effect, Parent: root, Action: terms.ExternalSend})
	}
	list, err := outcomes(s, root)
	if err != nil || len(list) != 50 || list[0].Task != fmt.Sprintf("%032x", 11) || list[49].Task != fmt.Sprintf("%032x", 60) {
		t.Errorf("%d, %v", len(list), err)
	}
}

// TestToldAsShown: an ask that needs a yes is told what stood there when it came to wait, and one
// that is requeued what stood there then. One that needs none is told all, and one whose yes came
// from nowhere nothing.
func TestToldAsShown(t *testing.T) {
	const first, answer = 0xa5c, 0xa5d
	id := func(n int) string { return fmt.Sprintf("%032x", n) }
	proposes := func(n int) audit.Line {
		return audit.Line{Task: id(n), Event: task.Added, To: task.Awaiting, Kind: task.Effect, Parent: id(first), Action: terms.ExternalSend}
	}
	comes := audit.Line{Task: id(answer)} // where it is laid
	yes := audit.Line{Task: id(answer), Event: task.Approved, From: task.Awaiting, To: task.Scheduled, Kind: task.Ask}
	requeued := audit.Line{Task: id(answer), Event: task.Requeued, From: task.Completed, To: task.Scheduled, Kind: task.Ask}
	denied := audit.Line{Task: id(1), Event: task.Denied, From: task.Awaiting, To: task.Rejected, Kind: task.Effect}
	for name, c := range map[string]struct {
		comes task.State
		lines []audit.Line
		want  string
	}{
		"it waits":                  {task.Awaiting, []audit.Line{proposes(1), comes, proposes(2), denied}, "1 waiting"},
		"it has a yes":              {task.Awaiting, []audit.Line{proposes(1), comes, proposes(2), yes, proposes(3), denied}, "1 waiting"},
		"it was requeued":           {task.Completed, []audit.Line{proposes(1), comes, proposes(2), denied, requeued, proposes(3)}, "1 refused 2 waiting"},
		"it needs none":             {task.Scheduled, []audit.Line{proposes(1), comes, proposes(2), denied}, "1 refused 2 waiting"},
		"its yes came from nowhere": {task.Scheduled, []audit.Line{proposes(1), comes, proposes(2)}, ""},
	} {
		ask := stored(answer, c.comes, 0, 0)
		ask.Task.Link, ask.Identity.Sender = task.Link{Answers: id(1), Thread: id(first)}, "bob@partner.example"
		s := newShelf(t)
		s.started(audit.Line{Time: now, Event: task.Added, To: task.Scheduled, Task: id(first), Kind: task.Ask, Sender: "bob@partner.example", Trust: terms.ExternalVerified})
		for _, l := range c.lines {
			if l.Time = now; l.Event == "" {
				put, err := s.Put(*ask)
				if err != nil {
					t.Fatal(err)
				}
				*ask = put
				continue
			}
			if l.Task == ask.Task.ID {
				a := queue.Yes(ask, "me", approval.Terminal, now)
				l.Approval, l.Digest = &a, ask.Task.Digest
			}
			s.started(l)
		}
		if c.want == "" {
			a := queue.Yes(ask, "me", approval.Terminal, now)
			s.answer(ask.Task.ID, &a)
		}
		list, err := outcomes(s, id(answer))
		var got []string
		for _, o := range list {
			got = append(got, strings.TrimLeft(o.Task, "0"), string(o.Ending))
		}
		if strings.Join(got, " ") != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

// TestTargetsOfAYes: a worker is told the targets that a person knew when they said yes.
func TestTargetsOfAYes(t *testing.T) {
	for name, c := range map[string]struct {
		event  task.Event
		grants []approval.Grant
		want   int
	}{
		"a yes":                  {task.Approved, nil, 1},
		"a grant for the target": {task.Approved, []approval.Grant{{ID: "a", Target: "bob@partner.example"}}, 1},
		"a grant for any":        {task.Approved, []approval.Grant{{ID: "a"}}, 0},
		"one of them for any":    {task.Approved, []approval.Grant{{ID: "a", Target: "bob@partner.example"}, {ID: "b"}}, 0},
		"it was requeued":        {task.Requeued, nil, 1},
		"it expired":             {task.Expired, nil, 0},
	} {
		s := newShelf(t, stored(0xa5c, task.Completed, time.Hour, time.Minute))
		s.started(audit.Line{Time: now, Event: task.Added, Task: fmt.Sprintf("%032x", 1), Parent: fmt.Sprintf("%032x", 0xa5c), Kind: task.Effect, Action: terms.ExternalSend})
		one, err := s.Put(*outward(stored(1, task.Awaiting, time.Hour, time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		a := queue.Yes(&one, "me", approval.Terminal, now)
		a.Grants = c.grants
		to := task.Scheduled
		if c.event == task.Expired {
			to = task.Rejected
		}
		s.started(audit.Line{Time: now, Event: c.event, From: task.Awaiting, To: to, Task: one.Task.ID, Kind: task.Effect, Action: terms.ExternalSend, Digest: one.Task.Digest, Approval: &a})
		list, err := outcomes(s, fmt.Sprintf("%032x", 0xa5c))
		if err != nil || len(list) != 1 || len(list[0].Target) != c.want {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
}

// TestRequeueAsShown: what a worker is told is what was on the screen, or nobody said yes to it.
func TestRequeueAsShown(t *testing.T) {
	for name, c := range map[string]struct {
		line audit.Line
		want error
	}{
		"nothing": {audit.Line{Event: audit.Held}, nil},
		"another effect": {audit.Line{Event: task.Added, To: task.Awaiting, Kind: task.Effect,
			Task: fmt.Sprintf("%032x", 7), Parent: fmt.Sprintf("%032x", 0xa5c)}, store.ErrConflict},
		"an effect of another": {audit.Line{Event: task.Added, To: task.Awaiting, Kind: task.Effect,
			Task: fmt.Sprintf("%032x", 7), Parent: fmt.Sprintf("%032x", 8)}, nil},
	} {
		s := newShelf(t, stored(0xa5c, task.Completed, time.Hour, time.Minute))
		shown := s.find(fmt.Sprintf("%032x", 0xa5c))
		p, err := queue.PastOf(s, shown.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		s.view(func(v store.View) error { return p.Tell(v, &shown) })
		c.line.Time = now
		s.started(c.line)
		yes := queue.Yes(&shown, "me", approval.Terminal, now)
		err = s.update(func(tx *queue.Tx) error { return queue.Requeue(tx, &shown, yes, now) })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
