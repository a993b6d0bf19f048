package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestYesBeforeTheLabel: a yes that was given before its root task got a label holds where
// [flow] wants a yes, and not where it denies.
func TestYesBeforeTheLabel(t *testing.T) {
	private := label.Set{{Label: label.Private, By: "fs.read"}}
	lookup := func() *queue.Stored {
		s := stored(1, task.Scheduled, time.Hour, time.Hour)
		return effect(s, fmt.Sprintf("%032x", 0xa5c), `{"action":"read_public","tool":"web.fetch"}`)
	}
	for _, c := range []struct {
		flow    policy.Flow
		yes     bool
		starts  bool
		outcome terms.Outcome
	}{
		{policy.Flow{}, false, true, terms.Allow},
		{policy.Flow{Confirm: []string{"web.*"}}, false, false, terms.Confirm},
		{policy.Flow{Confirm: []string{"web.*"}}, true, true, terms.Confirm},
		{policy.Flow{Deny: []string{"web.*"}}, false, false, terms.Reject},
		{policy.Flow{Deny: []string{"web.*"}}, true, false, terms.Reject},
	} {
		s := lookup()
		b := newShelf(t, s)
		if c.yes {
			a := queue.Yes(s, "me", approval.Terminal, now.Add(-time.Minute))
			b.answer(s.Task.ID, &a)
		}
		s.Labels, s.Identity.Labels = private, private // it came after the yes
		p := policy.Default()
		p.Flow = map[label.Label]policy.Flow{label.Private: c.flow}
		o, err := b.outlook(&queue.Run{Policy: p, Max: 10, Effect: terms.ReadPublic}, s)
		if err != nil || o.Starts != c.starts || o.Decision.Outcome != c.outcome {
			t.Errorf("%+v: %+v, %v", c, o, err)
		}
	}
}
