package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// outcomesMember is the member of a worker's record that says how effects ended which were
// proposed before for the same sender's asks in the same conversation.
const outcomesMember = "outcomes"

// Ending is how an effect ended, or where it stands.
type Ending string

// The endings.
const (
	isProposed  Ending = "proposed" // nobody has decided on it yet: it is in the outbox
	isWaiting   Ending = "waiting"  // for a person or, if it needs none, for its worker
	isApproved  Ending = "approved" // a person said yes, and it has not ended
	isRefused   Ending = "refused"  // by a person or by the policy
	isExpired   Ending = "expired"
	isSent      Ending = "sent" // an external_send is done
	isDone      Ending = "done" // anything else is
	isFailed    Ending = "failed"
	isNotDone   Ending = "not_done" // its sender says that it did not happen, and will not
	isUnknown   Ending = "unknown"  // it may have happened
	isClosed    Ending = "closed"   // by an agent
	isCancelled Ending = "cancelled"
)

// Outcome is how one effect ended. It has nothing of the effect's text.
type Outcome struct {
	Task   string
	Action terms.Action
	Tool   string   // empty if its file is gone, or if no person agreed to it
	Target []string // nil likewise
	Ending Ending
	Reason string    // of a refusal: the person's words, or the reason of the policy; what its sender said
	At     time.Time // in whole seconds
	Result string    // of an effect of this ask: what carrying it out came to
	root   string    // of the task that it was proposed for
	came   time.Time // when it was added or refused
}

// append appends o as an object.
func (o *Outcome) append(dst []byte) []byte {
	var out record.Object
	out.Str("task", o.Task)
	out.StrIf("action", string(o.Action))
	out.StrIf("tool", o.Tool)
	out.StrsIf("target", o.Target)
	out.Str("outcome", string(o.Ending))
	out.StrIf("reason", o.Reason)
	out.Time("at", o.At)
	out.StrIf("result", o.Result)
	return append(dst, out.Bytes()...)
}

func appendOutcomes(dst []byte, list []Outcome) []byte {
	return record.List(dst, list, (*Outcome).append)
}

// The bounds of what is told: the newest come first.
const (
	maxOutcomes = 50
	maxLoaded   = 16 << 20            // bytes of files of effects
	maxTold     = 90 * 24 * time.Hour // before an answer came in
)

// Past is what the worker of an ask is told of effects that were proposed before, from PastOf.
type Past struct {
	Outcomes []Outcome // oldest first
	told     told
	since    time.Time // of the transition of the ask after which this was read
	last     string    // prev of the last line that was read; as in Anew
}

// PastOf returns how the effects ended that were proposed before for an ask, those of the ask
// itself if it is started anew, and those of other asks in its conversation whose proven sender
// is the same. For most asks there can be none, which costs little to find out. Otherwise it
// reads the log, from the conversation's first task on, without a lock.
//
// A yes is to what was shown: if a task waits for one, or has one, its worker is told only what
// the log had when the task came to wait or was requeued. The line of that is all that a signed
// yes from elsewhere is bound to besides the task's file.
func PastOf(s store.Store, id string) (*Past, error) { return pastOf(s, id, "") }

// pastOf is PastOf, which tells of one effect alone if only names it.
func pastOf(s store.Store, id, only string) (*Past, error) {
	p := &Past{}
	var lines store.Lines
	err := s.View(func(v store.View) (err error) {
		*p, lines = Past{}, nil
		if hears, err := p.begin(v, id); !hears || err != nil {
			return err
		}
		if lines, err = v.Lines(p.told.since, p.told.wants); err != nil {
			return err
		}
		return v.Back(func(l audit.Line) bool {
			p.last = l.Prev
			return false
		})
	})
	if err == nil && lines != nil {
		err = lines(p.told.add)
	}
	if err != nil {
		return nil, err
	}
	if p.told.bound {
		p.told.order = p.told.shown
	}
	if only != "" {
		p.told.order = slices.DeleteFunc(p.told.order, func(h *heard) bool { return h.Task != only })
	}
	p.Outcomes, err = p.told.newest(s)
	return p, err
}

// Tell gives s what its worker is told, and with it the labels of every root that some of this
// comes from, and no larger audience: what one root has read may stand in what it proposed.
func (p *Past) Tell(v store.View, s *Stored) error {
	if err := p.narrow(v, s); err != nil {
		return err
	}
	if s.Outcomes, s.past = p.Outcomes, p; len(p.Outcomes) == 0 {
		return nil
	}
	done := map[string]bool{s.Task.ID: true}
	for i := range p.Outcomes {
		root := p.Outcomes[i].root
		if done[root] {
			continue
		}
		done[root] = true
		labels, err := LabelsOf(v, root, p.told.asks[root])
		if err != nil {
			return err
		}
		s.Labels = s.Labels.Union(labels)
	}
	return nil
}

// narrow leaves to the audience of s those who have seen every ask of which it was ever told: its
// client may remember what is not among the newest any more.
func (p *Past) narrow(v store.View, s *Stored) error {
	done := map[string]bool{s.Task.ID: true}
	for _, h := range p.told.order {
		if done[h.root] {
			continue
		}
		done[h.root] = true
		ask, err := anywhere(v, h.root)
		if err != nil {
			return err
		}
		all, err := seen(v, ask)
		if err != nil {
			return err
		}
		s.Audience = s.Audience.Intersect(all)
	}
	return nil
}

// unchanged returns ErrConflict if what the worker of an ask is told has changed since it was
// shown.
func (p *Past) unchanged(tx *Tx) (err error) {
	if p == nil || p.last == "" {
		return nil
	}
	back := tx.Back(func(l audit.Line) bool {
		read := l.Prev == p.last
		if !read && p.told.wants(l.Append(nil)) {
			err = fmt.Errorf("%w: what its worker is told has changed since it was shown", store.ErrConflict)
		}
		return err == nil && !read
	})
	return errors.Join(err, back)
}

// errPast asks Update to read what an ask is told, which takes too long for an Update.
type errPast string

func (id errPast) Error() string { return "queue: " + string(id) + ": its past is not read yet" }

// tell tells an ask that is about to be started what there is to tell.
func (t *Tx) tell(s *Stored, yes bool) error {
	if s.Kind() != task.Ask || !yes && !s.goesOn() && (s.Task.Thread == "" || !s.Identity.Verified) {
		return nil
	}
	p := t.pasts[s.Task.ID]
	if p == nil || !p.since.Equal(s.Task.Since) {
		return errPast(s.Task.ID)
	}
	return p.Tell(t, s)
}

// told collects what the log says about the effects of a conversation.
type told struct {
	thread, sender string // thread is empty for an ask that answers nothing
	since          time.Time
	id             string                 // of the ask that is told
	bound          bool                   // to what was shown: it waits for a yes, or has one
	asks           map[string]terms.Trust // and how far their senders were proven
	effects        map[string]*heard
	order          []*heard
	shown          []*heard // order as it was when the ask came to wait, or was requeued
}

// heard is an effect of which the log tells.
type heard struct {
	Outcome
	outward bool
	begun   bool // an attempt may have happened, and no later end takes that back
	agreed  bool // a person said yes to it and its targets
}

// begin reports whether there may be something to tell for an ask.
func (p *Past) begin(v store.View, id string) (bool, error) {
	t := &p.told
	s, err := Find(v, id)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) || err == nil && s.Kind() != task.Ask {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	yes, err := v.Has(store.Approvals, id)
	if err != nil {
		return false, err
	}
	stands := s.Standing() != ""
	p.since, t.id, t.bound = s.Task.Since, id, (yes || s.Task.State == task.Awaiting) && !stands
	t.asks, t.effects, t.since = map[string]terms.Trust{id: s.Identity.Trust}, map[string]*heard{}, s.Task.Created
	if s.Task.Thread == "" || !s.Identity.Verified {
		if first := s.Task.Since.Add(-maxTold); stands && first.After(t.since) { // it may be years old
			t.since = first
		}
		// Nothing that ended is started again without a yes.
		return yes || stands || s.goesOn() || !s.Task.State.Open(), nil
	}
	t.thread, t.sender, t.since = s.Task.Thread, s.Identity.Sender, s.Task.Created.Add(-maxTold)
	first, err := anywhere(v, t.thread)
	if first != nil && first.Task.Created.After(t.since) {
		t.since = first.Task.Created
	}
	return true, err
}

// wants reports whether a line of the log may say something, before it is parsed.
func (t *told) wants(raw []byte) bool {
	if id := string(member(raw, `"task":"`)); id != "" && (t.effects[id] != nil || id == t.thread || id == t.id) {
		return true
	}
	if id := member(raw, `"parent":"`); t.effects[string(id)] != nil || t.asks[string(id)] != "" {
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
	case l.Task == t.id && (l.To == task.Awaiting || l.Event == task.Requeued):
		t.shown = nil
		for _, h := range t.order {
			was := *h
			t.shown = append(t.shown, &was)
		}
	case h != nil:
		h.add(l)
	case enters && l.Kind == task.Effect && (t.asks[l.Parent] != "" || t.effects[l.Parent] != nil):
		h = &heard{Outcome: Outcome{Task: l.Task, Action: l.Action, root: l.Parent, came: l.Time}, outward: l.Action.Outward()}
		if by := t.effects[l.Parent]; by != nil {
			h.root = by.root
		}
		h.add(l)
		t.effects[l.Task], t.order = h, append(t.order, h)
	case enters && l.Kind == task.Ask && t.sameSender(l):
		t.asks[l.Task] = l.Trust
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
	h.agreed = h.agreed || agreed(l)
	ending, reason := h.ending(l)
	if ending == "" {
		return
	}
	switch ending {
	case isUnknown:
		h.begun = true
	case isSent, isDone:
		h.begun = h.outward
	case isWaiting, isApproved:
	default:
		if h.begun {
			ending = isUnknown
		}
	}
	h.Ending, h.Reason, h.At = ending, reason, l.Time.UTC().Truncate(time.Second)
}

// agreed reports whether a line is a person's yes to an effect, whose targets they knew. A grant
// for any target was given by someone who did not.
func agreed(l *audit.Line) bool {
	if l.Approval == nil || l.Event != task.Approved && l.Event != task.Requeued {
		return false
	}
	return !slices.ContainsFunc(l.Approval.Grants, func(g approval.Grant) bool { return g.Target == "" })
}

// ending returns what a line alone says about an effect, "" if nothing.
func (h *heard) ending(l *audit.Line) (e Ending, reason string) {
	inside := l.From == task.Running && h.outward // nobody saw how far it had come
	switch {
	case l.Event == task.Refused, l.Event == task.Denied, l.Event == task.Dropped:
		return isRefused, l.Change.Reason
	case l.Event == task.Expired:
		return isExpired, ""
	case l.Event == task.Closed:
		return isClosed, ""
	case l.Event == task.Undecided, l.Event == task.Cancelled && inside, l.Event == task.Broke && inside:
		return isUnknown, ""
	case l.Event == task.Learned && l.Change.Reason == ReasonUnknownEffect:
		return isUnknown, ""
	case l.Event == task.Learned && l.To == task.Rejected:
		return isRefused, l.Change.Reason
	case l.Event == task.Cancelled:
		return isCancelled, ""
	case l.To == task.Awaiting, l.To.Open() && !h.outward:
		return isWaiting, ""
	case l.To.Open():
		return isApproved, ""
	case l.To == task.Completed && l.Action == terms.ExternalSend:
		return isSent, ""
	case l.To == task.Completed:
		return isDone, ""
	case l.To == task.Failed && l.Change.Reason == ReasonNotDone:
		if l.End != nil {
			reason = l.End.Said
		}
		return isNotDone, reason
	case l.To == task.Failed, l.To == task.Corrupt:
		return isFailed, ""
	}
	return "", ""
}

// goesOn reports whether an ask was started again, so that it is told how its own effects ended.
func (s *Stored) goesOn() bool { return s.Task.Continues+s.Task.Revisions > 0 }

// The bounds of what is told of the result of one effect, and of all, in bytes.
const (
	maxTellResult  = 32 << 10
	maxTellResults = 256 << 10
)

// resultOf returns the beginning of what an effect came to.
func resultOf(v store.View, id string) (string, error) {
	b, err := ResultOf(v, id)
	return strings.ToValidUTF8(string(b[:min(len(b), maxTellResult)]), "\ufffd"), err
}

// newest loads what the log does not have, and returns the newest outcomes.
func (t *told) newest(s store.Store) (list []Outcome, err error) {
	size, results := 0, 0
	for _, h := range slices.Backward(t.order) {
		one := h.Outcome
		tool := ""
		err := s.View(func(v store.View) error {
			one.Target, tool = nil, ""
			if one.root != t.id && one.Ending == isNotDone { // what its sender said is for its own agent
				one.Reason = ""
			}
			file, err := anywhere(v, one.Task)
			if file == nil || err != nil {
				return err
			}
			size += len(file.File)
			if h.agreed {
				one.Target = file.Target()
			}
			if one.Result = ""; one.root == t.id && results < maxTellResults {
				if one.Result, err = resultOf(v, one.Task); err != nil {
					return err
				}
			}
			if file.Request != nil {
				tool = file.Request.Tool
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		results += len(one.Result)
		if tool == proposal.Draft { // pulse proposes these, one with each message
			continue
		}
		if len(list) == maxOutcomes || size > maxLoaded {
			break
		}
		if h.agreed {
			one.Tool = tool
		}
		list = append(list, one)
	}
	slices.Reverse(list)
	return list, nil
}
