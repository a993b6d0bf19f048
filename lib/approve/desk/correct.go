package desk

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"pulse/lib/approve/screen"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// mayCorrect returns nil if a person may correct a task at this desk.
func (d *Desk) mayCorrect(shown *queue.Stored) error {
	if err := shown.Correctable(); err != nil {
		return fault.Refusedf("pulse-approve no "+shown.Task.ID+" --reason 'what is wrong with it'", "%w", err)
	}
	if !d.named {
		return fault.Usagef("--policy FILE, or PULSE_POLICY", "a correction is decided on as a proposal is, and no policy is named")
	}
	if !d.open {
		return fault.Refusedf("pulse-approve correct "+shown.Task.ID, "this walk is confined, and can't start an editor")
	}
	return nil
}

// Correct has a person change what was shown, shows what that changes, and asks for the code. A
// yes to the new effect is recorded, after the old one was refused: the new one waits if the yes
// can't be given any more. It returns the new effect.
func (d *Desk) Correct(shown *queue.Stored) (*queue.Stored, error) {
	if err := d.mayCorrect(shown); err != nil {
		return nil, err
	}
	as, err := d.correction(shown)
	if err != nil {
		return nil, err
	}
	lines := append([]string{screen.Fact("corrects", "task %s, which is refused", shown.Task.ID)},
		screen.Quote("changed", strings.Join(proposal.Difference(shown.Request, as.Request), "\n"))...)
	sheet, err := d.sheetOf(as)
	if err != nil {
		return nil, err
	}
	if err := d.Confirm(append(lines, sheet...), "approve this in its place"); err != nil {
		return nil, err
	}
	return as, d.replace(shown, as)
}

// correction returns the effect that a person makes of another one in an editor.
func (d *Desk) correction(shown *queue.Stored) (*queue.Stored, error) {
	form := proposal.Form(shown.Request)
	text, err := edit(d.Context(), form)
	if err != nil {
		return nil, Unanswered(err)
	}
	p, err := proposal.Correct(shown.Request, text)
	if err != nil {
		return nil, fault.Refusedf("", "%w", err)
	}
	if !bytes.Equal(text, form) { // what a yes is bound to besides its words is found anew, as for a proposal
		p.Args = workspace.Bound(d.Policy, p.Tool, p.Action, p.Args)
		p = proposal.Complete([]proposal.Proposal{p}, d.Policy)[0]
	}
	run := &queue.Run{Policy: d.Policy, World: workspace.World{}}
	as, err := run.Correction(shown, &p, time.Now().Truncate(time.Second))
	if errors.Is(err, queue.ErrUncorrectable) {
		err = fault.Refusedf("", "%w", err)
	}
	return as, err
}

// sheetOf makes the sheet of an effect that is not in the queue yet.
func (d *Desk) sheetOf(s *queue.Stored) (lines []string, err error) {
	c := screen.Case{Now: time.Now(), Policy: d.Policy, Expires: d.Policy.Limits.Expiry(s.Task.Since, s.Task.Told).Sub(s.Task.Since)}
	err = d.Queue.View(func(v store.View) (err error) {
		if err := d.delays(v, s, c.Now); err != nil {
			return err
		}
		if c.Wants, err = d.wants(v, s, c.Now); err != nil {
			return err
		}
		return origins(v, s, &c)
	})
	return screen.Sheet(s, &c), err
}

// replace records a correction, and then the yes to it.
func (d *Desk) replace(shown, as *queue.Stored) error {
	err := queue.Update(d.Queue, func(tx *queue.Tx) error {
		return queue.Correct(tx, shown, as, cmdline.User(), d.Level, time.Now())
	})
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnknown) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	if err != nil {
		return err
	}
	stored, _, err := d.Look(as.Task.ID)
	if err == nil && stored.Task.Digest != as.Task.Digest {
		err = fault.Refusedf("pulse-queue show "+as.Task.ID, "%w: it is not what was shown", store.ErrConflict)
	}
	if err == nil {
		err = d.record(&stored, Question{Agree: true})
	}
	if err != nil {
		return fmt.Errorf("task %s was corrected, and task %s waits in its place: %w", shown.Task.ID, as.Task.ID, err)
	}
	return nil
}
