package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
)

// outbox prints what workers proposed and nobody has taken yet.
func outbox(c *cli.Context) error {
	s, err := desk.QueueOutside(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Writable(); err != nil { // a snapshot has none
		return err
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	parents, err := proposers(s)
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	for _, parent := range parents {
		var file []byte
		err := s.View(func(v queue.View) (err error) {
			file, err = queue.OutboxOf(v, parent)
			return err
		})
		if _, broken := queue.ReadOutbox(file); errors.Is(broken, queue.ErrOutbox) {
			cmdline.Warn(c, "task %s: %v: pulse-queue verify says more", parent, broken)
			continue
		}
		if err == nil {
			_, err = out.Write(file)
		}
		if err != nil {
			return err
		}
	}
	return out.Flush()
}

// proposers returns the tasks that have an outbox, the oldest first.
func proposers(s queue.Store) (list []string, err error) {
	err = s.View(func(v queue.View) error {
		list, err = queue.Proposers(v)
		return err
	})
	return list, err
}
