package cmdline

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approval"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/screen"
	"pulse/lib/spool"
	"pulse/lib/tty"
)

// Level is what a command can prove of the person it asked.
const Level = approval.Terminal

// Desk is where a person answers: a queue, and a terminal.
type Desk struct {
	Queue    *spool.Spool
	terminal *tty.Terminal
	c        *cli.Context
}

// Sit opens the queue and the terminal of a person, and makes sure that the level
// that can be proven of the person is enough for the policy. Inside a run, or
// without a terminal, it is refused.
func Sit(c *cli.Context) (*Desk, error) {
	p, err := PolicyOrDefault(c)
	if err != nil {
		return nil, err
	}
	if approval.Level(p.Approval.Require) != Level {
		return nil, fault.Usagef("man 5 pulse-policy", "%s: approval.require is %s, and this version can only give %s", p.Name, p.Approval.Require, Level)
	}
	s, err := Queue(c)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.Writable(), RefuseInside(c.String("queue"))); err != nil {
		s.Close()
		return nil, err
	}
	t, err := tty.Open()
	if err != nil {
		s.Close()
		return nil, fault.Refusedf("run it at a terminal: there is no other way to say yes", "%w", err)
	}
	return &Desk{s, t, c}, nil
}

// Close closes both.
func (d *Desk) Close() {
	d.Queue.Close()
	d.terminal.Close()
}

// Confirm shows lines and returns nil if a person typed the fresh code. verb
// completes "type the code to …".
func (d *Desk) Confirm(lines []string, verb string) error {
	if err := d.terminal.Confirm(d.c.Context, screen.Fold(lines, d.terminal.Columns()), verb); err != nil {
		return fault.Refusedf("", "%w", err)
	}
	return nil
}

// Question is one about a task.
type Question struct {
	Verb    string                              // completes "type the code to …"
	May     func(*queue.Stored) error           // whether there is anything to ask
	Caution func(*queue.Stored) string          // what to be told last; nil or empty: nothing
	Record  func(queue.Tx, *queue.Stored) error // must make sure that the task is what was shown
}

// Ask shows the task that an id names, asks, and records the answer.
func (d *Desk) Ask(id string, q Question) error {
	var shown queue.Stored
	err := d.Queue.View(func(v queue.View) (err error) {
		shown, err = queue.Find(v, id)
		return err
	})
	if err != nil {
		return Unknown(err)
	}
	if err := q.May(&shown); err != nil {
		return err
	}
	lines := screen.Task(&shown, time.Now())
	if q.Caution != nil {
		if text := q.Caution(&shown); text != "" {
			lines = append(lines, screen.Fact("caution", "%s", text))
		}
	}
	if err := d.Confirm(lines, q.Verb); err != nil {
		return err
	}
	err = d.Queue.Update(func(tx queue.Tx) error { return q.Record(tx, &shown) })
	if errors.Is(err, queue.ErrConflict) {
		return fault.Refusedf("pulse-queue show "+shown.Task.ID, "%w", err)
	}
	return err
}

// Unknown gives the error of a task that nobody knows its hint.
func Unknown(err error) error {
	if errors.Is(err, queue.ErrUnknown) {
		return fault.Failedf("pulse-queue list --all", "%w", err)
	}
	return err
}
