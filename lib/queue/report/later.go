package report

import (
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
)

// putOffLine returns the line about a task that is put off.
func putOffLine(e *timed, s *queue.Stored) string {
	text := "its file can't be read"
	switch {
	case s == nil:
	case e.PutOff:
		text = "by a person"
	default:
		text = "after " + cmdline.Count(s.Task.Attempts, "attempt")
	}
	return fmt.Sprintf("  %s %s %s", e.at.UTC().Format(time.RFC3339), e.ID, text)
}

func (p *Page) putOff() []string {
	l := &p.open.later
	if l.all == 0 {
		return nil
	}
	title := agreed(l.all, "task waits for its time", "tasks wait for their time")
	return append(append([]string{titled("put off", title)}, p.open.putOffs...), l.rest("pulse-queue list --state scheduled")...)
}

// untaken says what workers proposed and nobody has taken.
func (p *Page) untaken() []string {
	u := &p.figures.untaken
	if u.All == 0 {
		return nil
	}
	text := fmt.Sprintf("%d not taken, oldest %s: pulse-queue outbox", u.All, duration.Span(p.Now.Sub(u.Since)))
	return []string{titled("proposed", text)}
}

// drafted are the drafts that nobody has removed. On a server a draft is a row of table thing, keyed by
// its task.
type drafted struct {
	n      int
	oldest time.Time
}

func (d *drafted) read(v store.View) error {
	d.n = 0
	return v.Each(store.Drafts, func(_ string, made time.Time) (bool, error) {
		if d.n++; d.n == 1 {
			d.oldest = made
		}
		return true, nil
	})
}

func (d *drafted) lines(now time.Time, flat bool) []string {
	if d.n == 0 {
		return nil
	}
	where := "pulse-queue log --event carried_out"
	if flat {
		where = `ls -ltr "$PULSE_QUEUE"/drafts`
	}
	text := fmt.Sprintf("%d not removed, oldest %s: %s", d.n, duration.Span(now.Sub(d.oldest)), where)
	return []string{titled("drafts", text)}
}

// cost is what was spent of a cap.
type cost struct {
	what       string
	used, most int
}

// costs says what was spent of the caps.
func (p *Page) costs() []cost {
	f, most := &p.figures, p.Policy.Limits.MaxPerDay
	return []cost{{"asks", f.asks, most}, {"for external senders", f.external, externalCap(most)}, {"effects", f.effects, most}}
}

func (p *Page) starts() []string {
	var parts []string
	for _, c := range p.costs() {
		if c.used > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", c.used, c.most, c.what))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{titled("starts", "within 24 h: "+strings.Join(parts, ", "))}
}
