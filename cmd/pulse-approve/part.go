package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// part is what of the waiting tasks a walk shows; empty members ask for nothing.
type part struct {
	sender queue.Sender
	action terms.Action
	root   string // this ask, and what is proposed for it
}

func partFlags(sender cli.Flag) []cli.Flag {
	return []cli.Flag{
		sender,
		&cli.StringFlag{Name: "action", Usage: "`A` tasks with this action"},
		&cli.StringFlag{Name: "task", Usage: "`ID` this ask, and what is proposed for it"},
	}
}

func partOf(c *cli.Context) (p part, err error) {
	if p.sender, err = door.Sender(c); err != nil {
		return p, err
	}
	p.action, p.root = terms.Action(c.String("action")), c.String("task")
	switch {
	case c.IsSet("action") && !p.action.Valid():
		err = fault.Usagef("man 1 pulse-authorize has the actions", "--action: %s is no action", p.action)
	case c.IsSet("task") && p.root == "":
		err = fault.Usagef("pulse-queue list", "--task is empty")
	}
	return p, err
}

// find makes of the id that a part names the one of an ask: its own, or that of the ask of an effect.
func (p *part) find(d *desk.Desk) error {
	if p.root == "" {
		return nil
	}
	id, err := queue.Whole(d.Queue, p.root)
	if err != nil {
		return desk.Unknown(err)
	}
	return desk.Unknown(d.Queue.View(func(v store.View) error {
		s, err := queue.Find(v, id)
		p.root = s.Root()
		return err
	}))
}

func (p *part) whole() bool { return *p == part{} }

// String says which part it is, in words that follow what it is a part of.
func (p *part) String() (text string) {
	if p.sender != "" {
		text += " of " + string(p.sender)
	}
	if p.action != "" {
		text += " with " + string(p.action)
	}
	if p.root != "" {
		text += " for " + short(p.root)
	}
	return text
}

// place is where a task belongs, which never changes.
type place struct {
	root string // the ask with which it began; empty: its file can't be read
	in   bool   // it is of the part
}

// place returns where a task that waits belongs. A file that can't be read says nothing of what it
// is, and is of no part. What was looked up once is kept: a walk may have ten thousand tasks.
func (w *walker) place(id string) (at place, err error) {
	if at, known := w.places[id]; known {
		return at, nil
	}
	p := &w.part
	err = w.Queue.View(func(v store.View) error {
		s, err := queue.LoadUnlabelled(v, task.Awaiting, id)
		if err != nil {
			return err
		}
		at.root = s.Root()
		at.in = p.sender.Is(&s) && (p.action == "" || s.Decision.Action == p.action) && (p.root == "" || at.root == p.root)
		return nil
	})
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return place{in: p.whole()}, nil
	}
	w.places[id] = at
	return at, err
}

// has reports whether a task that waits is of the part.
func (w *walker) has(id string) (bool, error) {
	if w.part.whole() {
		return true, nil
	}
	at, err := w.place(id)
	return at.in, err
}
