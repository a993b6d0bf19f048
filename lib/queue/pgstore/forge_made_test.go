package pgstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// strict lets the server in a test be as it is in use: its clock is its own, and a yes is good for
// a day.
const strict = `
CREATE OR REPLACE FUNCTION pulse.now(client timestamptz, log timestamptz) RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN log < c + interval '1 hour' THEN greatest(c, log) ELSE c END FROM clock_timestamp() c $$;
CREATE OR REPLACE FUNCTION pulse.most(signed bool) RETURNS interval LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN signed THEN interval '31 days 1 hour' ELSE interval '24 hours' END $$`

// chosen are the members that a client may not choose, each with what it may say in vain: the line
// is accepted, and has something else.
var chosen = []struct{ member, lie string }{
	{"time", `"2286-11-20T17:46:39Z"`}, {"prev", `"` + audit.Origin + `"`}, {"by", `"eve"`}, {"more", "true"}, {"told", `"2286-11-20T17:46:39Z"`},
	{"since", `"2286-11-20T17:46:39Z"`}, {"level", `"signature"`},
}

// forced are those with what it may not say at all.
var forced = []struct{ member, lie string }{
	{"action", `"code_or_computerx"`}, {"kind", `"order"`}, {"trust", `"root"`}, {"outcome", `"yes"`}, {"sender", `"eve@evil.example"`}, {"source", `"elsewhere"`},
	{"message_id", `"other"`}, {"uid", "7"}, {"attempts", "5"}, {"restarts", "5"}, {"deferred", "5"}, {"not_before", `"2286-11-20T17:46:39Z"`},
	{"digest", `"` + audit.Origin + `"`}, {"told", `"2286-11-20T17:46:39Z"`},
}

// put puts a member into a line, in the place of the one that is there.
func put(raw, member, value string) string {
	for _, m := range pairs(raw) {
		if m.name == "."+member {
			return raw[:m.value] + value + raw[m.to:]
		}
	}
	return "{\"" + member + "\":" + value + "," + raw[1:]
}

// TestChosen: whatever a login says in a line of any event that it may write of what is not its to
// say, it is refused, or the log has what the server says.
func TestChosen(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(strict); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, e := range slices.Concat(task.Events, audit.Events) {
		for who, has := range hats {
			if !slices.ContainsFunc(strings.Fields(has), func(h string) bool { return contains(writes[string(e)], h) }) {
				continue
			}
			c := w.legal(e, who)
			if _, err := w.try(c); err != nil {
				t.Fatalf("%s by %s: %v", e, who, err)
			}
			at := len(c.steps) - 1
			moves := c.steps[at].Moves() && e != task.Added && e != task.Broke && e != task.Pruned
			try := func(member, lie string) error {
				forged := w.legal(e, who)
				forged.steps[at].edit = func(raw string) string { return put(raw, member, lie) }
				tried++
				_, err := w.try(forged)
				return err
			}
			for _, f := range chosen {
				if err := try(f.member, f.lie); err == nil && strings.Contains(w.written[at], fmt.Sprintf("%q:%s", f.member, f.lie)) &&
					(e != audit.ClockConfirmed || f.member != "since") { // a person says which jump they mean
					t.Errorf("%s by %s says %s: %s", e, who, f.member, w.written[at])
				} else if err == nil && w.canonical() != nil {
					t.Errorf("%s by %s says %s: %v", e, who, f.member, w.canonical())
				}
			}
			for _, f := range forced {
				open := c.steps[at].To.Open() || !slices.Contains([]string{"sender", "source", "message_id", "uid"}, f.member)
				if moves && open && e != task.Cancelled && try(f.member, f.lie) == nil {
					t.Errorf("%s by %s says %s: %s", e, who, f.member, w.written[at])
				}
			}
		}
	}
	if t.Logf("%d lies", tried); tried < 500 {
		t.Errorf("only %d lies were tried", tried)
	}
}

// TestBounds: a yes, a grant and a session are good for a day at most, whatever is typed, and the
// login is what the server saw.
func TestBounds(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(strict); err != nil {
		t.Fatal(err)
	}
	long := func(at *time.Time) { *at = at.Add(10000 * time.Hour) }
	yes := w.yes("a.wait", task.Approved, task.Awaiting, approval.Terminal, bob)
	long(&yes.Approval.Expires)
	yes.Approval.By, yes.By, yes.Level = "bob (uid 1002)", "bob (uid 1002)", approval.Signature
	grant := w.grant("g.new", bob, "", time.Hour)
	long(&grant.Grant.Expires)
	session := w.session(audit.SessionOpened, "s.new", 3)
	long(&session.Session.Expires)
	if _, err := w.try(by("ann", yes, grant, session)); err != nil {
		t.Fatal(err)
	}
	for i, raw := range w.written {
		l, err := audit.Parse([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		until, name := []time.Time{yes.Approval.Expires, grant.Grant.Expires, session.Session.Expires}[i], l.By
		if until.Sub(l.Time) > 24*time.Hour || name != "ann" || i == 0 && (l.Level != approval.User || l.Approval.By != "ann") {
			t.Errorf("good until %s: %s", until, raw)
		}
	}
	signed := w.yes("a.wait", task.Approved, task.Awaiting, approval.Signature, bob)
	long(&signed.Approval.Expires)
	if _, err := w.try(by("ann", signed)); code(err) != "PU002" {
		t.Errorf("a signed yes without end: %v", err)
	}
	// The day's starts of all machines, by the server's count.
	for most, want := range map[int]string{1: "PU002", 1000: ""} {
		c := w.legal(task.Started, "runner1")
		c.super = fmt.Sprintf("UPDATE pulse.queue SET max_per_day = %d", most)
		if _, err := w.try(c); code(err) != want {
			t.Errorf("max_per_day %d: %v", most, err)
		}
	}
	// A yes to an effect is dropped by a sender, and not by a runner or a gate.
	for who, want := range map[string]string{"runner1": "PU002", "sender1": "", "ann": ""} {
		e := task.Parked
		to := task.Awaiting
		if who == "ann" {
			e, to = task.Cancelled, task.Rejected
		}
		if _, err := w.try(by(who, w.of("e.yes", e, task.Scheduled, to))); code(err) != want {
			t.Errorf("a yes that %s drops: %v", who, err)
		}
	}
	// A task of no action, as there could be one, can't be added, and a person can remove it.
	odd := w.of("a.new", task.Added, "", task.Scheduled)
	odd.Action = terms.Action("code_or_computerx")
	if _, err := w.try(by("gate1", odd)); code(err) != "PU002" {
		t.Errorf("a task of no action: %v", err)
	}
	gone := w.of("a.sched", task.Cancelled, task.Scheduled, task.Rejected)
	gone.Action = ""
	c := by("ann", gone)
	c.super = "UPDATE pulse.task SET action = 'code_or_computerx' WHERE id = '" + gone.Task + "'"
	if _, err := w.try(c); err != nil {
		t.Errorf("a task of no action can't be removed: %v", err)
	}
}
