package main

import (
	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
)

// positions prints how far sources were read, for pulse-fetch.
func positions(c *cli.Context) error {
	return objects(c, func(v queue.View) (list []queue.Position, err error) {
		if !c.IsSet("source") {
			return queue.PositionsOf(v)
		}
		p, known, err := queue.PositionOf(v, c.String("source"))
		if known {
			list = append(list, p)
		}
		return list, err
	}, (*queue.Position).Append)
}

// sessions prints the sessions that were not ended, for pulse-classify.
func sessions(c *cli.Context) error {
	return objects(c, queue.SessionsOf, (*approval.Session).Append)
}

// objects prints what is read in one View, one object a line.
func objects[T any](c *cli.Context, read func(queue.View) ([]T, error), line func(*T, []byte) []byte) error {
	s, err := door.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	var list []T
	err = s.View(func(v queue.View) error {
		list, err = read(v)
		return err
	})
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	for i := range list {
		out.Write(append(line(&list[i], nil), '\n'))
	}
	return out.Flush()
}
