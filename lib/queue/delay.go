package queue

import (
	"slices"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The keys of the policy whose limits make a task wait. LimitSender lets go of some each hour.
const (
	limitDay      = "limits.max_per_day"
	limitExternal = "limits.max_per_day, of which external senders get half"
	LimitSender   = "limits.per_sender_per_hour"
	limitReply    = "outbound.min_reply_interval"
	limitHold     = "limits.hold_after_yes"
)

// Pace is what the log says of starts, from which follows when a limit keeps a task from
// starting, and when it kept it. It depends on the log's lines, and on which of them are believed.
type Pace struct {
	policy *policy.Policy
	head   string // of the log that it knows
	now    time.Time
	clock  clock.Clock
	since  time.Time // it knows the starts from here on
	starts []begin   // oldest first
	yeses  map[string]time.Time
}

// begin is a start, with the targets that it used up for a while.
type begin struct {
	store.Start
	target []string
}

// delay is a time in which a limit keeps a task from starting.
type delay struct {
	limit    string
	from, to time.Time
}

// PaceOf reads the starts that count against a limit now.
func PaceOf(v store.View, p *policy.Policy, now time.Time) (*Pace, error) {
	return paceOf(v, p, now.Add(-max(store.Window, p.Outbound.MinReplyInterval)), now)
}

// paceOf reads the starts from a time on.
func paceOf(v store.View, p *policy.Policy, since, now time.Time) (*Pace, error) {
	clock, err := ClockOf(v, now)
	if err != nil {
		return nil, err
	}
	c := &Pace{policy: p, head: v.Counts().Head, now: now, clock: clock, since: since, yeses: map[string]time.Time{}}
	restored, ages := map[string]bool{}, clock.Ages(true)
	err = v.Back(func(l audit.Line) bool {
		at := ages.Of(&l)
		c.add(&l, at, restored)
		return !ages.Over(at, clock.Now.Sub(since))
	}, task.Started, task.Approved, task.Requeued, task.Restored, task.GaveUp, audit.ClockJumped)
	slices.SortStableFunc(c.starts, func(a, b begin) int { return a.Time.Compare(b.Time) })
	return c, err
}

// add notes a line of a time. Newer ones were noted before.
func (c *Pace) add(l *audit.Line, at time.Time, restored map[string]bool) {
	switch {
	case restores(l):
		restored[l.Task] = true
	case l.Event == task.Approved, l.Event == task.Requeued:
		if _, known := c.yeses[l.Task]; !known {
			c.yeses[l.Task] = at
		}
	case l.Event == task.Started:
		e := store.EntryOf(l)
		st := begin{store.Start{Time: at, Kind: e.Kind, External: e.External, Sender: e.Sender}, l.Target}
		if restored[l.Task] { // nothing was sent, so nothing has to wait for that
			st.target = nil
			delete(restored, l.Task)
		}
		c.starts = append(c.starts, st)
	}
}

// restores reports whether a line says that what a start was to send was not sent.
func restores(l *audit.Line) bool {
	return l.Event == task.Restored || l.Change.Reason == ReasonNotDone && l.Event == task.GaveUp
}

// delays returns when limits keep a task from starting.
func (c *Pace) delays(s *Stored) []delay {
	e := s.entry()
	var target []string
	if s.Outward() && s.Decision.Action == terms.ExternalSend {
		target = s.Target()
	}
	return c.delaysOf(&e, target)
}

// delaysOf is delays for an entry, and the targets of what is sent outside.
func (c *Pace) delaysOf(e *store.Entry, target []string) (all []delay) {
	add := func(limit string, most int, window time.Duration, counts func(*begin) bool) {
		var in []time.Time
		for i := range c.starts {
			if counts(&c.starts[i]) {
				in = append(in, c.starts[i].Time)
			}
		}
		for i := max(1, most) - 1; i < len(in); i++ {
			if to := in[i-max(1, most)+1].Add(window); in[i].Before(to) {
				all = append(all, delay{limit, in[i], to})
			}
		}
	}
	limits := &c.policy.Limits
	alike := func(st *begin) bool { return st.Kind == e.Kind }
	add(limitDay, limits.MaxPerDay, store.Window, alike)
	if e.External {
		add(limitExternal, new(usage).half(limits.MaxPerDay), store.Window, func(st *begin) bool { return alike(st) && st.External })
	}
	if e.Message {
		add(LimitSender, limits.PerSenderPerHour, time.Hour, func(st *begin) bool { return alike(st) && st.Sender == e.Sender })
	}
	if len(target) > 0 {
		add(limitReply, 1, c.policy.Outbound.MinReplyInterval, func(st *begin) bool { return meets(st.target, target, c.policy.Outbound.Close) })
	}
	return all
}

// entry returns what the limits go by.
func (s *Stored) entry() store.Entry {
	l := s.describe(audit.Line{Task: s.Task.ID, To: s.Task.State, Digest: s.Task.Digest})
	return store.EntryOf(&l)
}

// Until returns which limit keeps a task from starting now, and until when, if it is not used up
// again meanwhile: the limit that does so longest. limit is empty if none does.
func (c *Pace) Until(s *Stored) (limit string, until time.Time) {
	w := c.last(c.delays(s))
	if held := s.heldUntil(&c.policy.Limits, &c.clock); held.After(c.now) && !w.until.After(held) {
		return limitHold, held
	}
	if w.until.After(c.now) {
		return w.limit, w.until
	}
	return "", until
}

// heldUntil returns until when a yes starts nothing, so that the person can think better of it and
// cancel. The time counts from the line of the yes, whenever that was signed elsewhere; of a task
// that waits for one, from now. A yes that was given ahead (a grant) is not held, nor is what is
// started once more. If the clock of the yes was ahead, the hold counts from where that was set back.
func (s *Stored) heldUntil(l *policy.Limits, c *clock.Clock) time.Time {
	switch t := &s.Task; {
	case t.State == task.Awaiting:
		return c.Now.Add(l.HoldAfterYes)
	case t.State == task.Scheduled && (t.Reason == reasonApproved || t.Reason == reasonRequeued):
		return c.Of(t.Since).Add(l.HoldAfterYes)
	}
	return time.Time{}
}

// delayed returns for how long limits have kept a task from starting since a time. Of each start
// a day counts at most, which is all that a server can check that does not have the policy.
func (c *Pace) delayed(s *Stored, since time.Time) (sum time.Duration) {
	all := c.delays(s)
	slices.SortFunc(all, func(a, b delay) int { return a.from.Compare(b.from) })
	done := since
	for _, d := range all {
		from, to := d.from, d.to
		if last := from.Add(store.Window); to.After(last) {
			to = last
		}
		if to.After(c.now) {
			to = c.now
		}
		if from.Before(done) {
			from = done
		}
		if to.After(from) {
			sum, done = sum+to.Sub(from), to
		}
	}
	return sum
}

// paceFrom is paceOf for many tasks, one after the other, of which a run asks.
func (r *Run) paceFrom(v store.View, since, now time.Time) (*Pace, error) {
	if c := r.pace; c != nil && c.head == v.Counts().Head && c.now.Equal(now) && !c.since.After(since) {
		return c, nil
	}
	c, err := paceOf(v, r.Policy, since, now)
	if err == nil {
		r.pace = c
	}
	return c, err
}

// late returns for how long limits have kept a task from starting since a person said yes. A yes
// lapses by the time that was left to it, so that nobody is asked twice only because there were
// too many tasks. It is read from the log only for a yes that would have lapsed otherwise, by a time.
func (r *Run) late(v store.View, s *Stored, a *approval.Approval, by, now time.Time) (time.Duration, error) {
	if by.Before(a.Expires) || by.Sub(a.Expires) > approval.LongestWait {
		return 0, nil
	}
	c, err := r.paceFrom(v, a.Given.Add(-store.Window), now)
	if err != nil {
		return 0, err
	}
	yes, known := c.yeses[s.Task.ID]
	if !known {
		return 0, nil // nobody gave it
	}
	return min(c.delayed(s, yes), approval.LongestWait), nil
}
