package main

import (
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/audit"
	"pulse/lib/cmdline"
	"pulse/lib/decision"
	"pulse/lib/fault"
	"pulse/lib/identity"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/request"
	"pulse/lib/spool"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// submit makes an ask of the person at the keyboard.
func submit(c *cli.Context) error {
	action := terms.Action(c.String("action"))
	if !action.Valid() {
		return fault.Usagef(fmt.Sprintf("--action is one of %v", terms.Actions), "submit needs --action; there is no action %q", string(action))
	}
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	dir, err := cmdline.QueueDir(c)
	if err != nil {
		return err
	}
	if err := cmdline.RefuseInside(dir); err != nil {
		return err
	}
	s, err := spool.OpenOrCreate(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	rec, err := submitted(action, c.Args().First(), func(in decision.Input) decision.Decision {
		in.Policy = p
		return decision.Decide(in)
	})
	if err != nil {
		return err
	}
	batch := queue.NewBatch(s, s.Unsafe, p.Limits.PendingPerSender, time.Now)
	if err := batch.Put(rec); err != nil {
		return err
	}
	return batch.Commit(func(line []byte) error {
		_, err := c.App.Writer.Write(append(line, '\n'))
		return err
	})
}

// submitted builds the record of a submitted ask.
func submitted(action terms.Action, text string, decide func(decision.Input) decision.Decision) (*record.Record, error) {
	var args, req, all record.Object
	args.Str("text", text)
	req.Str("action", string(action))
	req.Raw("args", args.Bytes())
	who := identity.Identity{
		Sender: fmt.Sprintf("uid:%d", os.Getuid()), Trust: terms.System, Verified: true, Via: identity.ViaSubmit,
		Reason: identity.LocalSubmit, Why: "a user of this machine submitted it",
	}
	r, err := request.Decode(record.Value(req.Bytes()))
	if err != nil {
		return nil, err
	}
	d := decide(decision.Input{Identity: &who, Request: &r})
	all.Raw(request.Member, req.Bytes())
	all.Raw(identity.Member, who.Append(nil))
	all.Raw(decision.Member, d.Append(nil))
	return record.Parse(all.Bytes(), queue.Members...)
}

func hold(c *cli.Context) error    { return brake(c, audit.Held) }
func release(c *cli.Context) error { return brake(c, audit.Released) }

// brake holds or releases the queue; doing it twice changes nothing.
func brake(c *cli.Context, e task.Event) error {
	dir, err := cmdline.QueueDir(c)
	if err != nil {
		return err
	}
	if err := cmdline.RefuseInside(dir); err != nil {
		return err
	}
	s, err := cmdline.QueueOrNew(c)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Update(func(tx queue.Tx) error {
		held, err := tx.Held()
		if err != nil || (held != nil) == (e == audit.Held) {
			return err
		}
		return tx.Log(audit.Line{Time: time.Now().UTC(), Event: e, By: cmdline.User()})
	})
}
