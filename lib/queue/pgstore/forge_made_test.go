package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestTimes: a line has the time of the server, whatever a client says. If the last line lies a little
// ahead, as after a failover, it has that one's; if that lies far ahead, the clock is believed.
func TestTimes(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(pgtest.Strict); err != nil {
		t.Fatal(err)
	}
	for _, says := range []time.Time{time.Unix(1, 0), w.now.AddDate(0, 0, -31), w.now.Add(90 * time.Minute), w.now.AddDate(250, 0, 0)} {
		for ahead, own := range map[string]bool{"-1 day": true, "-1 s": true, "30 min": false, "59 min": false, "61 min": true, "10 years": true} {
			c := w.legal(audit.Held, "gate1")
			c.steps[0].Time = says.UTC()
			c.super = fmt.Sprintf(`UPDATE pulse.audit SET line = regexp_replace(line, '"time":"[^"]*"', '"time":' || pulse.stamp(clock_timestamp() + interval '%s')) WHERE seq = (SELECT seq FROM pulse.queue)`, ahead)
			begun := time.Now().Add(-time.Second)
			if _, err := w.try(c); err != nil {
				t.Fatal(err)
			}
			l, err := audit.Parse([]byte(w.written[0]))
			if d := l.Time.Sub(begun); err != nil || (d > 0 && d < time.Since(begun)+time.Second) != own || !own && (d < 29*time.Minute || d > 60*time.Minute) {
				t.Errorf("the last line lies %s ahead, a client says %s: %s", ahead, says, w.written[0])
			}
		}
	}
	sum := w.bought("e.wait", []string{bob}, "g.bob")
	sum[1].Approval.Given = w.now.AddDate(250, 0, 0)
	if _, err := w.try(by("sender1", sum...)); err != nil {
		t.Fatal(err)
	}
	if l, err := audit.Parse([]byte(w.written[1])); err != nil || !l.Approval.Given.Equal(l.Time) {
		t.Errorf("%v: the sum of grants was given at another time: %s", err, w.written[1])
	}
}

// TestBounds: a yes, a grant and a session are good for a day at most, whatever is typed, and the
// login is what the server saw.
func TestBounds(t *testing.T) {
	w, _ := base(t)
	if err := w.exec(pgtest.Strict); err != nil {
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

// targets are spellings, and whether each is that of an address: then its case does not count.
var targets = map[string]bool{
	bob: true, eve: true, "Bob@PARTNER.example": true, "kim@x.example": true, "x@localhost": true, "A.b+c=d@Sub_1.x-y.Example": true, "thief%evil.test!a@x.example": true,
	"a`{|}~^_?/*'&$#-@X": true, strings.Repeat("A", 64) + "@x": true, strings.Repeat("A", 65) + "@x": false, "a@" + strings.Repeat("B", 63) + ".c": true,
	"a@" + strings.Repeat("B", 64) + ".c": false, "A@" + strings.Repeat("b.", 125) + "cc": true, "A@" + strings.Repeat("b.", 126) + "c": false, "\u212aim@x.example": false, "kim@\u212a.example": false, "m\u00e9@x.example": false,
	room: false, hall: false, "matrix:@bob:m.example": false, "tel:+1-555-123-4567": false, "tel:+15551234567": false, "telegram:42": false, "42": false, "-42": false,
	"slack:C024BE7LH": false, "slack:c024be7lh": false, "https://Hook.example/A": false, "https://hook.example/a": false, "https://me@hook.example/a": false, "#Ops": false,
	"AbC=": false, "printer:Hall": false, "@Ops": false, "Ops@": false, "a@b@c": false, "A b@c": false, "A@b\n": false, " A@b": false, "A@b c": false, "": false,
	"Ops..x@host": false, ".Ops@host": false, "Ops.@host": false, "Ops@-team": false, "Ops@team-": false, "Ops@te-am": true, "ops@a.-b": false, "ops@a-.b": false, "hook@Room.": false,
	"hook@.Room": false, "hook@Ro..om": false, "[Team]@irc": false, "Team@[192.0.2.1]": false, "AbC(1)@Room": false, "ops@Room/1": false, "ops@Room+1": false, `"a b"@x`: false, `A\@x`: false,
	"A<b@c": false, "A,b@c": false, "A;b@c": false, "A:b@c": false,
}

// TestTargets: the server compares targets, as they are kept, as the client does under a policy.
func TestTargets(t *testing.T) {
	w, _ := base(t)
	o := policy.Outbound{Scheme: address.Telegram}
	for a, want := range targets {
		if _, _, err := address.Split(a); (err == nil) != want || (want || !strings.Contains(a, ":")) && o.Same(a, swapCase(a)) != (want || a == swapCase(a)) {
			t.Errorf("%q: an address: %v", a, !want)
		}
	}
	if err := w.targets(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))); err != nil {
		t.Error(err)
	}
}

// swapCase turns small letters into capitals, and capitals into small letters.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r ^ 0x20
		}
		return r
	}, s)
}

// targets compares the targets that are known, and some that are made up of pieces, with each other.
func (w *world) targets(r *rand.Rand) error {
	o := policy.Outbound{Scheme: address.Telegram}
	var as, bs []string
	pair := func(a, b string) { as, bs = append(as, o.Spell(a)), append(bs, o.Spell(b)) }
	for a := range targets {
		for b := range targets {
			pair(a, b)
		}
		pair(a, swapCase(a))
	}
	pieces := strings.Split("a|B|Z9|é|.|.|@|@|@|-|_|+|/|=|!|%|(|]|:| |\n|\"|\\|x.example|"+strings.Repeat("l", 62)+"|"+strings.Repeat("Ab.", 80), "|")
	for range 5000 {
		var made strings.Builder
		for range 2 + r.IntN(6) {
			made.WriteString(pieces[r.IntN(len(pieces))])
		}
		pair(made.String(), swapCase(made.String()))
	}
	var same []bool
	if err := w.c.QueryRow(context.Background(), "SELECT array_agg(pulse.same(a, b) ORDER BY n) FROM unnest($1::text[], $2::text[]) WITH ORDINALITY x(a, b, n)", as, bs).Scan(&same); err != nil {
		return err
	}
	for i := range as {
		if same[i] != o.Same(as[i], bs[i]) {
			return fmt.Errorf("%q and %q: the server says %v", as[i], bs[i], same[i])
		}
	}
	return nil
}
