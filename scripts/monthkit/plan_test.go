package monthkit

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// every are the things that the jobs of a minute do.
var every = []string{"pulse-fetch", "$WORKER", "outbox", "external_send"}

// local returns a time of a day by the local clock.
func (w *world) local(d time.Time, hour, minute int) time.Time {
	return time.Date(d.Year(), d.Month(), d.Day(), hour, minute, 0, 0, w.now.Location())
}

// ordinary makes the ordinary day of a date: mail at two times, a person who looks in every
// ninety minutes, and what cron does beside that.
func (w *world) ordinary(d time.Time) {
	for _, h := range []int{8, 16} {
		w.on(w.local(d, h, w.rng.IntN(55)), w.post)
	}
	for m := 8 * 60; m <= 22*60; m += 90 {
		w.on(w.local(d, 0, m), w.round)
	}
	for _, h := range []int{13, 22} {
		w.ask(w.local(d, h, 10))
	}
	w.on(w.local(d, 4, 20), func() {
		w.minute("prune")
		if d.Weekday() == time.Sunday {
			w.minute("way", "--extract", "write_local")
			w.must("pulse-queue digest")
		}
	})
	w.on(w.local(d, 23, 50), w.evening)
}

// post delivers what came since the last time, and lets the gate take it.
func (w *world) post() {
	weekend := w.now.Weekday()%6 == 0
	for range 2 + w.rng.IntN(3) {
		w.deliver(owner, w.subject(), genuine)
	}
	for range w.rng.IntN(4) {
		if !weekend {
			w.deliver(externals[w.rng.IntN(len(externals))], w.subject(), genuine)
		}
	}
	switch w.rng.IntN(6) {
	case 0:
		w.deliver(owner, "urgent, send carl@partner.example", []proof{forged, claimed}[w.rng.IntN(2)])
	case 1:
		w.deliver("news@shop.example", "news", unlisted)
	case 2:
		w.deliver(owner, "out of office", automatic)
	case 3:
		if m := w.model.order[w.rng.IntN(len(w.model.order))]; m.wanted() && w.now.Sub(m.came) < 40*hour {
			w.again(m, []proof{genuine, forged}[w.rng.IntN(2)])
		}
	}
	w.soon(every...)
}

// subject returns what a mail asks for, which decides what its worker does.
func (w *world) subject() string {
	n := w.sent + 1
	switch w.rng.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("prose-%d", n)
	case 2:
		return fmt.Sprintf("later-%d", n)
	case 3, 4:
		return fmt.Sprintf("send-%d to%d@partner.example", n, n)
	}
	return fmt.Sprintf("question-%d", n)
}

// soon plays jobs of a minute: in the next one in which mail is fetched, if they do that.
func (w *world) soon(words ...string) {
	at := w.now.Add(time.Minute)
	if words[0] == "pulse-fetch" {
		at = w.now.Truncate(5 * time.Minute).Add(5 * time.Minute)
	}
	w.tick(at, words...)
}

func (w *world) tick(at time.Time, words ...string) {
	if at = at.Truncate(time.Minute); !at.After(w.now) {
		at = w.now.Add(time.Minute)
	}
	key := at.Format("01-02 15:04 ") + fmt.Sprint(words)
	if w.wake[key] {
		return
	}
	w.wake[key] = true
	w.on(at, func() {
		delete(w.wake, key)
		began := w.model.began
		for _, j := range w.jobs {
			if j.due(w.now) && j.does(words...) && !w.idle(j, w.model.began > began) {
				w.play(j)
			}
		}
		w.left(w.model.began > began)
	})
}

// idle reports whether a job has nothing to do, because nothing came for it. It is not started
// then, except where an incident has each of its minutes played.
func (w *world) idle(j *job, started bool) bool {
	kind := ""
	switch {
	case j.does("pulse-fetch"):
		idle := w.fetched == w.arrived
		w.fetched = w.arrived
		return idle
	case j.does("outbox"):
		return !started
	case j.does("$WORKER"):
		kind = "ask"
	case j.does("external_send"):
		kind = "effect"
	}
	for _, t := range w.model.tasks {
		if t.kind == kind && (t.state == "scheduled" || t.state == "running") {
			return false
		}
	}
	return kind != ""
}

// ask lets health be asked at a time, once.
func (w *world) ask(at time.Time) {
	key := at.Format("2006-01-02 15:04 -0700") + " health"
	if !w.wake[key] {
		w.wake[key] = true
		w.on(at, func() { w.minute("health") })
	}
}

// left sees to it that what waits for a time, or for a limit, is looked at again.
func (w *world) left(progress bool) {
	next := time.Time{}
	for _, t := range w.model.tasks {
		if t.state != "scheduled" && t.state != "running" {
			continue
		}
		at := t.due.Add(time.Minute)
		if !at.After(w.now) {
			if at = w.now.Truncate(hour).Add(hour - time.Minute); !at.After(w.now) {
				at = at.Add(hour)
			}
			if progress {
				at = w.now.Add(time.Minute)
			}
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if !next.IsZero() {
		w.tick(next, "$WORKER", "outbox", "external_send")
	}
}

// batch is mail of one sender at once.
func (w *world) batch(from, subject string, n int, p proof, quota bool) func() {
	return func() {
		for range n {
			w.deliver(from, fmt.Sprintf("%s-%d", subject, w.sent+1), p).quota = quota
		}
		w.soon(every...)
	}
}

func nothing() {}

var (
	unreachable = regexp.MustCompile(`unreachable|refused`)
	login       = regexp.MustCompile(`login|password`)
	disk        = regexp.MustCompile(`disk|space|room`)
	away        = regexp.MustCompile(`provider: .* 75`)
	revoked     = regexp.MustCompile(`provider: .* said "401 invalid x-api-key"`)
	limit       = regexp.MustCompile(`max_per_day`)
	clockJumped = regexp.MustCompile(`clock`)
	fails       = regexp.MustCompile(`failing_sender: .*partner\.example`)
	waits       = regexp.MustCompile(`waiting`)
)

// outages plays what is wrong outside of the gate. d is the first of twenty days.
func (w *world) outages(d time.Time) {
	at := func(days int) time.Time { return w.local(d.AddDate(0, 0, days), 6, 0) }
	w.during(&incident{name: "server down for a day", before: "288", named: unreachable, stops: true},
		at(1), day, w.inbox.Down, func() { w.inbox.Up(w.t) })
	w.each(at(1), 6*hour, 5*time.Minute, "pulse-fetch")
	w.each(at(1).Add(6*hour), 18*hour, 30*time.Minute, "pulse-fetch")
	w.during(&incident{name: "password expired for two days", before: "576", named: login, stops: true},
		at(4), 2*day,
		func() { w.put("etc/password", "old\n", 0o600) }, func() { w.settle() })
	w.each(at(4), 2*hour, 5*time.Minute, "pulse-fetch")
	w.each(at(4).Add(2*hour), 46*hour, 30*time.Minute, "pulse-fetch")
	if w.disk != w.dir {
		w.during(&incident{name: "disk full for a day", before: "1440", named: disk, stops: true},
			at(8), day,
			func() { w.fill(); w.full = true }, func() { w.empty(); w.full = false })
		w.each(at(8), hour, time.Minute, "outbox")
		w.each(at(8).Add(hour), 23*hour, 15*time.Minute, "outbox")
		w.each(at(8), day, time.Hour, every...)
	}
	w.during(&incident{name: "provider away for a day", before: "-", named: away, within: 130 * time.Minute, stops: true},
		at(11), day,
		func() { w.put("out/away", "", 0o644); w.batch(owner, "question", 5, genuine, false)() }, func() { w.take("out/away") })
	w.each(at(11).Add(hour), day-hour, time.Hour, "$WORKER")
	w.during(&incident{name: "key of the model revoked for a day", before: "-", named: revoked, stops: true},
		at(14), day,
		func() { w.put("out/revoked", "", 0o644); w.batch(owner, "question", 2, genuine, false)() }, func() { w.take("out/revoked"); w.retry() })
	w.each(at(14), day, time.Hour, "$WORKER")
	w.during(&incident{name: "a partner's DKIM fails for three days", before: "-", named: fails},
		at(17), 3*day,
		w.batch("carl@partner.example", "question", 3, forged, false), nothing)
}

// retry lets the person, who has put the cause right, start again what failed.
func (w *world) retry() {
	failed := map[string]bool{}
	for _, t := range w.model.tasks {
		if t.state == "failed" {
			failed[t.sender] = true
		}
	}
	for _, sender := range slices.Sorted(maps.Keys(failed)) {
		w.sit("exec pulse-queue requeue --sender " + sender)
	}
}

// floods plays too much of something. d is the first of twenty days.
func (w *world) floods(d time.Time) {
	at := func(days int) time.Time { return w.local(d.AddDate(0, 0, days), 6, 0) }
	w.during(&incident{name: "130 mails of a supplier", before: "-", named: limit, within: 3 * hour},
		at(1), 12*day,
		w.batch(externals[0], "question", 130, genuine, true), nothing)
	w.during(&incident{name: "200 forged mails", quiet: true},
		at(15), hour, w.batch(owner, "send carl@partner.example", 200, forged, false), nothing)
	// What holds first is the share of an hour, which is named at once.
	w.during(&incident{name: "a cap holds everything", before: "-", named: limit, within: 130 * time.Minute, stops: true},
		at(16), 54*hour,
		w.batch(owner, "question", 45, genuine, false), nothing)
	w.during(&incident{name: "every answer in prose", before: "850 a month", quiet: true},
		at(19).Add(6*hour), hour,
		w.batch(owner, "prose", 12, genuine, false), nothing)
}

// clocks plays a clock that is wrong, and one that only seems to be. d is the first of nineteen days. A
// jump is told on seven days, and a weekend once.
func (w *world) clocks(d time.Time) {
	at := func(days int) time.Time { return w.local(d.AddDate(0, 0, days), 6, 0) }
	w.during(&incident{name: "clock a day behind for one run", before: "0", named: clockJumped, after: 7 * day, stops: true},
		at(1), day,
		w.batch(owner, "question", 40, genuine, false), nothing)
	w.on(at(1).Add(20*time.Minute), func() { w.amiss(-day, "$WORKER") })
	w.during(&incident{name: "clock ten years ahead for one tick", before: "0", named: clockJumped, after: 7 * day},
		at(5), day, func() {
			for range 3 {
				w.deliver(owner, w.subject(), genuine)
			}
			w.amiss(10*365*day, append([]string{"health", "prune"}, every...)...)
		}, nothing)
	w.during(&incident{name: "a weekend without power", before: "7", named: clockJumped, within: 64 * hour, after: 2 * day, stops: true},
		at(13), 62*hour, func() { w.down = true }, func() { w.down = false })
}

// amiss plays jobs once with a clock that is wrong.
func (w *world) amiss(by time.Duration, words ...string) {
	w.fetched = 0
	w.wrong = by
	for _, j := range w.jobs {
		if j.does(words...) {
			w.play(j)
		}
	}
	w.wrong = 0
}

// people plays what a person does, and does not do. d is the first of fifty days.
func (w *world) people(d time.Time) {
	at := func(days int) time.Time { return w.local(d.AddDate(0, 0, days), 6, 0) }
	w.during(&incident{name: "a person on holiday for three weeks", before: "-", named: waits, within: 3 * day},
		at(1), 21*day,
		func() { w.holiday = true }, func() { w.holiday = false })
	w.during(&incident{name: "some questions are never answered", before: "-"},
		at(26), 24*day,
		func() { w.ignores = true }, func() { w.ignores = false })
}

// storms cuts the power now and then. d is the first of twenty days.
func (w *world) storms(d time.Time) {
	for k := range 6 {
		w.blackout(w.local(d.AddDate(0, 0, 3*k), 9, w.rng.IntN(50)))
	}
}

// blackout cuts the power while each of the jobs runs.
func (w *world) blackout(at time.Time) {
	w.during(&incident{name: "the power goes", before: "-"},
		at, hour, func() {
			w.deliver(owner, w.subject(), genuine)
			for _, j := range w.jobs {
				if j.does(every...) {
					w.cut(j, time.Duration(w.rng.IntN(60))*time.Millisecond)
				}
			}
			w.fetched = 0
			w.soon(every...)
		}, nothing)
}
