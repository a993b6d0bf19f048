package health

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/task"
)

// Lately is how long a jump of the clock is told.
const Lately = 7 * 24 * time.Hour

// idle is how long the log of a queue whose silence is not told may have no line.
const idle = 30 * 24 * time.Hour

// After a gap in the log of at most a week, as a weekend without power leaves, the clock is most
// likely right: it is told once, and for so long, if the clock goes on from there.
const (
	pause  = Lately
	paused = 2 * day
)

// leap is a time in which the clock was not believed.
type leap struct {
	clock.Jump
	added, started, ended int       // in that time
	back                  time.Time // the line with which the clock was what it had been before; zero: none
	vouched               bool      // a person vouched for the clock since
}

// quiet returns for how long a log may have no line while all is well. Where silence is told, each day
// of it has a line; after that, nothing ran here, or the clock jumped ahead.
func (f *Facts) quiet(p *past) time.Duration {
	if f.MaxSilence == 0 || p.mail.IsZero() && p.added {
		return idle
	}
	return min(idle, f.MaxSilence+day)
}

// leaps finds out whether the clock was wrong lately, and what was done meanwhile. For the queue a
// clock that only went on is like days on which nothing ran: a person who vouches for the clock
// puts that away, and so does one who knows that the queue was restored, for the last one. It is left
// to p.idle.
func (f *Facts) leaps(q Queue, p *past) (list []Finding, err error) {
	if f.clock.To.IsZero() || f.Now.Sub(f.clock.To) >= Lately {
		return nil, nil
	}
	var all []leap
	var done []audit.Line // those since the jump that is not reached yet
	ages, vouched, resumed := f.clock.Ages(false), false, resumption{}
	err = q.History(func(l audit.Line) bool {
		at := ages.Of(&l)
		vouched = vouched || l.Event == audit.ClockConfirmed
		resumed.pass(&l)
		if l.Event != audit.ClockJumped {
			done = append(done, audit.Line{Time: l.Time, Event: l.Event, Task: l.Task, From: l.From, To: l.To})
			return f.Now.Sub(at) < Lately
		}
		one := leap{Jump: clock.JumpOf(&l), vouched: vouched || resumed.of(&l)}
		if n := len(all); n > 0 && all[n-1].From.Sub(one.To) < clock.Confirming && all[n-1].Back() != one.Back() {
			one.back = all[n-1].To
		}
		one.count(done)
		all, done, resumed = append(all, one), done[:0], resumption{}
		return f.Now.Sub(at) < Lately
	})
	if len(all) > 0 {
		p.jump = all[0].about()
	}
	for i := range all {
		l := &all[i]
		switch closes := i+1 < len(all) && !all[i+1].back.IsZero(); {
		case closes:
		case l.wrong():
			list = append(list, l.finding())
		case !l.vouched && l.gap() > f.quiet(p) && !(l.gap() <= pause && f.Now.Sub(l.To) >= paused):
			found := l.finding()
			found.once = l.gap() <= pause
			p.idle = append(p.idle, found)
		}
	}
	return list, err
}

// resumption is a line by which a person lets a restored queue start tasks, the oldest after a jump.
type resumption struct {
	at      time.Time // zero: none
	between bool      // other lines stand between it and the jump
}

func (r *resumption) pass(l *audit.Line) {
	switch {
	case l.Event == audit.Resumed:
		*r = resumption{at: l.Time}
	case l.Event != audit.ClockJumped:
		r.between = true
	}
}

// resuming is how long a person may take who takes the mail that came since before they let the queue
// start, as BACKUP AND RESTORE says.
const resuming = 12 * time.Hour

// of reports whether it tells why the log has no line before a jump.
func (r *resumption) of(jump *audit.Line) bool {
	return !r.at.IsZero() && (!r.between || r.at.Sub(jump.Time) < resuming)
}

// count counts what was done until the clock was believed.
func (l *leap) count(lines []audit.Line) {
	for i := range lines {
		line := &lines[i]
		switch {
		case !line.Moves() || line.Time.Sub(l.To) >= clock.Confirming:
		case line.Event == task.Added:
			l.added++
		case line.Event == task.Started:
			l.started++
		case line.From.Open() && !line.To.Open():
			l.ended++
		}
	}
}

// gap returns for how long the log has no line.
func (l *leap) gap() time.Duration { return l.To.Sub(l.From) }

// wrong reports whether the clock was.
func (l *leap) wrong() bool { return l.Back() || !l.back.IsZero() }

// about tells a leap from others.
func (l *leap) about() string { return stamp(l.To) }

func (l *leap) finding() Finding {
	way := "ahead"
	if l.Back() {
		way = "back"
	}
	text := fmt.Sprintf("the clock jumped %s %s, from %s to %s",
		duration.Span(l.gap().Abs()), way, l.From.UTC().Format(time.RFC3339), l.To.UTC().Format(time.RFC3339))
	if !l.back.IsZero() {
		text += ", and then to " + l.back.UTC().Format(time.RFC3339)
	}
	var counts []string
	for _, c := range []struct {
		n    int
		what string
	}{{l.added, "added"}, {l.started, "started"}, {l.ended, "ended"}} {
		if c.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	if len(counts) == 0 {
		counts = []string{"nothing was done"}
	}
	do := "timedatectl; pulse-queue log --event clock_jumped"
	if !l.wrong() {
		text = fmt.Sprintf("the log has no line for %s, until %s: nothing ran here, or the clock jumped ahead",
			duration.Span(l.gap()), stamp(l.To))
		do = "timedatectl; if it is right: pulse-queue release --clock"
	}
	text += ": by that clock, before it was believed, " + strings.Join(counts, ", ")
	return Finding{Code: codeJumped, About: l.about(), Text: text, Do: do}
}
