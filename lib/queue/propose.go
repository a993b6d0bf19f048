package queue

import (
	"errors"
	"slices"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The bounds of all proposals that come from one root task.
const (
	maxDepth  = 3   // proposals of proposals
	maxBudget = 100 // effects, all in all
)

// Proposals holds what a worker wants to be done next.
type Proposals struct {
	List      []proposal.Proposal
	Discarded proposal.Discarded
	Drafts    []terms.Action // of proposals beside which a draft is written; nil: of messages
	Made      []string       // the ids of those that were made; Finish sets it
}

// propose checks what a worker wants against the tasks that there are, and stages the rest
// as its task's outbox, with the line of its end. Earlier proposals that were not taken
// yet stay there.
func (c *Claim) propose(tx *Tx, p *Proposals, limits *policy.Limits, line *audit.Line) error {
	v := vetting{tx: tx, claim: c, line: line, discarded: p.Discarded, same: map[string]int{}}
	old, err := OutboxOf(tx, c.Task.ID)
	if err != nil {
		return err
	}
	if v.waits, err = store.ReadOutbox(old); err == nil { // if it can't be read, verify says so
		v.file = old
	}
	if err := v.begin(); err != nil {
		return err
	}
	fit, closes, err := v.fitting(p.List)
	if err != nil {
		return err
	}
	v.share(len(fit))
	for _, one := range fit {
		if err := v.add(&one, closes > limits.MaxClosesPerRun && one.Tool == proposal.Close); err != nil {
			return err
		}
		if err := v.beside(&one, p.Drafts); err != nil {
			return err
		}
	}
	p.Made = v.made
	if len(v.file) == 0 {
		return nil
	}
	line.Proposed, err = store.ReadOutbox(v.file)
	tx.Stage(store.Outbox, c.Task.ID, v.file)
	return err
}

// vetting checks the proposals of one worker.
type vetting struct {
	tx        *Tx
	claim     *Claim
	root      *Stored // nil: it was pruned
	rootID    string
	line      *audit.Line
	discarded proposal.Discarded
	same      map[string]int // equal requests
	turn      int            // how often its ask went on before
	depth     int
	budget    int              // what is left: of the root, and after share to each of the proposals
	waits     []audit.Proposed // not taken yet
	file      []byte
	made      []string
	audience  audience.Audience
}

func (v *vetting) begin() error {
	if err := v.from(); err != nil {
		return err
	}
	all, err := seen(v.tx, v.root)
	v.audience = v.claim.Audience.Intersect(all)
	return err
}

// from finds the root, and what is left of its budget.
func (v *vetting) from() error {
	who := &v.claim.Identity
	v.rootID, v.root, v.depth, v.budget = v.claim.Task.ID, &v.claim.Stored, 1, maxBudget
	if v.stands() {
		spent, err := v.tx.spent(v.root, v.line.Time.Add(-store.Window))
		v.budget = max(0, v.budget-spent-len(v.waits))
		return err
	}
	if v.claim.goesOn() {
		// What it proposes again is another effect, and not one of those that have ended.
		v.turn = v.claim.Task.Continues + v.claim.Task.Revisions
		spent, err := v.tx.spent(v.root, time.Time{})
		v.budget = max(0, v.budget-spent)
		return err
	}
	if !who.Effect() {
		return nil
	}
	v.rootID, v.depth, v.budget = who.Root, who.Depth+1, who.Budget
	root, err := anywhere(v.tx, who.Root)
	v.root = root
	return err
}

// stands reports whether it is a standing ask that proposes.
func (v *vetting) stands() bool { return v.claim.Standing() != "" }

// anywhere loads a task in whatever state it is. It returns nil if the task is gone, or
// can't be read.
func anywhere(view store.View, id string) (*Stored, error) {
	st, err := view.Where(id)
	if err != nil || st == "" {
		return nil, err
	}
	return readable(view, st, id)
}

// readable loads a task. It returns nil if the task is not in that state, or can't be read: verify
// says so.
func readable(v store.View, st task.State, id string) (*Stored, error) {
	s, err := Load(v, st, id)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil
	}
	return &s, err
}

// fitting returns the proposals that may be made, and how many of them close a task.
func (v *vetting) fitting(list []proposal.Proposal) (fit []proposal.Proposal, closes int, err error) {
	for _, p := range list {
		why, err := v.look(&p, len(fit))
		switch {
		case err != nil:
			return nil, 0, err
		case why != "":
			v.discarded[why]++
			continue
		case p.Tool == proposal.Close:
			closes++
		}
		fit = append(fit, p)
	}
	return fit, closes, nil
}

// look returns why a proposal is discarded, or the empty string.
func (v *vetting) look(p *proposal.Proposal, taken int) (proposal.Reason, error) {
	switch {
	case v.depth > maxDepth:
		return proposal.TooDeep, nil
	case taken >= v.budget:
		return proposal.OverBudget, nil
	case !v.root.named(p.Evidence):
		return proposal.EvidenceUnknown, nil
	case p.Tool == proposal.Close || p.Tool == proposal.Note:
		subject, err := anywhere(v.tx, p.Subject())
		if err != nil {
			return "", err
		}
		return meddles(p.Tool, subject, v.rootID), nil
	}
	return "", nil
}

// meddles returns why an effect of a root must not close a task, or write a note on it, or
// the empty string. subject is nil if the task is not known. A running task is not closed,
// because its worker has it. Nor is an effect that was started, because a person has to
// see what may have happened.
func meddles(tool string, subject *Stored, root string) proposal.Reason {
	switch {
	case subject == nil,
		subject.Task.ID != root && (!subject.Identity.Effect() || subject.Identity.Root != root):
		return proposal.NotItsTask
	case tool != proposal.Close:
		return ""
	case subject.begun() || task.Legal(task.Closed, subject.Task.State, task.Rejected) != nil:
		return proposal.NotLegal
	}
	return ""
}

// begun reports whether it is an effect that reaches the outside and was started.
func (s *Stored) begun() bool { return s.Outward() && s.Task.Attempts+s.Task.Restarts > 0 }

// share divides the budget that is left among the proposals, so that, whatever these
// propose in turn, all together never exceed maxBudget.
func (v *vetting) share(n int) {
	if v.stands() {
		v.budget = 0
	} else if n > 0 {
		v.budget = (v.budget - n) / n
	}
}

// add appends the record of a proposal to the outbox, unless it is there already.
func (v *vetting) add(p *proposal.Proposal, bulk bool) error {
	req := p.Request()
	r, err := request.Decode(record.Value(req))
	if err != nil {
		return err
	}
	canonical, err := r.Canonical()
	if err != nil {
		return err
	}
	who := v.claim.Identity.Proposes()
	who.Labels, who.Parent, who.Root = v.claim.Labels, v.claim.Task.ID, v.rootID
	who.Audience = v.audience
	who.Ordinal, who.Depth, who.Budget, who.Bulk = v.turn*maxBudget+v.same[string(canonical)], v.depth, v.budget, bulk
	v.same[string(canonical)]++
	if v.stands() && p.Tool != proposal.Draft {
		if who.Ordinal, err = v.again(canonical); err != nil {
			return err
		}
	}
	id := task.EffectID(v.rootID, canonical, who.Ordinal)
	v.made = append(v.made, id)
	if v.stands() {
		if now, err := v.tx.Where(id); now != "" || err != nil { // the queue has it already
			return err
		}
	}
	var t, all record.Object
	t.Str("id", id)
	t.Str("kind", string(task.Effect))
	all.Raw(task.Member, t.Bytes())
	all.Raw(request.Member, req)
	all.Raw(identity.Member, who.Append(nil))
	if _, listed, err := store.Without(v.file, id); listed || err != nil {
		return err
	}
	v.file = append(append(v.file, all.Bytes()...), '\n')
	return nil
}

// beside adds the draft of a proposal, if one is written for its action.
func (v *vetting) beside(p *proposal.Proposal, actions []terms.Action) error {
	if actions == nil {
		actions = []terms.Action{terms.ExternalSend}
	}
	if !slices.Contains(actions, p.Action) || proposal.Own(p.Tool) {
		return nil
	}
	draft, ok := p.Draft()
	if !ok {
		v.discarded[proposal.TooLong]++
		return nil
	}
	return v.add(&draft, false)
}

// discard returns the line that says how many proposals were discarded, and why.
func discard(id string, why proposal.Reason, n int, change task.Change) audit.Line {
	l := audit.Line{Time: change.Since, Event: audit.Discarded, Task: id, Count: n}
	l.Change.Reason = string(why)
	return l
}
