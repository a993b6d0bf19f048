package pgstore_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// starts is the start of a task by a login.
func starts(name, who string) func(*world) []call {
	return just(func(w *world) call { return by(who, w.start(name)) })
}

// keptStart is the start of an effect that limits may have kept waiting until its yes expired.
var keptStart = just(func(w *world) call {
	c := by("sender1", w.start("e.yes"))
	c.super = w.late(30*time.Hour, 6*time.Hour) + w.earlier(29*time.Hour)
	return c
})

// late returns the SQL by which a yes was given so long ago, and expired so long ago.
func (w *world) late(given, expired time.Duration) string {
	at := func(ago time.Duration) string { return w.now.Add(-ago).Format(time.RFC3339) }
	return fmt.Sprintf(`UPDATE pulse.audit SET line = regexp_replace(regexp_replace(line, '"time":"[^"]*"', '"time":"%s"'), '"expires":"[^"]*"', '"expires":"%s"')
		WHERE seq = (SELECT seq FROM pulse.thing WHERE (shelf, key) = ('approvals', '%s'));`, at(given), at(expired), idOf("e.yes"))
}

// earlier returns the SQL by which the first start of an effect was so long ago, with something
// else replaced in its line.
func (w *world) earlier(ago time.Duration, replaced ...string) string {
	line := fmt.Sprintf(`regexp_replace(line, '"time":"[^"]*"', '"time":"%s"')`, w.now.Add(-ago).Format(time.RFC3339))
	for i := 0; i+1 < len(replaced); i += 2 {
		line = fmt.Sprintf("replace(%s, '%s', '%s')", line, replaced[i], replaced[i+1])
	}
	return fmt.Sprintf(`UPDATE pulse.audit SET line = %s WHERE seq = (
		SELECT min(seq) FROM pulse.audit WHERE line LIKE '%%"event":"started"%%' AND line LIKE '%%%s%%');`, line, idOf("l.back"))
}

// instead starts another task.
func instead(name string) func(*world, *call) {
	return func(w *world, c *call) { c.steps[0] = w.start(name) }
}

// sql does something as a superuser before the call.
func sql(text string) func(*world, *call) {
	return func(_ *world, c *call) { c.super = text }
}

// oneHat leaves a login of all roles that of a person.
const oneHat = "REVOKE pulse_gate, pulse_runner, pulse_sender FROM all1"

// corrects is the correction of an effect by a person.
var corrects = just(func(w *world) call { return by("ann", w.corrected()...) })

// ofCorrections are those by a person who adds what no gate has seen.
var ofCorrections = []forgery{
	{"a correction of nothing", corrects, func(_ *world, c *call) { c.steps = c.steps[1:] }},
	{"a correction of nothing for no root", corrects, func(_ *world, c *call) {
		c.steps = c.steps[1:]
		c.steps[0].Parent = ""
	}},
	{"a correction as another task", corrects, func(_ *world, c *call) { c.steps[0].Change.Reason = "corrected as " + idOf("a.new") }},
	{"a refusal beside a new task", corrects, func(_ *world, c *call) { c.steps[0].Change.Reason = "not wanted" }},
	{"a correction, and one more", corrects, func(w *world, c *call) {
		c.steps = append(c.steps, w.of("e.again", task.Added, "", task.Awaiting))
	}},
	{"a correction after another line", corrects, func(w *world, c *call) {
		c.steps = []step{c.steps[0], w.note("a.sched", audit.Held), c.steps[1]}
	}},
	{"a correction that is an ask", corrects, func(w *world, c *call) {
		c.steps[1] = w.of("a.new", task.Added, "", task.Awaiting)
		c.steps[0].Change.Reason = "corrected as " + idOf("a.new")
	}},
	{"a correction that waits for nobody", corrects, func(w *world, c *call) {
		c.steps[1] = w.of("l.new", task.Added, "", task.Scheduled)
		c.steps[0].Change.Reason = "corrected as " + idOf("l.new")
	}},
	{"a correction for another root", corrects, func(_ *world, c *call) { c.steps[1].Parent = idOf("a.sched") }},
	{"a correction for no root", corrects, func(_ *world, c *call) { c.steps[1].Parent = "" }},
	{"a correction of an ask", corrects, func(w *world, c *call) {
		c.steps[0] = w.of("a.wait", task.Denied, task.Awaiting, task.Rejected)
		c.steps[0].Change.Reason = "corrected as " + idOf("e.new")
	}},
	{"a correction by a yes", corrects, func(w *world, c *call) {
		c.steps[0] = w.yes("e.wait", task.Approved, task.Awaiting, approval.Terminal, bob)
		c.steps[0].Change.Reason = "corrected as " + idOf("e.new")
	}},
}

var ofStarts = []forgery{
	{"a start while the queue is held", starts("a.sched", "runner1"), func(w *world, c *call) {
		c.steps = append([]step{w.note("", audit.Held)}, c.steps...)
	}},
	{"a start of an effect by a runner of asks", starts("a.sched", "runner1"), instead("l.sched")},
	{"a start of an ask by a sender", starts("l.sched", "sender1"), instead("a.sched")},
	{"a start of an ask that wants to send, by a sender", starts("a.send", "runner1"), as("sender1")},
	{"a start with a yes that did not come with a copy", just(func(w *world) call {
		c := by("sender1", w.start("e.two"))
		c.super = "UPDATE pulse.audit SET who = 'pulse_owner'"
		return c
	}), sql("")},
	{"a start without a yes", starts("e.yes", "sender1"), func(w *world, c *call) {
		c.super = "DELETE FROM pulse.thing WHERE shelf = 'approvals'"
	}},
	{"a start of what waits", starts("e.yes", "sender1"), instead("e.wait")},
	{"a start of what only claims to be scheduled", starts("e.yes", "sender1"), func(w *world, c *call) {
		c.steps[0] = w.start("e.wait")
		c.super = "UPDATE pulse.task SET state = 'scheduled' WHERE id = '" + idOf("e.wait") + "'"
	}},
	{"a start with a yes that expired", starts("e.yes", "sender1"), instead("e.old")},
	{"a start with a yes that expired while nothing started", keptStart, func(w *world, c *call) { c.super = w.late(30*time.Hour, 6*time.Hour) }},
	{"a start with a yes that no limit keeps any more", keptStart, func(w *world, c *call) { c.super = w.late(30*time.Hour, 26*time.Hour) + w.earlier(29*time.Hour) }},
	{"a start with a yes that expired while asks started", keptStart, func(w *world, c *call) {
		c.super = w.late(30*time.Hour, 6*time.Hour) + w.earlier(29*time.Hour, `"kind":"effect"`, `"kind":"ask"`)
	}},
	{"a start with a yes that expired while effects ended", keptStart, func(w *world, c *call) {
		c.super = w.late(30*time.Hour, 6*time.Hour) + w.earlier(29*time.Hour, `"event":"started"`, `"event":"ended"`)
	}},
	{"a start with a label in the place of a yes", func(w *world) []call {
		return []call{by("gate1", w.labelled("e.wait", label.Untrusted)), yesTo("e.wait")(w)[0], by("sender1", w.start("e.wait"))}
	}, func(w *world, c *call) {
		c.super = "DELETE FROM pulse.thing WHERE (shelf, key) = ('approvals', '" + idOf("e.wait") + "')"
	}},
	{"a start with a yes that never expires", func(w *world) []call {
		return []call{yesTo("e.wait")(w)[0], by("sender1", w.start("e.wait"))}
	}, func(w *world, c *call) {
		c.super = "UPDATE pulse.audit SET line = regexp_replace(line, '\"expires\":\"[^\"]*\"', '\"text\":true') WHERE seq = (SELECT seq FROM pulse.thing WHERE (shelf, key) = ('approvals', '" + idOf("e.wait") + "'))"
	}},
	{"a start with a yes of a login of all roles", starts("e.yes", "sender1"), instead("e.two")},
	{"a start with a yes of a login whose role was taken", starts("e.yes", "sender1"), sql("REVOKE pulse_approver FROM ann")},
	{"a start with a yes of a login that had all roles then", starts("e.yes", "sender1"), func(w *world, c *call) {
		c.super, c.steps[0] = oneHat, w.start("e.two")
	}},
	{"a start with grants of a login whose role was taken", func(w *world) []call {
		return []call{by("sender1", w.bought("e.wait", []string{bob}, "g.bob")...), by("sender1", w.start("e.wait"))}
	}, sql("REVOKE pulse_approver FROM ann")},
	{"a start with a yes of a login that got another role", just(func(w *world) call {
		c := by("sender1", w.start("e.yes")) // although machine1 gave itself to ann
		c.super = "GRANT machine1 TO ann; SET LOCAL allow_system_table_mods = on; UPDATE pg_auth_members SET grantor = roleid WHERE roleid = 'machine1'::regrole"
		return c
	}), sql("GRANT machine1 TO ann")},
	{"a start with a yes of a login that is no approver alone", starts("e.yes", "sender1"), sql("GRANT pulse_reader TO ann")},
	{"a start with a yes of a login that is root now", starts("e.yes", "sender1"), sql("ALTER ROLE ann SUPERUSER")},
	{"a start with a signature that was used", starts("e.signed", "sender1"), func(w *world, c *call) {
		c.steps = append([]step{w.start("e.twice")}, c.steps...)
	}},
	{"a start with a signature that was used long ago", starts("e.signed", "sender1"), sql("INSERT INTO pulse.nonce VALUES ('once', 1)")},
	{"a start that keeps its yes", starts("e.yes", "sender1"), func(w *world, c *call) { c.steps[0].Approval = w.yeses["e.yes"] }},
	{"a start of an ask with another yes", starts("a.yes", "runner1"), first(func(s *step) {
		a := *s.Approval
		a.Text = true
		s.Approval = &a
	})},
	{"a start of an ask with a yes that nobody gave", starts("a.sched", "runner1"), func(w *world, c *call) {
		a := *w.yeses["a.yes"]
		a.Task, a.Digest = idOf("a.sched"), w.tasks["a.sched"].digest
		c.steps[0].Approval = &a
	}},
	{"a start twice", starts("e.yes", "sender1"), func(w *world, c *call) { c.steps = append(c.steps, c.steps[0]) }},
	{"a start again with grants", just(func(w *world) call {
		return by("sender1", append(w.bought("e.wait", []string{bob}, "g.bob"), w.start("e.wait"))...)
	}), func(w *world, c *call) { c.steps = append(c.steps, w.start("e.wait")) }},
	{"a start again with a yes that was spent", func(w *world) []call {
		return []call{by("sender1", w.ends("e.run", task.Retried, task.Scheduled)), by("sender1", w.start("e.yes"))}
	}, instead("e.run")},
	{"a start again with a signature, although nobody knows", func(w *world) []call {
		s := w.yes("e.again", task.Approved, task.Awaiting, approval.Signature, bob)
		return []call{by("sender1", w.ends("e.again", task.Undecided, task.Awaiting)), by("ann", s), by("sender1", w.start("e.again"))}
	}, func(w *world, c *call) {
		c.super = "UPDATE pulse.audit SET line = replace(line, 'nonce-e.again', 'once more') WHERE line LIKE '%nonce-e.again%'"
	}},
	{"a start again although it did not happen, with a yes that is not kept", func(w *world) []call {
		s := w.ends("e.run", task.Restored, task.Scheduled)
		s.Approval = w.yeses["e.run"]
		return []call{by("sender1", s), by("sender1", w.start("e.yes"))}
	}, func(w *world, c *call) {
		c.super = "DELETE FROM pulse.thing WHERE shelf = 'approvals' AND key = '" + idOf("e.run") + "'"
		c.steps[0] = w.start("e.run")
	}},
}

// says changes the approval of the last line.
func says(fn func(a *approval.Approval)) func(*world, *call) {
	return last(func(s *step) {
		a := *s.Approval
		a.Grants = slices.Clone(a.Grants)
		fn(&a)
		s.Approval = &a
	})
}

// yesTo is a person's yes to an effect, and its start.
func yesTo(name string) func(*world) []call {
	return just(func(w *world) call {
		return by("ann", w.yes(name, task.Approved, task.Awaiting, approval.Terminal, bob))
	})
}

var ofYeses = []forgery{
	{"a yes to other bytes", yesTo("e.wait"), says(func(a *approval.Approval) { a.Digest = task.Digest(nil) })},
	{"a yes to another task", yesTo("e.wait"), says(func(a *approval.Approval) { a.Task = idOf("e.both") })},
	{"a yes to another action", yesTo("e.wait"), says(func(a *approval.Approval) { a.Action = terms.WriteLocal })},
	{"a yes to another target", yesTo("e.wait"), says(func(a *approval.Approval) { a.Target = []string{eve} })},
	{"a yes to a target where there is none", just(func(w *world) call {
		return by("ann", w.yes("d.none", task.Approved, task.Awaiting, approval.Terminal))
	}), says(func(a *approval.Approval) { a.Target = []string{bob} })},
	{"a yes without a task", yesTo("e.wait"), says(func(a *approval.Approval) { a.Task = "" })},
	{"a yes that is not there", yesTo("e.wait"), last(func(s *step) { s.Approval = nil })},
	{"a requeue without a yes", event(task.Requeued, "ann"), last(func(s *step) { s.Approval = nil })},
	{"a yes of no grants", yesTo("e.wait"), last(func(s *step) {
		s.edit = func(raw string) string { return swap(raw, `"approval":{`, `"approval":{"grants":[],`) }
	})},
	{"a yes of grants by a person", yesTo("e.wait"), func(w *world, c *call) { c.steps[0].Approval.Grants = []approval.Grant{*w.given["g.bob"]} }},
	{"a requeue by grants", event(task.Requeued, "ann"), func(w *world, c *call) {
		g := w.note("a.failed", audit.Consumed)
		g.Grant, c.steps[0].Approval.Grants = w.given["g.bob"], []approval.Grant{*w.given["g.bob"]}
		c.steps = []step{g, c.steps[0]}
	}},
	{"a requeue of what reaches the outside by grants", just(func(w *world) call {
		return by("ann", w.yes("e.lost", task.Requeued, task.Failed, approval.Terminal, bob))
	}), func(w *world, c *call) {
		g := w.note("e.lost", audit.Consumed)
		g.Grant, c.steps[0].Approval.Grants = w.given["g.bob"], []approval.Grant{*w.given["g.bob"]}
		c.steps = []step{g, c.steps[0]}
	}},
	{"a yes by a gate", yesTo("e.wait"), as("gate1")},
	{"a yes by a runner", yesTo("e.wait"), as("runner1")},
	{"a yes by a sender", yesTo("e.wait"), as("sender1")},
	{"a yes to an ask by a sender", yesTo("a.wait"), as("sender1")},
	{"a yes by a login that plays an approver", yesTo("e.wait"), func(_ *world, c *call) { c.who, c.before = "machine1", "SET ROLE pulse_gate" }},
	{"a yes that a denied task keeps", event(task.Dropped, "runner1"), func(w *world, c *call) {
		c.steps[0].Approval = w.yes("a.wait", task.Approved, task.Awaiting, approval.Terminal, bob).Approval
	}},
	{"a yes on an outward effect that is parked", just(func(w *world) call {
		return by("sender1", w.of("e.yes", task.Parked, task.Scheduled, task.Awaiting))
	}), func(w *world, c *call) { c.steps[0].Approval = w.yeses["e.yes"] }},
	{"a yes to an effect that a runner drops", just(func(w *world) call {
		return by("runner1", w.of("e.old", task.Parked, task.Scheduled, task.Awaiting)) // which expired
	}), func(w *world, c *call) { c.steps[0] = w.of("e.yes", task.Parked, task.Scheduled, task.Awaiting) }},
	{"an effect that a person cancels as if it had failed", just(func(w *world) call {
		return by("ann", w.of("e.yes", task.Cancelled, task.Scheduled, task.Rejected))
	}), first(func(s *step) { s.To = task.Failed })},
	{"another yes that an ask keeps when a sender takes it back", func(w *world) []call {
		s := reap(w, "a.yes")
		s.Approval = w.yeses["a.yes"]
		c := by("sender1", s)
		c.super = "UPDATE pulse.run SET until = now() - '1 s'::interval WHERE task = '" + s.Task + "'"
		return []call{by("runner1", w.start("a.yes")), c}
	}, says(func(a *approval.Approval) { a.Text = true })},
	{"a yes on a line that moves nothing", event(audit.Noted, "runner1"), func(w *world, c *call) { c.steps[0].Approval = w.yeses["a.yes"] }},
}

// buys spends grants on an effect to bob.
func buys(name string, grants ...string) func(*world) []call {
	return just(func(w *world) call { return by("sender1", w.bought(name, []string{bob}, grants...)...) })
}

// other spends other grants on another effect.
func other(name string, target []string, grants ...string) func(*world, *call) {
	return func(w *world, c *call) { c.steps = w.bought(name, target, grants...) }
}

// two spends a grant for each of two targets.
func two(w *world) []call {
	return []call{by("sender1", w.bought("e.both", []string{bob, eve}, "g.bob", "g.eve")...)}
}

var ofGrants = []forgery{
	{"a grant that is not spent", buys("e.wait", "g.bob"), func(_ *world, c *call) { c.steps = c.steps[1:] }},
	{"a grant that was spent before", func(w *world) []call {
		g := w.note("", audit.Consumed)
		g.Grant = w.given["g.bob"]
		return []call{by("sender1", g), by("sender1", w.bought("e.wait", []string{bob}, "g.any")...)}
	}, other("e.wait", []string{bob}, "g.bob")},
	{"a grant that was spent in another commit", func(w *world) []call {
		g := w.note("e.wait", audit.Consumed)
		g.Grant = w.given["g.bob"]
		return []call{by("sender1", g), by("sender1", w.bought("e.wait", []string{bob}, "g.any")...)}
	}, func(w *world, c *call) { c.steps = w.bought("e.wait", []string{bob}, "g.bob")[1:] }},
	{"a grant for two effects", buys("e.wait", "g.bob"), func(w *world, c *call) {
		c.steps = append(c.steps, w.bought("e.unknown", []string{bob}, "g.bob")[1:]...)
	}},
	{"a grant for one effect twice", buys("e.wait", "g.bob"), func(w *world, c *call) {
		c.steps = append(c.steps, w.of("e.wait", task.Parked, task.Scheduled, task.Awaiting), c.steps[len(c.steps)-1])
	}},
	{"a grant that is spent on another task", buys("e.wait", "g.bob"), first(func(s *step) { s.Task = idOf("e.unknown") })},
	{"a grant that is spent on no task", buys("e.wait", "g.bob"), first(func(s *step) { s.Task = "" })},
	{"a grant for another target", buys("e.wait", "g.bob"), other("e.wait", []string{bob}, "g.eve")},
	{"a grant for a target that the effect does not have", buys("e.wait", "g.bob"), other("e.wait", []string{eve}, "g.eve")},
	{"a grant for another address than one in capitals", buys("e.wait", "g.BOB"), other("e.wait", []string{bob}, "g.eve")},
	{"a grant for a room that differs in a capital", just(func(w *world) call { return by("sender1", w.bought("e.room", []string{room}, "g.room")...) }), other("e.room", []string{room}, "g.hall")},
	{"a grant of a login of all roles", buys("e.wait", "g.bob"), other("e.wait", []string{bob}, "g.all")},
	{"a grant of a login that had all roles then", buys("e.wait", "g.bob"), func(w *world, c *call) {
		c.super, c.steps = oneHat, w.bought("e.wait", []string{bob}, "g.all")
	}},
	{"a grant bound to a chain, for an effect of none", func(w *world) []call {
		t := w.know("e.none", task.Effect, terms.ExternalSend, "", bob)
		t.file = []byte(`{"request":{"target":["` + bob + `"]}}`)
		t.digest = task.Digest(t.file)
		return []call{by("gate1", w.of("e.none", task.Added, "", task.Awaiting)), by("sender1", w.bought("e.none", []string{bob}, "g.bob")...)}
	}, other("e.none", []string{bob}, "g.other")},
	{"a grant of a login whose role was taken", buys("e.wait", "g.bob"), sql("REVOKE pulse_approver FROM ann")},
	{"a grant of a login of all roles, that is spent on a task", just(func(w *world) call {
		s := w.note("", audit.Consumed)
		s.Grant = w.given["g.all"]
		return by("sender1", s)
	}), first(func(s *step) { s.Task = idOf("e.wait") })},
	{"a start with a grant that expired", just(func(w *world) call {
		return by("sender1", append(w.bought("e.wait", []string{bob}, "g.bob"), w.start("e.wait"))...)
	}), func(w *world, c *call) {
		c.steps = append(w.bought("e.wait", []string{bob}, "g.late"), w.start("e.wait"))
		c.steps[1].Approval.Expires = w.given["g.late"].Expires
	}},
	{"a grant that expired", buys("e.wait", "g.bob"), other("e.wait", []string{bob}, "g.late")},
	{"a grant that is kept for longer", buys("e.wait", "g.bob"), says(func(a *approval.Approval) { a.Expires = a.Expires.Add(2 * time.Hour) })},
	{"a grant that never expires", buys("e.wait", "g.bob"), says(func(a *approval.Approval) { a.Expires = time.Time{} })},
	{"a grant bound to another chain", buys("e.wait", "g.chain"), other("e.wait", []string{bob}, "g.other")},
	{"a grant bound to another effect", buys("e.wait", "g.this"), other("e.unknown", []string{bob}, "g.this")},
	{"a grant bound to nothing, for what is not a message", buys("d.wait", "g.d"), other("d.wait", []string{bob}, "g.bob")},
	{"a grant bound to nothing, for what runs code", just(func(w *world) call { return by("sender1", w.bought("d.none", nil, "g.none")...) }), other("d.none", nil, "g.any")},
	{"a grant bound to the chain, for what is not a message", buys("d.wait", "g.d"), other("d.wait", []string{bob}, "g.chain")},
	{"a grant for one of two targets", two, other("e.both", []string{bob, eve}, "g.bob")},
	{"two grants for one of two targets", two, other("e.both", []string{bob, eve}, "g.bob", "g.bob2")},
	{"one grant for two targets", two, func(w *world, c *call) {
		c.steps = w.bought("e.both", []string{bob, eve}, "g.any", "g.any")
		c.steps = c.steps[1:]
	}},
	{"grants in another order", two, says(func(a *approval.Approval) { slices.Reverse(a.Grants) })},
	{"two grants for one target", buys("e.wait", "g.bob"), other("e.wait", []string{bob}, "g.bob", "g.bob2")},
	{"grants for a local effect", buys("e.wait", "g.bob"), other("l.wait", []string{bob}, "g.bob")},
	{"grants for a local effect, that are bound to it", buys("e.wait", "g.bob"), other("l.wait", []string{bob}, "g.local")},
	{"a grant that is revoked in the place of being spent", just(func(w *world) call { return by("all1", w.bought("e.wait", []string{bob}, "g.bob")...) }), first(func(s *step) { s.Event = audit.Revoked })},
	{"a grant in the place of the one that was spent", buys("e.wait", "g.bob"), func(w *world, c *call) { c.steps[1].Approval.Grants[0] = *w.given["g.bob2"] }},
	{"grants for an ask", buys("e.wait", "g.bob"), other("a.wait", []string{bob}, "g.bob")},
	{"grants by a gate", buys("e.wait", "g.bob"), as("gate1")},
	{"grants by a runner", buys("e.wait", "g.bob"), as("runner1")},
	{"a grant that nobody gave", buys("e.wait", "g.bob"), func(w *world, c *call) {
		g := *w.given["g.bob"]
		g.ID = "g.mine"
		w.given["g.mine"] = &g
		c.steps = w.bought("e.wait", []string{bob}, "g.mine")
	}},
	{"a grant with another target in its words", buys("e.wait", "g.bob"), func(w *world, c *call) {
		g := *w.given["g.eve"]
		g.Target = bob
		w.given["g.forged"] = &g
		c.steps = w.bought("e.wait", []string{bob}, "g.forged")
	}},
	{"a grant spent while the queue is held", func(w *world) []call {
		c := w.legal(audit.Revoked, "ann")
		c.steps = append([]step{w.note("", audit.Held)}, c.steps...)
		return []call{c}
	}, func(w *world, c *call) { c.steps = append(c.steps[:1], w.legal(audit.Consumed, "ann").steps...) }},
	{"a grant with its number twice", event(audit.Granted, "ann"), func(w *world, c *call) { c.steps[0].Grant.ID = "g.bob" }},
	{"a grant with the number of one that was spent", func(w *world) []call {
		g := w.note("", audit.Consumed)
		g.Grant = w.given["g.bob"]
		return []call{by("sender1", g), w.legal(audit.Granted, "ann")}
	}, func(w *world, c *call) { c.steps[0].Grant.ID = "g.bob" }},
	{"a grant without a number", event(audit.Granted, "ann"), func(w *world, c *call) { c.steps[0].Grant.ID = "" }},
	{"a grant with a number that nobody can find", event(audit.Granted, "ann"), replace(`"id":"g.new"`, `"id":"g\u0000"`)},
	{"a grant for any target and for one", event(audit.Granted, "ann"), replace(`"any":false`, `"any":true`)},
	{"a grant for no target", event(audit.Granted, "ann"), replace(`"target":"`+bob+`",`, ``)},
	{"a grant for an empty target", event(audit.Granted, "ann"), replace(`"target":"`+bob+`"`, `"target":""`)},
	{"a grant that is not there", event(audit.Granted, "ann"), first(func(s *step) { s.Grant = nil })},
	{"a grant that is revoked and is not there", event(audit.Revoked, "ann"), first(func(s *step) { s.Grant = nil })},
	{"a grant that is revoked twice", event(audit.Revoked, "ann"), func(_ *world, c *call) { c.steps = append(c.steps, c.steps[0]) }},
	{"a grant that is revoked in other words", event(audit.Revoked, "ann"), replace(`"by":"ann"`, `"by":"eve"`)},
	{"a use of a session that is not one", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session.Left = 1 })},
	{"a use of a session that gives one back", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session.Left = 3 })},
	{"a use of a session that is not there", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session.ID = "s.none" })},
	{"a use of a session for somebody else", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session.Sender = eve })},
	{"a use of a session for longer", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session.Expires = s.Session.Expires.Add(time.Hour) })},
	{"a use of no session", event(audit.SessionUsed, "gate1"), first(func(s *step) { s.Session = nil })},
	{"an end of no session", event(audit.SessionEnded, "gate1"), first(func(s *step) { s.Session = nil })},
	{"a use of a session below none", func(w *world) []call {
		return []call{by("gate1", w.session(audit.SessionUsed, "s.two", 1)), by("gate1", w.session(audit.SessionUsed, "s.two", 0))}
	}, func(w *world, c *call) { c.steps = append(c.steps, w.session(audit.SessionUsed, "s.two", -1)) }},
	{"a use of a session that is used up", func(w *world) []call { // whose login may end any
		return []call{by("gate1", w.session(audit.SessionUsed, "s.two", 1)), by("all1", w.session(audit.SessionUsed, "s.two", 0))}
	}, func(w *world, c *call) { c.steps = append(c.steps, w.session(audit.SessionEnded, "s.two", 0)) }},
	{"an end of a session with other uses", event(audit.SessionEnded, "gate1"), first(func(s *step) { s.Session.Left = 2 })},
	{"an end of a session by a person, with other uses", just(func(w *world) call {
		return by("ann", w.session(audit.SessionEnded, "s.one", 3)) // which is not over
	}), first(func(s *step) { s.Session.Left = 2 })},
	{"an end of a session that is not over", event(audit.SessionEnded, "gate1"), func(w *world, c *call) { c.steps[0] = w.session(audit.SessionEnded, "s.one", 3) }},
	{"a session with its number twice", event(audit.SessionOpened, "ann"), func(w *world, c *call) { c.steps[0].Session.ID = "s.two" }},
	{"a session with the number of a grant", event(audit.SessionOpened, "ann"), func(w *world, c *call) { c.steps[0].Session.ID = "g.bob" }},
	{"a session without a number", event(audit.SessionOpened, "ann"), replace(`"id":"s.new",`, ``)},
	{"a session of nobody", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Sender = "" })},
	{"a session without uses", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Max, s.Session.Left = 0, 0 })},
	{"a session with too many uses", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Max, s.Session.Left = 101, 101 })},
	{"a session with fewer uses left", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Left = 1 })},
	{"a session with more uses left", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Left = 4 })},
	{"a session that ends before it begins", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Expires = s.Session.Opened })},
	{"a session that never ends", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session.Expires = time.Time{} })},
	{"a session that is not there", event(audit.SessionOpened, "ann"), first(func(s *step) { s.Session = nil })},
	{"a session on another line", event(audit.Held, "ann"), with(`"session":{"id":"x"}`)},
	{"a grant on another line", event(audit.Held, "ann"), with(`"grant":{"id":"x"}`)},
}

// zoe is a line with a letter that is not ASCII.
func zoe(w *world) []call {
	c := w.legal(audit.Held, "ann")
	c.steps[0].Change.Reason = "Zoë"
	return []call{c}
}

var ofLines = []forgery{
	{"no event", event(audit.Held, "ann"), replace(`"event":"held",`, ``)},
	{"a line with a newline in a word", zoe, replace("Zo", "Z\no")},
	{"a line with a DEL", zoe, replace("Zo", "Z\x7fo")},
	{"a line with an escape that pulse does not write", zoe, replace("Zo", `\u005ao`)},
	{"a line with a slash that pulse does not escape", zoe, replace("Zo", `Zo\/`)},
	{"a line with an escape in capitals", zoe, replace("Zo", `Zo\u001B`)},
	{"a line with half a letter", zoe, replace("Zo", `Zo\ud83d`)},
	{"a line that a terminal obeys", zoe, replace("Zoë", "\u009b2J")},
	{"a line that runs backwards", zoe, replace("Zoë", "\u202eëoZ")},
	{"a line that is not whole", event(audit.Held, "ann"), first(func(s *step) { s.edit = func(raw string) string { return raw[:len(raw)-1] } })},
	{"a line that is not an object", event(audit.Held, "ann"), first(func(s *step) { s.edit = func(raw string) string { return "[" + raw + "]" } })},
	{"a line that is too long", event(audit.Held, "ann"), first(func(s *step) { s.Change.Reason = strings.Repeat("x", 4<<20) })},
	{"a member in a line of another event", event(audit.Held, "ann"), with(`"since":"2026-11-21T07:00:00Z","state":"running"`)},
	{"a parent where nothing comes from one", event(audit.Held, "ann"), with(`"parent":"` + idOf("a.done") + `"`)},
}

var ofArguments = []forgery{
	{"fewer fences", event(audit.Held, "ann"), arg(2, "'{}'")},
	{"more fences", event(audit.Held, "ann"), arg(2, "$$ || 0")},
	{"no fences", event(audit.Held, "ann"), arg(2, "NULL")},
	{"a fence of nothing", event(audit.Held, "ann"), arg(2, "'{NULL}'")},
	{"a line of nothing", event(audit.Held, "ann"), arg(1, "'{NULL}'")},
	{"a line where no client looks", event(audit.Held, "ann"), arg(1, "('[0:0]={x}'::text[])[0:-1] || array_fill(($$)[1], '{1}', '{0}')")},
	{"lines in rows", event(audit.Held, "ann"), arg(1, "ARRAY[$$]")},
	{"lines and all in rows", event(audit.Held, "ann"), func(_ *world, c *call) { c.args[1], c.args[2] = "ARRAY[$$]", "ARRAY[$$]" }},
	{"a log that is shorter", event(audit.Held, "ann"), arg(0, "$$ - 1")},
	{"a log that is longer", event(audit.Held, "ann"), arg(0, "$$ + 1")},
	{"a log of nothing", event(audit.Held, "ann"), arg(0, "NULL")},
	{"a host of nothing", event(audit.Held, "ann"), arg(7, "NULL")},
	{"a host with a long name", event(audit.Held, "ann"), arg(7, "repeat('x', 256)")},
	{"refusals of nothing", event(audit.Held, "ann"), arg(3, "NULL")},
	{"refusals that were never counted", event(audit.Limited, "gate1"), func(_ *world, c *call) { c.unlisted = -1 }},
	{"refusals alone that were never counted", just(func(*world) call { return call{who: "gate1", unlisted: 1, host: "here"} }), func(_ *world, c *call) { c.unlisted = -1 }},
	{"refusals without end", event(audit.Limited, "gate1"), func(_ *world, c *call) { c.unlisted = 1<<31 - 1 }},
	{"refusals by another", event(audit.Held, "ann"), func(_ *world, c *call) { c.unlisted = 1 }},
	{"another format", event(audit.Held, "ann"), sql("UPDATE pulse.queue SET format = 3")},
	{"an owner", event(audit.Held, "ann"), sql("GRANT pulse_owner TO ann")},
	{"a label in a line that moves", event(task.Dropped, "runner1"), func(_ *world, c *call) {
		c.steps[0].Labels = label.Set{{Label: label.Private}}
	}},
}

// arg puts SQL in the place of an argument.
func arg(i int, text string) func(*world, *call) {
	return func(_ *world, c *call) { c.args[i] = text }
}
