package report

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The bounds of what is kept of the log, whatever it holds.
const (
	maxEndings = 100
	maxSources = 100
)

// disorder is how far the lines of the log may be out of order: a line is written after the
// moment that it tells, and clocks are set.
const disorder = time.Hour

// past is what happened lately.
type past struct {
	since   time.Time
	clock   clock.Clock // what the queue makes of the page's
	counts  store.Counts
	refused *tally
	ends    map[ending]int
	seen    map[string]time.Time // when the newest mail of a source came
	broken  error                // why the log could not be read so far back
	month   *month               // counted on the way, unless it is nil
	torn    bool                 // the log could not be read to its end
	newest  time.Time            // when its last line was written; zero: it has none
}

// ending is how tasks ended. The lower its rank, the more it needs a look.
type ending struct {
	rank   int
	action terms.Action
	how    string
}

// endingOf returns how a line of the log ends its task, if it does.
func endingOf(l *audit.Line) (e ending, ok bool) {
	e.action = l.Action
	switch {
	case l.Event == task.Learned: // it ended before, and was told of then
		return e, false
	case l.Event == task.Undecided:
		e.rank, e.how = 0, "nobody knows whether it happened"
	case l.To == task.Failed, l.To == task.Corrupt:
		e.rank, e.how = 1, string(l.To)+": "+l.Change.Reason
	case l.Event == task.Expired:
		e.rank, e.how = 2, "expired without an answer"
	case l.Event == task.Dropped:
		e.rank, e.how = 3, "rejected by the policy: "+l.Change.Reason
	case l.Event == task.Closed:
		e.rank, e.how = 4, "closed by an agent"
	case l.Event == task.Denied:
		e.rank, e.how = 5, "rejected by a person"
	case l.Event == task.Cancelled:
		e.rank, e.how = 6, "cancelled"
	case l.To == task.Completed:
		e.rank, e.how = 7, "completed"
	default:
		return e, false
	}
	return e, true
}

// readPositions reads how far each source was read.
func (p *past) readPositions(v store.View) error {
	p.counts, p.seen = v.Counts(), map[string]time.Time{}
	list, err := queue.PositionsOf(v)
	for _, one := range list {
		p.came(one.Source, one.Received)
	}
	return err
}

// came notes when a mail of a source came.
func (p *past) came(source string, at time.Time) {
	if last, known := p.seen[source]; !known && len(p.seen) >= maxSources || known && !at.After(last) {
		return
	}
	p.seen[source] = at
}

// read reads the log back to the time since when the page tells, and calls also for lines
// until it returns false. An error before that time is noted, because the rest of the
// page is worth telling all the same.
func (p *past) read(ctx context.Context, s Store, also func(audit.Line) (more bool)) error {
	p.refused, p.ends = newTally(), map[ending]int{}
	more, ours, monthly := also != nil, true, p.month != nil
	ages := p.clock.Ages(false)
	err := s.History(func(l audit.Line) bool {
		if p.newest.IsZero() {
			p.newest = l.Time
		}
		more = more && also(l)
		l.Time = ages.Of(&l)
		monthly = monthly && p.month.hear(&l)
		if ours = ours && l.Time.After(p.since.Add(-disorder)); ours && !l.Time.Before(p.since) {
			p.hear(&l)
		}
		return (more || ours || monthly) && ctx.Err() == nil
	})
	p.refused.addToday(p.since, &p.counts)
	if p.torn = err != nil; ours {
		p.broken = err
	}
	return err
}

func (p *past) hear(l *audit.Line) {
	if e, ok := endingOf(l); ok {
		if _, known := p.ends[e]; !known && len(p.ends) >= maxEndings {
			e = ending{rank: e.rank, how: "otherwise"}
		}
		p.ends[e]++
	}
	if (l.Event == task.Added || l.Event == task.Refused) && l.Source != "" {
		p.came(l.Source, l.Time)
	}
	p.refused.hear(l)
}

// after returns a command with the time since when the page tells.
func (p *past) after(command string) string {
	return command + " --since " + p.since.UTC().Format(time.RFC3339)
}

// digestEnds is how many kinds of ends are told.
const digestEnds = 5

func (p *Page) ended() []string {
	ends := p.past.ends
	list := slices.SortedFunc(maps.Keys(ends), func(a, b ending) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(ends[b], ends[a]),
			cmp.Compare(a.action, b.action), cmp.Compare(a.how, b.how))
	})
	if len(list) == 0 {
		return nil
	}
	all, named, lines := 0, 0, []string{""}
	for i, e := range list {
		if all += ends[e]; i < digestEnds {
			named = all
			text := fmt.Sprintf("  %4d %-16s %s", ends[e], escape.ASCII(string(e.action)), escape.ASCII(e.how))
			lines = append(lines, escape.Clip(text, digestWidth))
		}
	}
	lines[0] = titled("ended", fmt.Sprintf("%d since %s", all, p.Since.UTC().Format(time.RFC3339)))
	if all > named {
		lines = append(lines, fmt.Sprintf("  and %d more: %s", all-named, p.past.after("pulse-queue log")))
	}
	return lines
}

// refused counts what was rejected by reason, and for whom.
func (p *Page) refused() []string {
	t := p.past.refused
	all, lines := t.others, []string{""}
	for i, one := range t.sorted() {
		if all += one.times; i >= digestSome {
			continue
		}
		why := escape.ASCII(one.reason)
		if one.identity != "" {
			why += " (" + escape.ASCII(one.identity) + ")"
		}
		why = fmt.Sprintf("  %4d %s: ", one.times, why)
		whom := leading(one.whom, 2, 24, inAll)
		if len(why+whom) <= digestWidth {
			lines = append(lines, why+whom)
		} else {
			lines = append(lines, escape.Clip(why, digestWidth), escape.Clip("       "+whom, digestWidth))
		}
	}
	for _, day := range t.limited {
		lines = append(lines, "  "+unlisted(day, &p.past.counts))
	}
	if len(lines) == 1 {
		return nil
	}
	lines[0] = titled("refused", fmt.Sprintf("%d: %s", all, p.past.after("pulse-queue log --why")))
	return lines
}

// mail says when the newest mail of each source came, the most silent source first.
func (p *past) mail() (lines []string) {
	list := slices.SortedFunc(maps.Keys(p.seen), func(a, b string) int {
		return cmp.Or(p.seen[a].Compare(p.seen[b]), cmp.Compare(a, b))
	})
	name := "mail"
	for _, source := range list[:min(len(list), digestSome)] {
		text := "last " + p.seen[source].UTC().Format(time.RFC3339) + " " + escape.ASCII(source)
		lines = append(lines, escape.Clip(titled(name, text), digestWidth))
		name = ""
	}
	if more := len(list) - len(lines); more > 0 {
		lines = append(lines, titled("", fmt.Sprintf("and newer from %d more", more)))
	}
	return lines
}
