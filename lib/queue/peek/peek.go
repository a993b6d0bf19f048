// Package peek reads what the stages before the queue need of it: how far a source was
// read, and which sessions are open. It has pulse-queue note that a source can't be read.
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
	"pulse/lib/queue/store"
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

// Position returns how far a source was read into a queue, and whether the queue has a finding
// about it.
func Position(ctx context.Context, name, source string) (p store.Position, known, wrong bool, err error) {
	if !cmdline.Served(name) {
		return spool.ReadPosition(name, source, Codes...)
	}
	err = ask(ctx, func(v record.Value) error {
		if f, err := audit.DecodeFinding(v); f.Code != "" || err != nil {
			wrong = true
			return err
		}
		known = true
		if p, err = audit.DecodePosition(v); err == nil && p.Source != source {
			err = fmt.Errorf("it answered for source %s", p.Source)
		}
		return err
	}, "positions", "--queue", name, "--source", source)
	return p, known && err == nil, wrong && err == nil, err
}

// The codes of findings about a source, as in pulse-trouble(7).
const (
	Unreachable = "unreachable"
	Login       = "login"
)

// Codes are all of them.
var Codes = []string{Unreachable, Login}

// Note has pulse-queue note that a source can't be read, or that it can be again. told reports
// whether a person is to be told of it.
func Note(ctx context.Context, name string, open bool, code, source, text string) (told bool, err error) {
	args := []string{"finding", "--queue", name, "--", "close", code, source}
	if open {
		args = append(args, text)
		args[4] = "open"
	}
	err = ask(ctx, func(record.Value) error {
		told = true
		return nil
	}, args...)
	return told, err
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
	return store.Read(s, queue.SessionsOf)
}
