// Package desk is where a person answers. It shows a task on the terminal, asks for the
// code, and records the answer with what proves it: at level user the account that
// wrote the file, at level signature a key (pulse-approve(1), LEVELS). It also says
// whether these levels prove anything on this machine, and refuses to act inside a run.
//
// Invariant: an answer is recorded only for what was shown at this desk, and only if
// the task is still that. Caveat: at level terminal the proof is a terminal, which
// another program of the same account can have, too.
package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approval"
	"pulse/lib/cmdline"
	"pulse/lib/decision"
	"pulse/lib/fault"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/screen"
	"pulse/lib/spool"
	"pulse/lib/tty"
	"pulse/lib/workspace"
)

// Desk is where a person answers: a queue, a terminal, and the policy that applies.
type Desk struct {
	Queue    *spool.Spool
	Terminal *tty.Terminal
	Policy   *policy.Policy
	Level    approval.Level // what is proven of the person, without a key
	named    bool           // the policy comes from a file
	pen      *pen           // nil: a yes need not be signed
	c        *cli.Context
}

// Sit opens the queue and the terminal of a person, and makes sure that the level
// that can be proven of the person is enough for the policy. Inside a run, or
// without a terminal, it is refused.
func Sit(c *cli.Context, a Answer) (*Desk, error) {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return nil, err
	}
	pen, err := penFor(c, p, a)
	if err != nil {
		return nil, err
	}
	s, err := cmdline.Queue(c)
	if err != nil {
		return nil, err
	}
	level := LevelOf(s)
	if err := errors.Join(s.Writable(), RefuseInside(c.String("queue")), enough(p, s, a)); err != nil {
		s.Close()
		return nil, err
	}
	t, err := tty.Open()
	if err != nil {
		s.Close()
		return nil, fault.Refusedf("run it at a terminal: there is no other way to say yes", "%w", err)
	}
	if err := confineDesk(c, p, pen); err != nil {
		s.Close()
		t.Close()
		return nil, err
	}
	return &Desk{s, t, p, level, c.String("policy") != "", pen, c}, nil
}

// confineDesk gives up all but the queue and what decisions look at, while the terminal
// is open; but not where a yes is signed, by a program that needs more.
func confineDesk(c *cli.Context, p *policy.Policy, pen *pen) error {
	if pen != nil {
		return cmdline.Unconfined(c, "a yes that is signed starts ssh-keygen")
	}
	_, err := cmdline.ConfineToQueue(c, cmdline.Named(p)...)
	return err
}

// Close closes queue and terminal.
func (d *Desk) Close() {
	d.Queue.Close()
	d.Terminal.Close()
}

// Context ends when the command is to end.
func (d *Desk) Context() context.Context { return d.c.Context }

// Confirm shows lines to their end, page by page, and returns nil if a person then
// typed the fresh code. verb completes "type the code to …". If the process was stopped
// before the code was typed, all is shown again, with another code.
func (d *Desk) Confirm(lines []string, verb string) error {
	pages := screen.NewPages(lines)
	for {
		err := d.Terminal.Show(d.Context(), pages, true)
		if err == nil {
			err = d.Terminal.Code(d.Context(), verb)
		}
		if !errors.Is(err, tty.ErrResumed) {
			return Unanswered(err)
		}
	}
}

// Code returns nil if a person typed the fresh code.
func (d *Desk) Code(verb string) error { return Unanswered(d.Terminal.Code(d.Context(), verb)) }

// Unanswered makes it a refusal of the gate that nobody answered.
func Unanswered(err error) error {
	if err == nil {
		return nil
	}
	return fault.Refusedf("", "%w", err)
}

// Question is one about a task.
type Question struct {
	Verb    string                              // completes "type the code to …"
	May     func(*queue.Stored) error           // whether there is anything to ask
	Caution func(*queue.Stored) string          // what to be told last; nil or empty: nothing
	Record  func(queue.Tx, *queue.Stored) error // must make sure that the task is what was shown

	// Yes is Record for a yes, which is signed before where the policy requires it.
	Yes func(queue.Tx, *queue.Stored, approval.Approval) error
}

// Each asks about one task after the other, and ends at the first that was not answered;
// what was answered before stays so. Nothing is asked while one of them is unknown, or
// there is nothing to ask about it.
func (d *Desk) Each(ids []string, q Question) error {
	for _, id := range ids {
		if err := d.may(id, q); err != nil {
			return Unknown(err)
		}
	}
	for _, id := range ids {
		if err := d.Ask(id, q); err != nil {
			return err
		}
	}
	return nil
}

// may reports whether there is anything to ask about the task that an id names.
func (d *Desk) may(id string, q Question) error {
	id, err := queue.Whole(d.Queue, id)
	if err != nil {
		return err
	}
	return d.Queue.View(func(v queue.View) error {
		s, err := queue.Find(v, id)
		if err != nil {
			return err
		}
		return q.May(&s)
	})
}

// Ask shows the task that an id names, asks, and records the answer.
func (d *Desk) Ask(id string, q Question) error {
	shown, lines, err := d.Look(id)
	if err != nil {
		return err
	}
	if err := q.May(&shown); err != nil {
		return err
	}
	if q.Caution != nil {
		if text := q.Caution(&shown); text != "" {
			lines = append(lines, screen.Fact("caution", "%s", text))
		}
	}
	if err := d.Confirm(lines, q.Verb); err != nil {
		return err
	}
	return d.Record(&shown, q)
}

// Settle asks for the code to an answer to what was shown, and records it.
func (d *Desk) Settle(shown *queue.Stored, q Question) error {
	if err := d.Code(q.Verb); err != nil {
		return err
	}
	return d.Record(shown, q)
}

// Record records an answer. If the task is not what was shown any more, that is a
// refusal, and the error holds queue.ErrConflict or why it can't be read.
func (d *Desk) Record(shown *queue.Stored, q Question) error {
	record := q.Record
	if q.Yes != nil {
		yes := queue.Yes(shown, cmdline.User(), d.Level, time.Now())
		if err := d.sign(&yes); err != nil {
			return err
		}
		record = func(tx queue.Tx, shown *queue.Stored) error { return q.Yes(tx, shown, yes) }
	}
	err := d.Queue.Update(func(tx queue.Tx) error {
		if err := unmoved(tx, shown); err != nil {
			return err
		}
		return record(tx, shown)
	})
	if errors.Is(err, queue.ErrConflict) || errors.Is(err, queue.ErrCorrupt) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	return err
}

// unmoved makes sure that a task did not leave its state and come back: its bytes are
// the same then, and what was shown of it is not.
func unmoved(tx queue.Tx, shown *queue.Stored) error {
	now, err := tx.Load(shown.Task.State, shown.Task.ID)
	switch {
	case errors.Is(err, queue.ErrUnknown): // it is elsewhere: Record says where
		return nil
	case err == nil && !now.Task.Since.Equal(shown.Task.Since):
		return fmt.Errorf("%w: the task was answered, and is %s again (%s)", queue.ErrConflict, now.Task.State, now.Task.Reason)
	}
	return err
}

// Look loads the task that an id names, and makes the sheet that a person reads.
func (d *Desk) Look(id string) (shown queue.Stored, lines []string, err error) {
	if id, err = queue.Whole(d.Queue, id); err != nil {
		return shown, nil, Unknown(err)
	}
	err = d.Queue.View(func(v queue.View) (err error) {
		if shown, err = queue.Find(v, id); err != nil {
			return err
		}
		c := screen.Case{Now: time.Now(), Expires: d.Policy.Limits.ReviewExpires}
		if err := origins(v, &shown, &c); err != nil {
			return err
		}
		c.Today = d.today(&shown)
		lines = screen.Sheet(&shown, &c)
		return nil
	})
	return shown, lines, Unknown(err)
}

// origins finds the tasks that an effect says it comes from.
func origins(v queue.View, s *queue.Stored, c *screen.Case) (err error) {
	who := &s.Identity
	if !who.Effect() {
		return nil
	}
	if c.Root, err = origin(v, who.Root); err != nil || who.Parent == who.Root {
		return err
	}
	c.Parent, err = origin(v, who.Parent)
	return err
}

func origin(v queue.View, id string) (*screen.Origin, error) {
	o := &screen.Origin{ID: id}
	st, err := v.State(id)
	if err != nil || st == "" {
		return o, err
	}
	s, err := v.Load(st, id)
	if err != nil && !errors.Is(err, queue.ErrCorrupt) {
		return o, err
	}
	o.Stored = &s
	return o, nil
}

// today returns what the policy makes of a task, nil where none was named.
func (d *Desk) today(s *queue.Stored) *decision.Decision {
	if !d.named {
		return nil
	}
	made := (&queue.Run{Policy: d.Policy, World: workspace.World{}}).Decide(s)
	return &made
}

// Unknown gives the error of a task that nobody knows its hint.
func Unknown(err error) error {
	if errors.Is(err, queue.ErrUnknown) {
		return fault.Failedf("pulse-queue list --all", "%w", err)
	}
	return err
}
