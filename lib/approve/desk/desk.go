// Package desk is where a person answers. It shows a task on the terminal, asks for the
// code, and records the answer with what proves it: at level user the account that
// wrote the file, at level signature a key (pulse-levels(7)). It also says
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

	"pulse/lib/approve/screen"
	"pulse/lib/approve/tty"
	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// Desk is where a person answers: a queue, a terminal, and the policy that applies.
type Desk struct {
	Queue    door.Store
	Terminal *tty.Terminal
	Policy   *policy.Policy
	Level    approval.Level // what is proven of the person, without a key
	named    bool           // whether the policy comes from a file
	pen      *pen           // nil: a yes need not be signed
	open     bool           // it is not confined, and can start an editor
	c        *cli.Context

	holders func(name string) approval.Holder
	left    map[string]string // what tasks still wait for, to which a yes was given here
	starts  map[string]string // which run starts the others

	pace  *queue.Pace
	paced time.Time // when that was read
}

// Sit opens the queue and the terminal, and makes sure that the level that can be proven
// of the person is enough for the policy. It refuses inside a run and without a terminal.
func Sit(c *cli.Context, a Answer) (*Desk, error) {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return nil, err
	}
	pen, err := penFor(c, p, a)
	if err != nil {
		return nil, err
	}
	s, err := door.Queue(c)
	if err != nil {
		return nil, err
	}
	level := levelOf(s.Keeper())
	holders, err := Holders(s.Keeper())
	if err := errors.Join(err, s.Writable(), refuseInside(c.String("queue")), enough(p, s.Keeper(), a)); err != nil {
		s.Close()
		return nil, err
	}
	t, err := tty.Open()
	if err != nil {
		s.Close()
		return nil, fault.Refusedf("run it at a terminal: there is no other way to say yes", "%w", err)
	}
	open, err := confineDesk(c, s, p, pen, a)
	if err != nil {
		s.Close()
		t.Close()
		return nil, err
	}
	return &Desk{
		Queue: s, Terminal: t, Policy: p, Level: level, named: c.String("policy") != "", pen: pen, open: open, c: c,
		holders: holders, left: map[string]string{}, starts: map[string]string{},
	}, nil
}

// confineDesk gives up all but the queue, the terminal, which is open, and what decisions
// look at. Where a yes is signed, or an editor is started, it can't: these need more.
func confineDesk(c *cli.Context, s door.Store, p *policy.Policy, pen *pen, a Answer) (open bool, err error) {
	switch {
	case pen != nil:
		return true, cmdline.Unconfined(c, "a yes that is signed starts ssh-keygen")
	case a == Correcting:
		return true, cmdline.Unconfined(c, "a correction starts an editor")
	}
	_, err = door.Confine(c, s, workspace.Named(p)...)
	return !cmdline.Confines(c), err
}

// Close closes queue and terminal.
func (d *Desk) Close() {
	d.Queue.Close()
	d.Terminal.Close()
}

// Context returns the command's context, which a signal ends.
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

// Unanswered turns the error of a terminal that gave no answer into a refusal.
func Unanswered(err error) error {
	if err == nil {
		return nil
	}
	return fault.Refusedf("", "%w", err)
}

// Question is what a person is asked about a task.
type Question struct {
	Verb    string                               // completes "type the code to …"
	May     func(*queue.Stored) error            // why there is nothing to ask, or nil
	Caution func(*queue.Stored) string           // a warning after the sheet; nil or empty: none
	Alone   func(*queue.Stored) bool             // All asks about it with its own code; nil: about none
	Pages   bool                                 // All and Together keep to pages, each of which is answered whole or not at all
	Record  func(*queue.Tx, *queue.Stored) error // must make sure that the task is what was shown

	Agree bool // a yes to start it is recorded in the place of Record, and may be the first of two

	// Yes records a yes in the place of Record. Both are signed first where the policy requires that.
	Yes func(*queue.Tx, *queue.Stored, approval.Approval) error
}

// Each asks about one task after the other, and ends at the first that was not answered;
// the answers before stay. It asks nothing if one of the tasks is unknown, or if there is
// nothing to ask about it.
func (d *Desk) Each(ids []string, q Question) error {
	for _, id := range ids {
		if err := d.may(id, q); err != nil {
			return Unknown(err)
		}
	}
	for _, id := range ids {
		if err := d.ask(id, q); err != nil {
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
	return d.Queue.View(func(v store.View) error {
		s, err := queue.Find(v, id)
		if err != nil {
			return err
		}
		return q.May(&s)
	})
}

// ask shows the task that an id names, asks, and records the answer.
func (d *Desk) ask(id string, q Question) error {
	shown, lines, err := d.sheet(id, q)
	if err != nil {
		return err
	}
	if err := d.Confirm(lines, q.Verb); err != nil {
		return err
	}
	return d.record(&shown, q)
}

// sheet is Look at a task that there is something to ask about, with the question's caution.
func (d *Desk) sheet(id string, q Question) (shown queue.Stored, lines []string, err error) {
	if shown, lines, err = d.Look(id); err != nil {
		return shown, nil, err
	}
	if err := q.May(&shown); err != nil {
		return shown, nil, err
	}
	if q.Caution != nil {
		if text := q.Caution(&shown); text != "" {
			lines = append(lines, screen.Fact("caution", "%s", text))
		}
	}
	return shown, lines, nil
}

// Settle asks for the code that confirms an answer to what was shown, and records the
// answer.
func (d *Desk) Settle(shown *queue.Stored, q Question) error {
	if err := d.Terminal.Code(d.Context(), q.Verb); err != nil {
		return Unanswered(err)
	}
	return d.record(shown, q)
}

// record records an answer. It refuses if the task is no longer what was shown; the error
// wraps store.ErrConflict or store.ErrCorrupt then.
func (d *Desk) record(shown *queue.Stored, q Question) error {
	write, err := d.write(shown, q)
	if err != nil {
		return err
	}
	return d.put(shown, q, write)
}

// put is record for an answer that was made, and signed, before.
func (d *Desk) put(shown *queue.Stored, q Question, write writing) error {
	err := queue.Update(d.Queue, func(tx *queue.Tx) error {
		if err := unmoved(tx, shown); err != nil {
			return err
		}
		return write(tx, shown)
	})
	if err == nil && q.Agree {
		d.starts[shown.Task.ID] = Starts(shown)
	}
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrCorrupt) || errors.Is(err, consent.ErrNotGood) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	return err
}

// writing records an answer to what was shown.
type writing func(*queue.Tx, *queue.Stored) error

// write returns what records an answer. A yes is made, and signed, once.
func (d *Desk) write(shown *queue.Stored, q Question) (writing, error) {
	if !q.Agree && q.Yes == nil {
		return q.Record, nil
	}
	yes := queue.Yes(shown, cmdline.User(), d.Level, time.Now())
	yes.Holder = holder(d.Queue.Keeper())
	if err := d.sign(&yes); err != nil {
		return nil, err
	}
	return func(tx *queue.Tx, shown *queue.Stored) (err error) {
		if !q.Agree {
			return q.Yes(tx, shown, yes)
		}
		d.left[shown.Task.ID], err = d.run().Agree(tx, shown, yes, time.Now())
		return err
	}, nil
}

// unmoved makes sure that a task did not leave its state and come back. Its bytes are
// the same after that, but what the sheet said about it is not.
func unmoved(tx *queue.Tx, shown *queue.Stored) error {
	now, err := queue.Load(tx, shown.Task.State, shown.Task.ID)
	switch {
	case errors.Is(err, store.ErrUnknown): // it moved: what is about to be recorded says where
		return nil
	case err == nil && !now.Task.Since.Equal(shown.Task.Since):
		return fmt.Errorf("%w: the task was answered, and is %s again (%s)",
			store.ErrConflict, now.Task.State, now.Task.Reason)
	}
	return err
}

// Look loads the task that an id names, and makes the sheet that a person reads.
func (d *Desk) Look(id string) (shown queue.Stored, lines []string, err error) {
	if id, err = queue.Whole(d.Queue, id); err != nil {
		return shown, nil, Unknown(err)
	}
	var c screen.Case
	err = d.Queue.View(func(v store.View) (err error) {
		if shown, err = queue.Find(v, id); err != nil {
			return err
		}
		if shown.Extract, err = queue.ExtractOf(v, id); err != nil {
			return err
		}
		if err := shown.Hear(v); err != nil {
			return err
		}
		c = screen.Case{Now: time.Now(), Policy: d.Policy, Expires: d.Policy.Limits.Expiry(shown.Task.Since, shown.Task.Told).Sub(shown.Task.Since)}
		if err := d.delays(v, &shown, c.Now); err != nil {
			return err
		}
		if c.Wants, err = d.wants(v, &shown, c.Now); err != nil {
			return err
		}
		return origins(v, &shown, &c)
	})
	if err == nil {
		err = d.tell(&shown)
	}
	if err != nil {
		return shown, nil, Unknown(err)
	}
	c.Today = d.today(&shown)
	c.Withheld = d.named && (&queue.Run{Policy: d.Policy}).Withholds(&shown.Content)
	return shown, screen.Sheet(&shown, &c), nil
}

// tell adds what the worker of a task is told of earlier effects.
func (d *Desk) tell(shown *queue.Stored) error {
	p, err := queue.PastOf(d.Queue, shown.Task.ID)
	if err != nil {
		return err
	}
	return d.Queue.View(func(v store.View) error { return p.Tell(v, shown) })
}

// delays finds out which limit would keep a task from starting, and until when.
func (d *Desk) delays(v store.View, shown *queue.Stored, now time.Time) error {
	if !d.named || shown.Record == nil {
		return nil
	}
	if d.pace == nil || now.Sub(d.paced) > paceGood {
		pace, err := queue.PaceOf(v, d.Policy, now)
		if err != nil {
			return err
		}
		d.pace, d.paced = pace, now
	}
	shown.Task.Limit, shown.Task.Until = d.pace.Until(shown)
	return nil
}

// paceGood is how long what a limit leaves is taken for the same: it is made of the log of a day, and
// many tasks may stand on a page.
const paceGood = time.Second

// origins loads the tasks that an effect comes from, and the one that it closes, into c.
func origins(v store.View, s *queue.Stored, c *screen.Case) (err error) {
	who := &s.Identity
	if !who.Effect() {
		return nil
	}
	if id := s.Closes(); id != "" {
		if c.Closes, err = origin(v, id); err != nil {
			return err
		}
	}
	if c.Root, err = origin(v, who.Root); err != nil {
		return err
	}
	if r := c.Root.Stored; r != nil && r.Task.Answers != "" {
		if c.Began, err = origin(v, r.Task.Thread); err == nil {
			c.Answers, err = origin(v, r.Task.Answers)
		}
	}
	if err != nil || who.Parent == who.Root {
		return err
	}
	c.Parent, err = origin(v, who.Parent)
	return err
}

func origin(v store.View, id string) (*screen.Origin, error) {
	o := &screen.Origin{ID: id}
	st, err := v.Where(id)
	if err != nil || st == "" {
		return o, err
	}
	s, err := queue.Load(v, st, id)
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return o, err
	}
	o.Stored = &s
	return o, nil
}

// Ask shows the ask that a task belongs to, in whole: the one that an effect is for, or with which
// the conversation of a message began.
func (d *Desk) Ask(s *queue.Stored) (lines []string, err error) {
	id := s.Task.Thread
	if s.Identity.Effect() {
		id = s.Identity.Root
	}
	if id == "" {
		return []string{"it is an ask, and answers nothing"}, nil
	}
	err = d.Queue.View(func(v store.View) error {
		o, err := origin(v, id)
		lines = o.Whole()
		return err
	})
	return lines, err
}

// today returns what the policy decides about a task now; nil where none was named.
func (d *Desk) today(s *queue.Stored) *decision.Decision {
	if !d.named {
		return nil
	}
	made := (&queue.Run{Policy: d.Policy, World: workspace.World{}}).Decide(s)
	return &made.Decision
}

// Unknown adds a hint to store.ErrUnknown.
func Unknown(err error) error {
	if errors.Is(err, queue.ErrRefused) {
		return fault.Failedf("pulse-queue list --refused", "%w", err)
	}
	if errors.Is(err, store.ErrUnknown) {
		return fault.Failedf("pulse-queue list --all", "%w", err)
	}
	return err
}
