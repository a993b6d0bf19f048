// Package peek reads what the stages before the queue need of it: how far a source was
// read, and which sessions are open.
//
// Invariant: it links neither what runs a worker nor what speaks to a server. A queue on a
// server is asked by pulse-queue, which is started for that. Caveat: a confined command can
// do neither, so it peeks before cmdline.Confine.
package peek

import (
	"context"
	"fmt"

	"pulse/lib/queue"
	"pulse/lib/queue/spool"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/record"
)

// There fails if a name is that of a directory that holds no queue.
func There(name string) error {
	if cmdline.Served(name) {
		return nil
	}
	return spool.There(name)
}

// Position returns how far a source was read into a queue.
func Position(ctx context.Context, name, source string) (p queue.Position, known bool, err error) {
	if !cmdline.Served(name) {
		return spool.ReadPosition(name, source)
	}
	err = ask(ctx, func(v record.Value) (err error) {
		if p, err = audit.DecodePosition(v); err == nil && p.Source != source {
			err = fmt.Errorf("it answered for source %s", p.Source)
		}
		known = true
		return err
	}, "positions", "--queue", name, "--source", source)
	return p, known && err == nil, err
}

// Sessions returns the sessions of a queue that were not ended.
func Sessions(ctx context.Context, name string) (list []approval.Session, err error) {
	if cmdline.Served(name) {
		err = ask(ctx, func(v record.Value) error {
			one, err := approval.DecodeSession(v)
			list = append(list, one)
			return err
		}, "sessions", "--queue", name)
		return list, err
	}
	if err := spool.There(name); err != nil {
		return nil, err
	}
	s, err := spool.Open(name)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Interrupt(ctx.Done())
	err = s.View(func(v queue.View) error {
		list, err = queue.SessionsOf(v)
		return err
	})
	return list, err
}
