package screen

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestNext: there is something to say about a task in any state, and what is said is safe
// to print.
func TestNext(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	id := strings.Repeat("a", 32)
	evil := "\x1b[2J\nnext"
	rec, err := record.Parse([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	last := func(e task.Event) *Moment {
		return &Moment{Last: &audit.Line{Event: e, Rule: "r" + evil, Policy: "sha256:p" + evil}}
	}
	outlook := func(o queue.Outlook) *Moment {
		o.Decision.Rule, o.Decision.Why, o.Decision.Outcome = "r"+evil, evil, terms.Reject
		return &Moment{Outlook: &o}
	}
	for _, c := range []struct {
		state  task.State
		change task.Change
		moment *Moment
		want   []string
	}{
		{task.Scheduled, task.Change{}, &Moment{}, []string{"starts it:", "pulse-queue run -- CMD", "pulse-queue cancel " + id}},
		{task.Scheduled, task.Change{NotBefore: now.Add(time.Hour)}, &Moment{}, []string{"not started before 2026-11-21T08:00:00Z"}},
		{task.Scheduled, task.Change{}, &Moment{Held: "held since" + evil}, []string{"the queue is held since", "pulse-queue release"}},
		{task.Scheduled, task.Change{}, outlook(queue.Outlook{Starts: true, Limit: "limits.max_per_day"}), []string{"limits.max_per_day", "starts it:"}},
		{task.Scheduled, task.Change{}, outlook(queue.Outlook{Starts: true, Unproven: true}), []string{"starts it, if the yes to it is proven, which only that run can check:"}},
		{task.Scheduled, task.Change{}, outlook(queue.Outlook{}), []string{"reject by r", "pulse-authorize matrix", "sets it aside:"}},
		{task.Scheduled, task.Change{}, outlook(queue.Outlook{Reason: queue.ReasonApproval}), []string{"lets it wait for a person once more (approval_not_good):"}},
		{task.Awaiting, task.Change{Since: now}, &Moment{Expires: time.Hour}, []string{"rejected at 2026-11-21T08:00:00Z", "pulse-approve yes " + id, "pulse-approve no " + id + " --reason REASON"}},
		{task.Awaiting, task.Change{Since: now.Add(-time.Hour)}, &Moment{Expires: time.Hour}, []string{"rejected some time after a run has told of it once more:"}},
		{task.Awaiting, task.Change{Since: now.Add(-time.Hour), Told: now}, &Moment{Expires: time.Hour}, []string{"rejected at 2026-11-21T07:00:00Z:"}},
		{task.Awaiting, task.Change{}, last(task.Parked), []string{"the policy wants a person to look: r"}},
		{task.Awaiting, task.Change{Reason: queue.ReasonUnknownEffect}, &Moment{}, []string{"nobody knows whether it happened: it died", "look outside first"}},
		{task.Awaiting, task.Change{Reason: queue.ReasonUnknownEffect}, &Moment{End: &audit.End{Exit: 1, Said: "gone" + evil}}, []string{"nobody knows whether it happened: gone\\x1b[2J"}},
		{task.Failed, task.Change{Reason: queue.ReasonNotDone}, &Moment{End: &audit.End{Exit: 69, Said: "550 no" + evil}}, []string{"its sender says that it did not happen: 550 no\\x1b[2J", "pulse-queue requeue " + id}},
		{task.Failed, task.Change{Reason: queue.ReasonNotDone}, &Moment{End: &audit.End{Exit: 64}}, []string{"did not happen (exit 64)"}},
		{task.Running, task.Change{}, &Moment{Runner: 42}, []string{"process 42 runs it", "pulse-queue cancel " + id}},
		{task.Running, task.Change{}, &Moment{}, []string{"nothing runs it any more"}},
		{task.Running, task.Change{}, &Moment{Runner: -1}, []string{"pulse-queue cancel " + id}},
		{task.Completed, task.Change{}, &Moment{}, []string{"it is done", "pulse-queue requeue " + id}},
		{task.Failed, task.Change{}, &Moment{}, []string{"mended", "pulse-queue requeue " + id}},
		{task.Rejected, task.Change{}, &Moment{}, []string{"put it back", "pulse-queue requeue " + id}},
		{task.Rejected, task.Change{}, last(task.Dropped), []string{"r\\x1b[2J\\nnext of sha256:p", "pulse-authorize matrix", "pulse-queue requeue " + id}},
		{task.Rejected, task.Change{}, last(task.Expired), []string{"it expired without an answer", "pulse-queue requeue " + id}},
		{task.Rejected, task.Change{}, last(task.Denied), []string{"a person said no", "pulse-queue requeue " + id}},
		{task.Corrupt, task.Change{}, &Moment{Digest: "sha256:d", Last: &audit.Line{Digest: "sha256:edited"}}, []string{"corrupt/" + id + ".json", "accepted: d", "pulse-queue verify"}},
	} {
		s := &queue.Stored{Task: task.Task{ID: id, State: c.state, Change: c.change}, Record: rec}
		c.moment.Now = now
		got := Next(s, c.moment)
		text := strings.Join(got, "\n")
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", c.state, w, text)
			}
		}
		for i, l := range got {
			if escape.Message(l) != l || (i > 0) != strings.HasPrefix(l, "  ") {
				t.Errorf("%s: line %q", c.state, l)
			}
		}
		s.Record = nil
		if text := strings.Join(Next(s, c.moment), "\n"); !strings.Contains(text, "pulse-queue verify") {
			t.Errorf("%s, unreadable:\n%s", c.state, text)
		}
	}
}
