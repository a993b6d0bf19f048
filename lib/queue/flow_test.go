package queue_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pulse/lib/authorize/tools"
	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
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

// TestCarried: the tools that an entry of [flow] about an action is not about are those that
// the queue carries out itself.
func TestCarried(t *testing.T) {
	own := []string{proposal.Draft, proposal.Close, proposal.Note}
	if !slices.Equal(own, tools.Carried) {
		t.Errorf("%q, but %q", own, tools.Carried)
	}
	for _, tool := range append(own, "mail.draft", "task.other", "") {
		if proposal.Own(tool) != slices.Contains(tools.Carried, tool) {
			t.Errorf("%q is own: %t", tool, proposal.Own(tool))
		}
	}
}
