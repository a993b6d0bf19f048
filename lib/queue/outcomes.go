package queue

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"pulse/lib/queue/proposal"
	"pulse/lib/shared/address"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// OutcomesMember is the member of a worker's record that says how effects ended which were
// proposed before for the same sender's asks in the same conversation.
const OutcomesMember = "outcomes"

// Ending is how an effect ended, or where it stands.
type Ending string

// The endings.
const (
	IsWaiting   Ending = "waiting"  // for a person or, if it needs none, for its worker
	IsApproved  Ending = "approved" // a person said yes, and it has not ended
	IsRefused   Ending = "refused"  // by a person or by the policy
	IsExpired   Ending = "expired"
	IsSent      Ending = "sent" // an external_send is done
	IsDone      Ending = "done" // anything else is
	IsFailed    Ending = "failed"
	IsNotDone   Ending = "not_done" // its sender says that it did not happen, and will not
	IsUnknown   Ending = "unknown"  // it may have happened
	IsClosed    Ending = "closed"   // by an agent
	IsCancelled Ending = "cancelled"
)

// Outcome is how one effect ended. It has nothing of the effect's text.
type Outcome struct {
	Task   string
	Action terms.Action
	Tool   string   // empty if its file is gone
	Target []string // nil if its file is gone
	Ending Ending
	Reason string    // of a refusal: the person's words, or the reason of the policy
	At     time.Time // in whole seconds
}

// append appends o as an object.
func (o *Outcome) append(dst []byte) []byte {
	var out record.Object
	out.Str("task", o.Task)
	out.Str("action", string(o.Action))
	out.StrIf("tool", o.Tool)
	if len(o.Target) > 0 {
		out.Strs("target", o.Target)
	}
	out.Str("outcome", string(o.Ending))
	out.StrIf("reason", o.Reason)
	out.Time("at", o.At)
	return append(dst, out.Bytes()...)
}

func appendOutcomes(dst []byte, list []Outcome) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].append(dst)
	}
	return append(dst, ']')
}

// The bounds of what is told: the newest come first.
const (
	maxOutcomes = 50
	maxLoaded   = 16 << 20            // bytes of files of effects
	maxTold     = 90 * 24 * time.Hour // before an answer came in
)

// OutcomesOf returns how the effects ended that were proposed before for an ask, oldest
// first: those of the ask itself if it is started anew, and those of other asks in its
// conversation whose proven sender is the same. For most asks there can be none, which
// costs little to find out. Otherwise it reads the log, from the conversation's first task
// on, without a lock.
func OutcomesOf(s Store, id string) ([]Outcome, error) {
	var t told
	var lines Lines
	err := s.View(func(v View) (err error) {
		t, lines = told{}, nil
		if hears, err := t.begin(v, id); !hears || err != nil {
			return err
		}
		lines, err = v.Lines(t.since, t.wants)
		return err
	})
	if err == nil && lines != nil {
		err = lines(t.add)
	}
	if err != nil {
		return nil, err
	}
	return t.newest(s)
}

// HasPast reports whether there may be outcomes to tell for a task that was just claimed: it
// is an ask that answers something, or that has a yes and so may have been done before.
func (c *Claim) HasPast() bool {
	return c.Kind() == task.Ask && (c.Task.Thread != "" && c.Identity.Verified || c.Approval != nil)
}

// told collects what the log says about the effects of a conversation.
type told struct {
	thread, sender string // thread is empty for an ask that answers nothing
	since          time.Time
	asks           map[string]bool
	effects        map[string]*heard
	order          []*heard
}

// heard is an effect of which the log tells.
type heard struct {
	Outcome
	outward bool
	begun   bool // an attempt may have happened, and no later end takes that back
}

// begin reports whether there may be something to tell for an ask.
func (t *told) begin(v View, id string) (bool, error) {
	s, err := Find(v, id)
	if errors.Is(err, ErrUnknown) || errors.Is(err, ErrCorrupt) || err == nil && s.Kind() != task.Ask {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	t.asks, t.effects, t.since = map[string]bool{id: true}, map[string]*heard{}, s.Task.Created
	if s.Task.Thread == "" || !s.Identity.Verified {
		return again(v, &s)
	}
	t.thread, t.sender, t.since = s.Task.Thread, s.Identity.Sender, s.Task.Created.Add(-maxTold)
	first, err := anywhere(v, t.thread)
	if first != nil && first.Task.Created.After(t.since) {
		t.since = first.Task.Created
	}
	return true, err
}

// again reports whether an ask may have been done before: it ended, or it has the yes
// without which nothing that ended is started again.
func again(v View, s *Stored) (bool, error) {
	if !s.Task.State.Open() {
		return true, nil
	}
	return v.Has(Approvals, s.Task.ID)
}

// wants reports whether a line of the log may say something, before it is parsed.
func (t *told) wants(raw []byte) bool {
	if id := member(raw, `"task":"`); t.effects[string(id)] != nil || string(id) == t.thread {
		return true
	}
	if id := member(raw, `"parent":"`); t.effects[string(id)] != nil || t.asks[string(id)] {
		return true
	}
	return t.thread != "" && string(member(raw, `"thread":"`)) == t.thread
}

// member returns the id that stands after name, or nil.
func member(raw []byte, name string) []byte {
	const length = 32
	if i := bytes.Index(raw, []byte(name)); i >= 0 && len(raw) >= i+len(name)+length {
		return raw[i+len(name):][:length]
	}
	return nil
}

// add notes a line. A task comes after those that it belongs to.
func (t *told) add(_ []byte, l *audit.Line) error {
	enters := l.Event == task.Added || l.Event == task.Refused
	switch h := t.effects[l.Task]; {
	case h != nil:
		h.add(l)
	case enters && l.Kind == task.Effect && (t.asks[l.Parent] || t.effects[l.Parent] != nil):
		h = &heard{Outcome: Outcome{Task: l.Task, Action: l.Action}, outward: l.Action.Outward()}
		h.add(l)
		t.effects[l.Task], t.order = h, append(t.order, h)
	case enters && l.Kind == task.Ask && t.sameSender(l):
		t.asks[l.Task] = true
	}
	return nil
}

// sameSender reports whether an ask of the conversation has the same proven sender. Only
// what a proven sender wrote is linked; the first ask is not an answer.
func (t *told) sameSender(l *audit.Line) bool {
	proven := l.Link.Thread == t.thread || l.Task == t.thread && slices.Contains(provenTrusts, l.Trust)
	return t.thread != "" && proven && address.Equal(l.Sender, t.sender)
}

// provenTrusts lists the levels of senders of mail who are proven.
var provenTrusts = []terms.Trust{terms.ExternalVerified, terms.OwnerVerifiedEmail, terms.ApprovedSession}

// add notes what happened to the effect.
func (h *heard) add(l *audit.Line) {
	ending, reason := h.ending(l)
	if ending == "" {
		return
	}
	switch ending {
	case IsUnknown, IsSent, IsDone:
		h.begun = h.outward
	case IsWaiting, IsApproved:
	default:
		if h.begun {
			ending = IsUnknown
		}
	}
	h.Ending, h.Reason, h.At = ending, reason, l.Time.UTC().Truncate(time.Second)
}

// ending returns what a line alone says about an effect, "" if nothing.
func (h *heard) ending(l *audit.Line) (e Ending, reason string) {
	inside := l.From == task.Running && h.outward // nobody saw how far it had come
	switch {
	case l.Event == task.Refused, l.Event == task.Denied, l.Event == task.Dropped:
		return IsRefused, l.Change.Reason
	case l.Event == task.Expired:
		return IsExpired, ""
	case l.Event == task.Closed:
		return IsClosed, ""
	case l.Event == task.Undecided, l.Event == task.Cancelled && inside, l.Event == task.Broke && inside:
		return IsUnknown, ""
	case l.Event == task.Learned && l.Change.Reason == ReasonUnknownEffect:
		return IsUnknown, ""
	case l.Event == task.Learned && l.To == task.Rejected:
		return IsRefused, l.Change.Reason
	case l.Event == task.Cancelled:
		return IsCancelled, ""
	case l.To == task.Awaiting, l.To.Open() && !h.outward:
		return IsWaiting, ""
	case l.To.Open():
		return IsApproved, ""
	case l.To == task.Completed && l.Action == terms.ExternalSend:
		return IsSent, ""
	case l.To == task.Completed:
		return IsDone, ""
	case l.To == task.Failed && l.Change.Reason == ReasonNotDone:
		return IsNotDone, ""
	case l.To == task.Failed, l.To == task.Corrupt:
		return IsFailed, ""
	}
	return "", ""
}

// newest loads what the log does not have, and returns the newest outcomes.
func (t *told) newest(s Store) (list []Outcome, err error) {
	size := 0
	for _, h := range slices.Backward(t.order) {
		one := h.Outcome
		tool := ""
		err := s.View(func(v View) error {
			one.Target, tool = nil, ""
			file, err := anywhere(v, one.Task)
			if file == nil || err != nil {
				return err
			}
			size += len(file.File)
			one.Target = file.Target()
			if file.Request != nil {
				tool = file.Request.Tool
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if tool == proposal.Draft { // pulse proposes these, one with each message
			continue
		}
		if len(list) == maxOutcomes || size > maxLoaded {
			break
		}
		one.Tool = tool
		list = append(list, one)
	}
	slices.Reverse(list)
	return list, nil
}
