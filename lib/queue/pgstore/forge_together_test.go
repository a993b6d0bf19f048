package pgstore_test

import (
	"bytes"
	"fmt"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// twoWanted lets two people have to say yes to an effect, by the decision in its file.
func (w *world) twoWanted(name string) {
	t := w.know(name, task.Effect, terms.ExternalSend, "a.done", bob)
	t.file = bytes.Replace(t.file, []byte(`"task":`), []byte(`"decision":{"count":2},"task":`), 1)
	t.digest = task.Digest(t.file)
}

// partly is the first of two yeses.
func (w *world) partly(name string, level approval.Level) step {
	s := w.yes(name, audit.Partly, task.Awaiting, level, bob)
	s.From, s.To = "", ""
	return s
}

// second is somebody else's yes, with one person more who may say it.
func (w *world) second(name string, level approval.Level) call {
	c := by("nobody1", w.yes(name, task.Approved, task.Awaiting, level, bob))
	c.super = "GRANT pulse_approver TO nobody1"
	return c
}

// bothAgree are the yeses of two people to an effect that wants two.
func bothAgree(w *world) []call {
	return []call{by("gate1", w.of("e.pair", task.Added, "", task.Awaiting)), by("ann", w.partly("e.pair", approval.Terminal)), w.second("e.pair", approval.Terminal)}
}

// bothStart is the start of it.
func bothStart(w *world) []call { return append(bothAgree(w), by("sender1", w.start("e.pair"))) }

// firstYes is the first of two.
func firstYes(w *world) []call { return bothAgree(w)[:2] }

const firstLine = "(SELECT seq FROM pulse.thing WHERE shelf = 'partly')"

var ofTogether = []forgery{
	{"a second yes of the first login", bothAgree, func(_ *world, c *call) { c.who, c.super = "ann", "" }},
	{"a second yes without a first", bothAgree, func(_ *world, c *call) { c.super += "; DELETE FROM pulse.thing WHERE shelf = 'partly'" }},
	{"a second signature of the first signer", func(w *world) []call {
		all := bothAgree(w)
		last := all[2].steps[0].Approval
		last.Level, last.Signer, last.Signature = approval.Signature, "bob", "armor"
		all[2].who, all[2].super = "ann", ""
		return all
	}, func(_ *world, c *call) {
		c.super = "UPDATE pulse.audit SET line = replace(line, '\"approval\":{', '\"approval\":{\"signer\":\"bob\",') WHERE seq = " + firstLine
	}},
	{"a second yes beside one that only names a signer", func(w *world) []call {
		all := bothAgree(w)
		first := all[1].steps[0].Approval
		first.Level, first.Signer, first.Signature = approval.Signature, "bob", "armor"
		all[2].who, all[2].super = "ann", ""
		return all
	}, func(_ *world, c *call) {
		c.super = "UPDATE pulse.audit SET line = replace(line, '\"level\":\"signature\"', '\"level\":\"terminal\"') WHERE seq = " + firstLine
	}},
	{"grants where two people have to say yes", func(w *world) []call {
		return []call{by("gate1", w.of("e.pair", task.Added, "", task.Awaiting)), by("sender1", w.bought("e.wait", []string{bob}, "g.bob")...)}
	}, other("e.pair", []string{bob}, "g.bob")},
	{"a start of what one login said yes to twice", bothStart, sql("UPDATE pulse.audit SET who = 'ann' WHERE who = 'nobody1'")},
	{"a start without the first yes", bothStart, sql("DELETE FROM pulse.thing WHERE shelf = 'partly'")},
	{"a start with a first yes that expired", bothStart, func(w *world, c *call) {
		c.super = fmt.Sprintf(`UPDATE pulse.audit SET line = regexp_replace(line, '"expires":"[^"]*"', '"expires":"%s"') WHERE seq = `, w.now.Add(-time.Minute).Format(time.RFC3339)) + firstLine
	}},
	{"a start with a first yes of a login whose role was taken", bothStart, sql("REVOKE pulse_approver FROM ann")},
	{"a start with a first signature that was used", func(w *world) []call {
		all := bothStart(w)
		first := all[1].steps[0].Approval
		first.Level, first.Signer, first.Signature = approval.Signature, "ann", "armor"
		return all
	}, sql("INSERT INTO pulse.nonce VALUES ('nonce-e.pair', 1)")},
	{"a second yes beside a first one that was used", func(w *world) []call {
		first := w.partly("e.pair", approval.Terminal)
		return append(bothStart(w), by("sender1", w.ends("e.pair", task.Undecided, task.Awaiting)), by("nobody1", first))
	}, func(w *world, c *call) {
		c.steps[0] = w.yes("e.pair", task.Approved, task.Awaiting, approval.Terminal, bob)
	}},
	{"a start by one yes beside what was left of a first one", func(w *world) []call {
		left := call{who: "ann", sql: "SELECT", super: "INSERT INTO pulse.thing SELECT 'partly', line::jsonb->>'task', seq FROM pulse.audit WHERE line LIKE '%\"event\":\"partly\"%' ON CONFLICT DO NOTHING"}
		start := by("sender1", w.start("e.pair"))
		start.super = left.super
		return append(bothStart(w), by("sender1", w.ends("e.pair", task.GaveUp, task.Failed)), left,
			by("nobody1", w.yes("e.pair", task.Requeued, task.Failed, approval.Terminal, bob)), start)
	}, sql("")},
	{"a first yes by a gate", firstYes, as("gate1")},
	{"a first yes by a sender", firstYes, as("sender1")},
	{"a first yes to other bytes", firstYes, says(func(a *approval.Approval) { a.Digest = task.Digest(nil) })},
	{"a first yes in a line about other bytes", firstYes, last(func(s *step) { s.Digest = task.Digest(nil) })},
	{"a first yes to another target", firstYes, says(func(a *approval.Approval) { a.Target = []string{eve} })},
	{"a first yes that is not there", firstYes, last(func(s *step) { s.Approval = nil })},
	{"a first yes to what does not wait", firstYes, func(w *world, c *call) { c.steps[0] = w.partly("e.yes", approval.Terminal) }},
	{"a first yes to what is not known", firstYes, func(w *world, c *call) { c.steps[0] = w.partly("e.pair2", approval.Terminal) }},
	{"a first yes that moves its task", firstYes, last(func(s *step) { s.From, s.To = task.Awaiting, task.Scheduled })},
	{"a first yes of grants", firstYes, func(w *world, c *call) {
		a := *c.steps[0].Approval
		a.Grants = []approval.Grant{*w.given["g.bob"]}
		c.steps[0].Approval = &a
	}},
	{"a correction to which fewer people have to say yes", func(w *world) []call {
		denied := w.of("e.pair", task.Denied, task.Awaiting, task.Rejected)
		denied.Change.Reason = "corrected as " + idOf("e.pair2")
		return []call{by("gate1", w.of("e.pair", task.Added, "", task.Awaiting)),
			by("ann", denied, w.of("e.pair2", task.Added, "", task.Awaiting), w.of("e.wait", task.Denied, task.Awaiting, task.Rejected))}
	}, func(w *world, c *call) {
		c.steps[0].Change.Reason = "corrected as " + idOf("e.new")
		c.steps[1] = w.of("e.new", task.Added, "", task.Awaiting)
	}},
}
