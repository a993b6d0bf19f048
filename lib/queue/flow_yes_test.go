package queue_test

import (
	"fmt"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestOnlyAYesCoversFlow: nothing that was said ahead is the yes to what [flow] confirms: no row
// of the matrix, no session, no profile of tools and no grant, whatever it is bound to. A grant
// for the target was, because a person was asked about a message anyway.
func TestOnlyAYesCoversFlow(t *testing.T) {
	const id = "00000000000000000000000000000001"
	root := fmt.Sprintf("%032x", 0xa5c)
	private := label.Set{{Label: label.Private, By: "fs.read"}}
	grants := map[string]*approval.Grant{
		"no grant": nil, "for the target": {Target: "bob@partner.example"}, "for any": {}, "for the task": {Task: id},
		"for the root": {Task: root}, "for the target and the task": {Target: "bob@partner.example", Task: id},
	}
	var withoutFlow, confirmed int
	for _, trust := range terms.TrustLevels {
		for _, profile := range []string{"minimal", "standard", "coding", "full"} {
			for name, g := range grants {
				for wish, target := range map[string]string{"external_send": `,"target":["bob@partner.example"]`, "destructive": "", "read_public": "", "write_local": ""} {
					for _, labelled := range []bool{false, true} {
						p := policy.Default()
						p.Owners, p.AllowedExternal, p.Tools.Profile = []string{"me@example.com"}, []string{"me@example.com"}, profile
						if labelled {
							p.Flow = map[label.Label]policy.Flow{label.Private: {Confirm: []string{"external_send", "destructive", "read_public", "write_local"}}}
						}
						s := stored(1, task.Awaiting, time.Hour, time.Hour)
						effect(s, root, `{"action":"`+wish+`","tool":""`+target+`}`)
						s.Identity.Trust, s.Identity.Sender, s.Identity.Session = trust, "me@example.com", "5e55"
						s.Identity.Labels = private
						free := decision.Decide(decision.Input{Identity: &s.Identity, Request: s.Request, Policy: p})
						s.Decision.Outcome, s.Decision.Reason, s.Task.Reason = free.Outcome, free.Reason, string(free.Reason)
						if free.Outcome == terms.Reject {
							continue
						}
						// It came before its root was labelled, so that it is grantable as it lies there.
						if free.Outcome == terms.Confirm {
							s.Task.Reason = string(decision.NeedsConfirm)
						}
						if s.Task.State = task.Awaiting; free.Outcome == terms.Allow {
							s.Task.State = task.Scheduled
						}
						s.Task.Since = s.Task.Created
						b := newShelf(t, s)
						b.open(func(one *approval.Session) { one.ID = "5e55" })
						if g != nil {
							one := *g
							one.ID, one.By, one.Level, one.Given, one.Expires = "1234567890abcdef", "me", approval.Terminal, now.Add(-time.Minute), now.Add(time.Hour)
							if err := b.update(func(tx *queue.Tx) error { return queue.Grant(tx, one, one.Given) }); err != nil {
								t.Fatal(err)
							}
						}
						started := len(b.run(p, terms.Action(wish), now))
						switch {
						case !labelled:
							withoutFlow += started
						case started > 0:
							t.Errorf("%s of %s, profile %s, grant %s: it started (%s)", wish, trust, profile, name, free.Reason)
						default:
							confirmed++
						}
					}
				}
			}
		}
	}
	if withoutFlow < 50 || confirmed < 100 {
		t.Errorf("without [flow] %d started; with it %d did not", withoutFlow, confirmed)
	}
}
