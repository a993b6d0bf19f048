package main

import (
	"errors"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
)

// positions prints how far sources were read, for pulse-fetch; of one source also what a person was
// told that is wrong with it.
func positions(c *cli.Context, s door.Store) error {
	source := c.String("source")
	return objects(c, s, func(v store.View) (list []object, err error) {
		if !c.IsSet("source") {
			all, err := queue.PositionsOf(v)
			for i := range all {
				list = append(list, &all[i])
			}
			return list, err
		}
		p, known, err := queue.PositionOf(v, source)
		if known {
			list = append(list, &p)
		}
		for _, code := range health.Stages() {
			f, known, failed := queue.FindingOf(v, code, source)
			if err = errors.Join(err, failed); known {
				list = append(list, &f)
			}
		}
		return list, err
	})
}

// sessions prints the sessions that were not ended, for pulse-classify.
func sessions(c *cli.Context, s door.Store) error {
	return objects(c, s, func(v store.View) (list []object, err error) {
		all, err := queue.SessionsOf(v)
		for i := range all {
			list = append(list, &all[i])
		}
		return list, err
	})
}

// object is what is printed as a line.
type object interface{ Append(dst []byte) []byte }

// objects prints what is read in one View, one object a line.
func objects(c *cli.Context, s door.Store, read func(store.View) ([]object, error)) error {
	list, err := store.Read(s, read)
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	for i := range list {
		out.Write(append(list[i].Append(nil), '\n'))
	}
	return out.Flush()
}
