package pgstore_test

import (
	"cmp"
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
	if err := cmp.Or(w.exec(pgtest.Strict), w.times()); err != nil {
		t.Error(err)
	}
}

// times is TestTimes.
func (w *world) times() error {
	for _, says := range []time.Time{time.Unix(1, 0), w.now.AddDate(0, 0, -31), w.now.Add(90 * time.Minute), w.now.AddDate(250, 0, 0)} {
		for ahead, own := range map[string]bool{"-1 day": true, "-1 s": true, "30 min": false, "59 min": false, "61 min": true, "10 years": true} {
			c := w.legal(audit.Held, "gate1")
			c.steps[0].Time = says.UTC()
			c.super = fmt.Sprintf(`UPDATE pulse.audit SET line = regexp_replace(line, '"time":"[^"]*"', '"time":' || pulse.stamp(clock_timestamp() + interval '%s')) WHERE seq = (SELECT seq FROM pulse.queue)`, ahead)
			begun := time.Now().Add(-time.Second)
			if _, err := w.try(c); err != nil {
				return err
			}
			l, err := audit.Parse([]byte(w.written[0]))
			if d := l.Time.Sub(begun); err != nil || (d > 0 && d < time.Since(begun)+time.Second) != own || !own && (d < 29*time.Minute || d > 60*time.Minute) {
				return fmt.Errorf("the last line lies %s ahead, a client says %s: %s", ahead, says, w.written[0])
			}
		}
	}
	sum := w.bought("e.wait", []string{bob}, "g.bob")
	sum[1].Approval.Given = w.now.AddDate(250, 0, 0)
	if _, err := w.try(by("sender1", sum...)); err != nil {
		return err
	}
	if l, err := audit.Parse([]byte(w.written[1])); err != nil || !l.Approval.Given.Equal(l.Time) {
		return fmt.Errorf("%v: the sum of grants was given at another time: %s", err, w.written[1])
	}
	return nil
}

// TestBounds: a yes, a grant and a session are good for a day at most, whatever is typed, one that was
// signed for a month, and the login and its level are what the server saw.
func TestBounds(t *testing.T) {
	w, _ := base(t)
	if err := cmp.Or(w.exec(pgtest.Strict), w.bounds(), w.levels(), w.odd()); err != nil {
		t.Error(err)
	}
}

// bounds is the first part of TestBounds.
func (w *world) bounds() error {
	const day = 24 * time.Hour
	for typed, want := range map[time.Duration]time.Duration{10000 * time.Hour: day, 25 * time.Hour: day, 23 * time.Hour: 23 * time.Hour} {
		yes, grant := w.yes("a.wait", task.Approved, task.Awaiting, approval.Terminal, bob), w.grant("g.new", bob, "", typed)
		session := w.session(audit.SessionOpened, "s.new", 3)
		yes.Approval.Expires, session.Session.Expires = w.now.Add(typed), w.now.Add(typed)
		yes.Approval.By, yes.By, yes.Level = "bob (uid 1002)", "task "+idOf("a.done"), approval.Signature
		if _, err := w.try(by("ann", yes, grant, session)); err != nil {
			return err
		}
		for i, raw := range w.written {
			l, err := audit.Parse([]byte(raw))
			if err != nil {
				return err
			}
			until := []time.Time{yes.Approval.Expires, grant.Grant.Expires, session.Session.Expires}[i]
			if until.Sub(l.Time) != want || l.By != "ann" || i == 0 && (l.Level != approval.User || l.Approval.By != "ann") {
				return fmt.Errorf("%s: good until %s: %s", typed, until, raw)
			}
		}
	}
	for until, want := range map[time.Duration]string{day: "", 31 * day: "", 32 * day: "PU002"} {
		signed := w.yes("a.wait", task.Approved, task.Awaiting, approval.Signature, bob)
		signed.Approval.Expires = time.Now().Add(until)
		if _, err := w.try(by("ann", signed)); code(err) != want {
			return fmt.Errorf("a yes that was signed for %s: %v", until, err)
		}
	}
	for long, want := range map[time.Duration]string{day: "", 25 * time.Hour: "PU002"} {
		signed := w.session(audit.SessionOpened, "s.new", 3)
		signed.Session.Level, signed.Session.Expires = approval.Signature, signed.Session.Opened.Add(long)
		if _, err := w.try(by("ann", signed)); code(err) != want {
			return fmt.Errorf("a session that was signed for %s: %v", long, err)
		}
	}
	return nil
}

// levels is the second part of TestBounds: what a line says of how far its login was proven. Grants of
// other levels than user came with a copy.
func (w *world) levels() error {
	for _, level := range []approval.Level{approval.Terminal, approval.User, approval.Signature} {
		bobs, eves := *w.given["g.bob"], *w.given["g.eve"]
		c := by("sender1", w.bought("e.both", []string{bob, eve}, "g.bob", "g.eve")...)
		for i, l := range []approval.Level{level, approval.Signature} {
			g := *c.steps[i].Grant
			g.Level = l
			c.steps[i].Grant, c.steps[2].Approval.Grants[i] = &g, g
			c.super += fmt.Sprintf(`UPDATE pulse.audit SET who = 'pulse_owner', line = replace(line, '"level":"user"', '"level":"%s"') WHERE line LIKE '%%"granted"%%"id":"%s"%%';`, l, g.ID)
		}
		_, err := w.try(c)
		if *w.given["g.bob"], *w.given["g.eve"] = bobs, eves; err != nil {
			return err
		}
		if l, err := audit.Parse([]byte(w.written[2])); err != nil || l.Approval.Level != level {
			return fmt.Errorf("%v: the level of a sum of grants is not %s: %s", err, level, w.written[2])
		}
	}
	for who, want := range map[string]approval.Level{"ann": approval.User, "all1": approval.Terminal, "gate1": ""} {
		for says, want := range map[approval.Level]approval.Level{"": "", approval.Signature: want} {
			c := w.legal(audit.Held, who)
			c.steps[0].Level = says
			if _, err := w.try(c); err != nil {
				return err
			}
			if l, err := audit.Parse([]byte(w.written[0])); err != nil || l.Level != want {
				return fmt.Errorf("%v: a line of %s that says %q: %s", err, who, says, w.written[0])
			}
		}
	}
	return nil
}

// odd is the third part of TestBounds: the day's starts of all machines, by the server's count; and a
// task of no action, as there could be one, that can't be added, and that a person can remove.
func (w *world) odd() error {
	for kind, who := range map[string]string{"a": "runner1", "e": "sender1"} {
		for more, want := range []string{"PU002", ""} {
			c, counted := w.legal(task.Started, who), fmt.Sprintf("at > %d AND substr(entry, 86, 1) = '%s'", w.now.Add(-24*time.Hour).Unix(), kind)
			c.super = fmt.Sprintf(`UPDATE pulse.queue SET max_per_day = %d + (SELECT count(*) FROM pulse.start WHERE %s);
				INSERT INTO pulse.start SELECT 0, at - 90000, entry FROM pulse.start WHERE %[2]s LIMIT 1`, more, counted)
			if _, err := w.try(c); code(err) != want {
				return fmt.Errorf("as many starts as max_per_day lets, and %d: %v", more, err)
			}
		}
	}
	odd := w.of("a.new", task.Added, "", task.Scheduled)
	odd.Action = terms.Action("code_or_computerx")
	if _, err := w.try(by("gate1", odd)); code(err) != "PU002" {
		return fmt.Errorf("a task of no action: %v", err)
	}
	gone := w.of("a.sched", task.Cancelled, task.Scheduled, task.Rejected)
	gone.Action = ""
	c := by("ann", gone)
	c.super = "UPDATE pulse.task SET action = 'code_or_computerx' WHERE id = '" + gone.Task + "'"
	if _, err := w.try(c); err != nil {
		return fmt.Errorf("a task of no action can't be removed: %w", err)
	}
	return nil
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
	if err := w.targets(rand.New(rand.NewPCG(seeded(t), 1))); err != nil {
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
