package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
)

// outbox prints what workers proposed and nobody has taken yet.
func outbox(c *cli.Context, s door.Store) error {
	if err := s.Writable(); err != nil { // a snapshot has none
		return err
	}
	parents, err := store.Read(s, queue.Proposers)
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	for _, parent := range parents {
		file, err := store.Read(s, func(v store.View) ([]byte, error) { return queue.OutboxOf(v, parent) })
		if _, broken := store.ReadOutbox(file); errors.Is(broken, store.ErrOutbox) {
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
