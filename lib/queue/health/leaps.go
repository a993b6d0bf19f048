package health

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// The bounds of what is told of jumps of the clock.
const (
	lately = 7 * 24 * time.Hour  // how long a jump is told
	idle   = 30 * 24 * time.Hour // a queue in which nothing happened for so long is not one whose clock jumped
)

// leap is a time in which the clock was not believed.
type leap struct {
	queue.Jump
	added, started, ended int       // in that time
	back                  time.Time // the line with which the clock was what it had been before; zero: none
}

// leaps finds out whether the clock was wrong lately, and what was done meanwhile. A clock that
// only went on, after days in which nothing happened, is none that was wrong.
func (f *Facts) leaps(q Queue) (list []Finding, err error) {
	if f.clock.To.IsZero() || f.Now.Sub(f.clock.To) >= lately {
		return nil, nil
	}
	var all []leap
	var done []audit.Line // those since the jump that is not reached yet
	ages := f.clock.Ages()
	err = q.History(func(l audit.Line) bool {
		at := ages.Of(&l)
		if l.Event != audit.ClockJumped {
			done = append(done, audit.Line{Time: l.Time, Event: l.Event, Task: l.Task, From: l.From, To: l.To})
			return f.Now.Sub(at) < lately
		}
		one := leap{Jump: queue.JumpOf(&l)}
		if n := len(all); n > 0 && all[n-1].From.Sub(one.To) < queue.Confirming && all[n-1].Back() != one.Back() {
			one.back = all[n-1].To
		}
		one.count(done)
		all, done = append(all, one), done[:0]
		return f.Now.Sub(at) < lately
	})
	for i := range all {
		if closes := i+1 < len(all) && !all[i+1].back.IsZero(); !closes && all[i].wrong() {
			list = append(list, all[i].finding())
		}
	}
	return list, err
}

// count counts what was done until the clock was believed.
func (l *leap) count(lines []audit.Line) {
	for i := range lines {
		line := &lines[i]
		switch {
		case !line.Moves() || line.Time.Sub(l.To) >= queue.Confirming:
		case line.Event == task.Added:
			l.added++
		case line.Event == task.Started:
			l.started++
		case line.From.Open() && !line.To.Open():
			l.ended++
		}
	}
}

// wrong reports whether the clock was, or whether nothing happened for long.
func (l *leap) wrong() bool {
	return l.Back() || !l.back.IsZero() || l.To.Sub(l.From) > idle
}

func (l *leap) finding() Finding {
	way := "ahead"
	if l.Back() {
		way = "back"
	}
	text := fmt.Sprintf("the clock jumped %s %s, from %s to %s",
		span(l.To.Sub(l.From).Abs()), way, l.From.UTC().Format(time.RFC3339), l.To.UTC().Format(time.RFC3339))
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
	text += ": by that clock, before it was believed, " + strings.Join(counts, ", ")
	return Finding{Code: codeJumped, Text: text, Do: "timedatectl; pulse-queue log --event clock_jumped"}
}
