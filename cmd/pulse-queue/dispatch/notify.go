package dispatch

import (
	"context"
	"os/exec"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/runner"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// The bounds of a notice: how long the program may take until it is killed, and how
// many tasks are named to it.
const (
	noticeTime = 30 * time.Second
	noticeIDs  = 100
)

// Notice tells a program that tasks came to wait for a person, or still wait: how many
// and which, and nothing of what they say.
type Notice struct {
	c      *cli.Context
	worker runner.Worker // without a path: --notify was not given
	count  int
	ids    []string
	again  []string // of ids, those that a person is told of once more
}

// NewNotice reads --notify: one program, without arguments and without a shell.
func NewNotice(c *cli.Context) (*Notice, error) {
	n := &Notice{c: c}
	name := c.String("notify")
	if name == "" {
		return n, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return n, fault.Usagef("--notify takes one program, without arguments: put them into a script",
			"--notify: %w", err)
	}
	who, err := runner.Account("")
	n.worker = runner.Worker{Path: path, Argv: []string{name}, Env: who.Env, Timeout: noticeTime - runner.Grace}
	return n, err
}

// Hear counts a line that was committed, if a task came to wait by it, or is told of once
// more.
func (n *Notice) Hear(l *audit.Line) {
	again := l.Event == audit.Resurfaced
	if l.To != task.Awaiting && !again {
		return
	}
	if n.count++; len(n.ids) >= noticeIDs {
		return
	}
	n.ids = append(n.ids, l.Task)
	if again {
		n.again = append(n.again, l.Task)
	}
}

// Send starts the program, if there is anything to tell. The tasks are in the queue however
// the program ends, so a failure is only worth a warning. A signal that ends the command
// does not end the notice.
func (n *Notice) Send() {
	if n.count == 0 || n.worker.Path == "" {
		return
	}
	var o record.Object
	o.Int("count", int64(n.count))
	o.Strs("ids", n.ids)
	o.StrsIf("again", n.again)
	n.worker.Stdin = append(o.Bytes(), '\n')
	end, err := runner.Run(context.WithoutCancel(n.c.Context), &n.worker, func(int) error { return nil })
	switch {
	case err != nil:
		cmdline.Warn(n.c, "--notify: %s: %v", n.worker.Path, err)
	case end.TimedOut:
		cmdline.Warn(n.c, "--notify: %s did not end within %s", n.worker.Path, noticeTime-runner.Grace)
	case end.Exit != 0:
		cmdline.Warn(n.c, "--notify: %s: %s%s", n.worker.Path, end.How, lastLine(end.Stderr))
	}
}
