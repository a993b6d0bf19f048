package main

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/desk"
	"pulse/lib/policy"
	"pulse/lib/proposal"
	"pulse/lib/queue"
	"pulse/lib/runner"
	"pulse/lib/workspace"
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
	if _, err := cmdline.ConfineToQueue(c); err != nil {
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
			file, err = v.Outbox(parent)
			return err
		})
		if _, broken := queue.Outbox(file); errors.Is(broken, queue.ErrOutbox) {
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
		list = nil
		return v.Outboxes(func(parent string) error {
			list = append(list, parent)
			return nil
		})
	})
	return list, err
}

// proposals reads what a worker printed.
func (sh *shift) proposals(out []byte) *queue.Proposals {
	list, discarded := proposal.Read(out, len(out) >= runner.MaxResult, opener(sh.policy))
	return &queue.Proposals{List: list, Discarded: discarded}
}

// opener reads the files of the workspace, where the policy names one.
func opener(p *policy.Policy) proposal.Opener {
	if p.Exec.Workspace == "" {
		return nil
	}
	return func(name string, limit int) ([]byte, error) {
		f, err := workspace.Open(p.Exec.Workspace, name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || info.Size() > int64(limit) {
			return nil, errors.Join(errLarge, err) // a worker can name it in each of many lines
		}
		return io.ReadAll(io.LimitReader(f, int64(limit)+1))
	}
}

var errLarge = errors.New("it is too large")
