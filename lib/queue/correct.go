package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// correctedAs begins the reason of an effect that a person corrected. The id of the effect that
// took its place follows.
const correctedAs = "corrected as "

// ErrUncorrectable means that a person can't put another effect in the place of one.
var ErrUncorrectable = errors.New("it can't be corrected")

// Correctable returns nil if a person may put another effect in the place of s: one that waits,
// and of which nothing can have happened.
func (s *Stored) Correctable() error {
	switch {
	case s.Request == nil || s.Kind() != task.Effect || proposal.Own(s.Request.Tool):
		return fmt.Errorf("%w: only what an agent wants to do outside of the queue can", ErrUncorrectable)
	case s.Task.State != task.Awaiting:
		return fmt.Errorf("%w: it is %s", ErrUncorrectable, s.Task.State)
	case s.begun() || s.Task.Reason == ReasonUnknownEffect || s.Task.Reason == ReasonRestored:
		return fmt.Errorf("%w: it may have happened", ErrUncorrectable)
	}
	return nil
}

// Correction returns the effect that would stand in the place of another: what a person proposes,
// for the same root and under the same checks as what an agent proposes. Its file is made, and a
// yes can be given to it once Correct has put it there.
func (r *Run) Correction(of *Stored, p *proposal.Proposal, now time.Time) (*Stored, error) {
	if err := of.Correctable(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.rows(of), func(row policy.ApprovalRow) bool { return row.NotAuthor }) {
		return nil, fmt.Errorf("%w: whoever corrects it is its author, and the policy wants somebody else's yes (not_author)", ErrUncorrectable)
	}
	for _, t := range p.Target {
		if !slices.ContainsFunc(of.Target(), func(old string) bool { return r.Policy.Outbound.Same(old, t) }) && !r.Policy.Outbound.Lists(t) {
			return nil, fmt.Errorf("%w: outbound.allow does not list %s, and a correction adds no other target", ErrUncorrectable, t)
		}
	}
	raw, err := of.Record.Get(identity.Member)
	if err != nil {
		return nil, err
	}
	req, err := request.Decode(record.Value(p.Request()))
	if err != nil {
		return nil, err
	}
	if bytes.Equal(proposal.Form(&req), proposal.Form(of.Request)) {
		return nil, fmt.Errorf("%w: nothing was changed", ErrUncorrectable)
	}
	made := Content{Request: &req, Identity: of.Identity}
	id, err := made.ID()
	if err != nil {
		return nil, err
	}
	who := of.Who()
	d := decision.Decide(r.input(&made, &who))
	if d.Outcome == terms.Reject {
		return nil, fmt.Errorf("%w: today's policy rejects it by %s: %s", ErrUncorrectable, d.Rule, d.Why)
	}
	d.Count = max(d.Count, of.Decision.Count) // the very people who had to say yes still have to
	return corrected(of, id, p.Request(), []byte(raw), &d, now)
}

// corrected returns the stored effect.
func corrected(of *Stored, id string, req, who []byte, d *decision.Decision, now time.Time) (*Stored, error) {
	t := task.Task{ID: id, Kind: task.Effect, State: task.Awaiting, Created: now.UTC()}
	var all record.Object
	all.Raw(request.Member, req)
	all.Raw(identity.Member, who)
	all.Raw(decision.Member, d.Append(nil))
	file := append(record.AppendMember(nil, all.Bytes(), task.Member, t.AppendFixed(nil)), '\n')
	s := &Stored{Task: t, Labels: of.Labels}
	if err := s.Parse(file); err != nil {
		return nil, err
	}
	s.Began, s.Audience = of.Began, of.Audience
	s.Task.Change = task.Change{Since: t.Created, Reason: string(d.Reason)}
	return s, nil
}

// Correct puts an effect in the place of another one that was shown, which is refused: both, or
// none of it.
func Correct(tx *Tx, of, as *Stored, by string, level approval.Level, now time.Time) error {
	if err := Deny(tx, of, by, level, correctedAs+as.Task.ID, now); err != nil {
		return err
	}
	known, err := tx.Where(as.Task.ID)
	if err == nil && known == "" {
		known, err = PrunedOf(tx, as.Task.ID)
	}
	if err != nil {
		return err
	}
	if known != "" {
		return fmt.Errorf("%w: the very same effect was there before, and is %s", store.ErrConflict, known)
	}
	line := as.describe(audit.Line{
		Time: now.UTC(), Event: task.Added, Task: as.Task.ID, To: task.Awaiting, Digest: as.Task.Digest, Change: as.Task.Change,
	})
	line.Change.Since, line.By, line.Level = now.UTC(), by, level
	return tx.Add(as.File, line)
}
