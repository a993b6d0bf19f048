package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
)

// hats says which roles the logins of these tests have.
var hats = map[string]string{
	"gate1": "gate", "runner1": "runner", "sender1": "sender", "ann": "approver", "reader1": "", "nobody1": "", pgtest.Super: "",
	"machine1": "gate runner sender", "machine2": "gate runner sender", "all1": "gate runner sender approver",
}

// writes says which roles may write which lines. It is written after the table of the design,
// and not after the schema.
var writes = map[string]string{
	"added": "gate approver", "refused": "gate", "limited": "gate", "settled": "gate", "session_used": "gate", "read": "gate",
	"started": "runner sender", "finished": "runner sender", "retried": "runner sender", "restored": "runner sender",
	"restarted": "runner sender", "undecided": "runner sender", "gave_up": "runner sender", "broke": "runner sender",
	"parked": "runner sender", "dropped": "runner sender", "carried_out": "runner sender", "noted": "runner sender", "closed": "runner sender",
	"judged": "runner sender", "ended": "runner sender", "extracted": "runner",
	"approved": "sender approver", "partly": "approver", "denied": "approver", "requeued": "approver", "granted": "approver", "revoked": "approver",
	"session_opened": "approver", "released": "approver", "cancelled": "approver", "resumed": "approver",
	"expired": "runner sender", "discarded": "runner sender",
	"continued":     "any", // whatever ends the last effect that an ask waits for
	"held":          "any", // the design leaves the rest open:
	"session_ended": "any", "consumed": "sender approver", "withheld": "any", "labelled": "any", "resurfaced": "any", "finding": "any",
	"clock_jumped": "any", "clock_confirmed": "approver",
	"forgotten": "gate", "pruned": "gate", // by cron, with what else a gate starts
	"repaired": "",
	"learned":  "", // in a queue that is a directory, and is there in what was copied from one
}

// mine lets a run be that of a login.
func mine(c call, names ...string) call {
	for _, n := range names {
		c.super += fmt.Sprintf("; UPDATE pulse.run SET who = '%s' WHERE task = '%s'", c.who, idOf(n))
	}
	return c
}

// legal returns a commit with an event that is legal if the login may write it.
func (w *world) legal(e task.Event, who string) call {
	asks := strings.Contains(hats[who], "runner")
	switch e {
	case task.Added:
		if !strings.Contains(hats[who], "gate") {
			return by(who, w.corrected()...)
		}
		return by(who, w.of("a.new", e, "", task.Scheduled))
	case task.Refused:
		return by(who, w.refused("r.new"))
	case audit.SessionUsed:
		return by(who, w.session(e, "s.one", 2))
	case audit.SessionEnded:
		return by(who, w.session(e, "s.over", 3))
	case audit.Read:
		return by(who, w.read(9))
	case audit.Settled:
		s := w.note("e.prop1", e)
		s.Parent = idOf("a.done")
		return by(who, s)
	case task.Started:
		if asks {
			return by(who, w.start("a.sched"))
		}
		return by(who, w.start("l.sched"))
	case task.Finished:
		return mine(by(who, result(w.ends("a.run", e, task.Completed), store.Results)), "a.run")
	case task.Extracted:
		return mine(by(who, result(w.ends("a.run", e, task.Scheduled), store.Extracts)), "a.run")
	case task.Retried, task.Restarted:
		return mine(by(who, w.ends("a.run", e, task.Scheduled)), "a.run")
	case task.Restored:
		s := w.ends("e.run", e, task.Scheduled)
		s.Approval = w.yeses["e.run"]
		return mine(by(who, s), "e.run")
	case task.GaveUp:
		return mine(by(who, w.ends("a.run", e, task.Failed)), "a.run")
	case task.Undecided:
		return mine(by(who, w.ends("e.run", e, task.Awaiting)), "e.run")
	}
	return w.legal2(e, who)
}

// legal2 is the rest of legal.
func (w *world) legal2(e task.Event, who string) call {
	switch e {
	case task.Parked:
		return by(who, w.of("a.sched", e, task.Scheduled, task.Awaiting))
	case task.Dropped, task.Expired, task.Closed, task.Denied:
		return by(who, w.of("a.wait", e, task.Awaiting, task.Rejected))
	case task.Carried:
		return by(who, result(w.of("l.sched", e, task.Scheduled, task.Completed), store.Drafts))
	case task.Broke: // its file can't be read
		s := w.of("a.pair", e, task.Completed, task.Corrupt)
		s.Digest, s.Kind, s.Action = "", "", ""
		return by(who, s)
	case task.Cancelled:
		return by(who, w.of("a.sched", e, task.Scheduled, task.Rejected))
	case task.Continued:
		return by(who, w.goes("a.goes"))
	case task.Pruned:
		return by(who, w.of("a.done", e, task.Completed, ""))
	case task.Requeued:
		return by(who, w.yes("a.failed", e, task.Failed, approval.Terminal, bob))
	case task.Approved:
		if strings.Contains(hats[who], "approver") {
			return by(who, w.yes("a.wait", e, task.Awaiting, approval.Terminal, bob))
		}
		return by(who, w.bought("e.wait", []string{bob}, "g.bob")...)
	case audit.Partly:
		return by(who, w.partly("e.wait", approval.Terminal))
	case audit.Granted:
		return by(who, w.grant("g.new", bob, "", time.Hour))
	case audit.Revoked, audit.Consumed:
		s := w.note("", e)
		s.Grant = w.given["g.any"]
		return by(who, s)
	case audit.SessionOpened:
		return by(who, w.session(e, "s.new", 3))
	case audit.Found:
		return by(who, w.finding(audit.FindingOpened, "login"))
	case audit.Labelled:
		return by(who, w.labelled("a.sched", label.Private, label.Untrusted))
	case audit.Resurfaced:
		return by(who, w.resurfaced("a.told", task.Awaiting))
	case audit.Forgotten:
		s := w.note("r.one", e)
		s.Size = w.refused("r.one").Size
		return by(who, s)
	case audit.ClockJumped:
		s := w.note("", e)
		s.Time = w.now.Add(-2 * time.Hour)
		return by(who, s)
	}
	return by(who, w.note("a.sched", e))
}

// corrected returns the lines by which a person puts an effect in the place of another one.
func (w *world) corrected() []step {
	denied := w.of("e.wait", task.Denied, task.Awaiting, task.Rejected)
	denied.Change.Reason = "corrected as " + idOf("e.new")
	return []step{denied, w.of("e.new", task.Added, "", task.Awaiting)}
}

// finding returns a line about a finding.
func (w *world) finding(what audit.Told, code string) step {
	s := w.note("", audit.Found)
	s.Finding = &audit.Finding{What: what, Code: code, About: "imaps://me@imap.example.com/INBOX", Text: "it is away", Since: w.now, Told: w.now}
	return s
}

// resurfaced returns the line that tells of a task that nothing has happened to.
func (w *world) resurfaced(name string, st task.State) step {
	s := w.of(name, audit.Resurfaced, st, "")
	s.Change = task.Change{Since: w.now, Told: w.now}
	return s
}

func contains(list, word string) bool {
	return list == "any" && word != "" || slices.Contains(strings.Fields(list), word)
}

// TestMay: a line of each event is accepted from those logins whose roles may write it, and from
// no other.
func TestMay(t *testing.T) {
	w, _ := base(t)
	if err := w.mays(); err != nil {
		t.Error(err)
	}
}

// mays is TestMay. It returns the first that is not as it should be.
func (w *world) mays() error {
	if err := w.listed(); err != nil {
		return err
	}
	also := func(e task.Event, who string) string { // what comes with it in legal
		if e == task.Approved && !strings.Contains(hats[who], "approver") {
			return string(audit.Consumed)
		}
		if e == task.Added && !strings.Contains(hats[who], "gate") {
			return string(task.Denied)
		}
		return string(e)
	}
	events := append(slices.Clone(task.Events), audit.Events...)
	for _, e := range append(events, "", "moved", "owner") {
		may, known := writes[string(e)]
		if !known && slices.Contains(events, e) {
			return fmt.Errorf("%s is not in the table", e)
		}
		for who, has := range hats {
			want := slices.ContainsFunc(strings.Fields(has), func(h string) bool { return contains(may, h) })
			_, err := w.try(w.legal(e, who))
			if (err == nil) != want {
				return fmt.Errorf("%s by %s: %v", e, who, err)
			}
			if c := code(err); err != nil && c != "42501" && (c != "PU002" || who != pgtest.Super && !strings.Contains(err.Error(), also(e, who))) {
				return fmt.Errorf("%s by %s: %v", e, who, err)
			}
		}
	}
	return nil
}

// listed compares the table may with writes.
func (w *world) listed() error {
	rows, err := w.c.PgConn().Exec(context.Background(), "SELECT event, hat FROM pulse.may").ReadAll()
	if err != nil {
		return err
	}
	n := 0
	for _, may := range writes {
		if n += len(strings.Fields(may)); may == "any" {
			n += 3
		}
	}
	for _, r := range rows[0].Rows {
		if n--; !contains(writes[string(r[0])], string(r[1])) {
			return fmt.Errorf("the schema lets %s write %s", r[1], r[0])
		}
	}
	if n != 0 {
		return fmt.Errorf("the schema has %d rows too few", n)
	}
	return nil
}

// TestLegal: the schema has the table of package task.
func TestLegal(t *testing.T) {
	w, _ := base(t)
	if err := w.legals(); err != nil {
		t.Error(err)
	}
}

// legals is TestLegal.
func (w *world) legals() error {
	have := map[string]bool{}
	rows, err := w.c.PgConn().Exec(context.Background(), "SELECT event, from_state, to_state FROM pulse.legal").ReadAll()
	if err != nil {
		return err
	}
	for _, r := range rows[0].Rows {
		have[fmt.Sprintf("%s from %q to %q", r[0], r[1], r[2])] = true
	}
	n := 0
	for _, e := range task.Events {
		for _, from := range append([]task.State{""}, task.States...) {
			for _, to := range append([]task.State{""}, task.States...) {
				is := task.Legal(e, from, to) == nil && e != task.Refused && e != task.Learned // the one moves nothing, the other is of a directory
				name := fmt.Sprintf("%s from %q to %q", e, from, to)
				if is != have[name] {
					return fmt.Errorf("%s: the schema says %v", name, have[name])
				}
				if is {
					n++
				}
			}
		}
	}
	if n != len(have) {
		return fmt.Errorf("the schema has %d rows, and %d are known", len(have), n)
	}
	return nil
}
