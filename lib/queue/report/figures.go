package report

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// Figures are what stats counts.
type Figures struct {
	counts                      map[task.State]int
	refusedDay                  string // UTC; the last one on which a record was refused
	refused                     int    // on that day
	kept                        int    // refused records that are kept
	keptBytes                   int64
	held                        string // the sentence that says so
	longestDue, longestAwaiting time.Duration
	asks, external              int // starts of the last day: of asks, and of these for external senders
	effects                     int
	untaken                     queue.Untaken
	now                         time.Time
	clock                       clock.Clock // what the queue makes of now
	most                        int         // asks or effects that may start in a day; 0: no policy was named
	month                       *month      // what the log says; nil: it was not read
}

// The bounds of what stats reads and names.
const (
	statsLines   = 10_000 // of the log
	statsSenders = 10
)

// Count counts what stats tells of a queue. most is how many asks or effects may start in a day; 0: no policy
// was named. With figures, an error says that less of the log could be read.
func Count(ctx context.Context, s health.Queue, now time.Time, most int) (*Figures, error) {
	f := &Figures{now: now, most: most, month: newMonth(now, statsLines)}
	if err := s.View(f.count); err != nil {
		return nil, err
	}
	ages := f.clock.Ages(false)
	broken := s.History(func(l audit.Line) bool {
		l.Time = ages.Of(&l)
		return f.month.hear(&l) && ctx.Err() == nil
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f, broken
}

// count makes the figures. It may be called again, and starts over then.
func (f *Figures) count(v store.View) (err error) {
	counts := v.Counts()
	*f = Figures{
		counts: counts.Tasks, refusedDay: counts.Day, refused: counts.Refused, now: f.now,
		kept: counts.Kept, keptBytes: counts.KeptBytes, most: f.most, month: f.month,
	}
	if f.clock, err = queue.ClockOf(v, f.now); err != nil {
		return err
	}
	if f.held, err = queue.Held(v); err != nil {
		return err
	}
	if f.untaken, err = queue.UntakenOf(v); err != nil {
		return err
	}
	if err := v.Open("", f.noteWait); err != nil {
		return err
	}
	return queue.Starts(v, f.now, func(st store.Start) {
		switch {
		case f.now.Sub(st.Time) >= store.Window:
		case st.Kind == task.Effect:
			f.effects++
		default:
			f.asks++
			if st.External {
				f.external++
			}
		}
	})
}

// noteWait finds the tasks that have waited longest: for a start, those that are due, since they were;
// for a person, since they got there.
func (f *Figures) noteWait(e store.Entry) (bool, error) {
	if e.State == task.Scheduled && (e.Waits(f.now) || e.Stands()) {
		return true, nil
	}
	since := e.Since
	if e.NotBefore.After(since) {
		since = e.NotBefore
	}
	switch waited := f.now.Sub(f.clock.Of(since)); e.State {
	case task.Scheduled:
		f.longestDue = max(f.longestDue, waited)
	case task.Awaiting:
		f.longestAwaiting = max(f.longestAwaiting, waited)
	}
	return true, nil
}

// refusedToday returns how many records were refused today, UTC.
func (f *Figures) refusedToday() int {
	if f.refusedDay != f.now.UTC().Format(time.DateOnly) {
		return 0
	}
	return f.refused
}

// JSON returns the figures as an object.
func (f *Figures) JSON() []byte {
	var o, starts record.Object
	for _, st := range task.States {
		o.Int(string(st), int64(f.counts[st]))
	}
	o.Int("refused", int64(f.refused))
	o.StrIf("refused_day", f.refusedDay)
	o.Int("refused_kept", int64(f.kept))
	o.Int("refused_kept_bytes", f.keptBytes)
	o.Bool("held", f.held != "")
	o.Int("oldest_scheduled_seconds", int64(f.longestDue.Seconds()))
	o.Int("oldest_awaiting_seconds", int64(f.longestAwaiting.Seconds()))
	o.Int("untaken", int64(f.untaken.All))
	if f.untaken.All > 0 {
		o.Int("oldest_untaken_seconds", int64(f.now.Sub(f.untaken.Since).Seconds()))
	}
	starts.Int("ask", int64(f.asks))
	starts.Int("ask_external", int64(f.external))
	starts.Int("effect", int64(f.effects))
	o.Raw("starts_24h", starts.Bytes())
	f.peopleJSON(&o)
	return o.Bytes()
}

// Table prints the figures for people.
func (f *Figures) Table(w io.Writer) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, st := range task.States {
		fmt.Fprintf(tab, "%s\t%d\n", st, f.counts[st])
	}
	fmt.Fprintf(tab, "longest\t%s for a start, %s for a person\n", duration.Span(f.longestDue), duration.Span(f.longestAwaiting))
	fmt.Fprintf(tab, "starts\t%s (%d external) and %s in 24 h\n",
		cmdline.Count(f.asks, "ask"), f.external, cmdline.Count(f.effects, "effect"))
	if f.untaken.All > 0 {
		fmt.Fprintf(tab, "proposed\t%d not taken, oldest %s\n", f.untaken.All, duration.Span(f.now.Sub(f.untaken.Since)))
	}
	if f.refusedDay != "" {
		fmt.Fprintf(tab, "refused\t%d on %s\n", f.refused, f.refusedDay)
	}
	if f.kept > 0 {
		fmt.Fprintf(tab, "kept\t%s, %d KiB\n", cmdline.Count(f.kept, "refused record"), (f.keptBytes+1023)>>10)
	}
	for _, r := range f.peopleRows() {
		fmt.Fprintf(tab, "%s\t%s\n", r[0], r[1])
	}
	if f.held != "" {
		fmt.Fprintf(tab, "held\t%s\n", escape.Message(f.held))
	}
	return tab.Flush()
}
