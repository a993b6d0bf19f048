package dispatch

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/runner"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

// proposals reads what a worker proposes, or what its judge has put to a person, which names the
// files that were judged.
func (sh *shift) proposals(out []byte, isCut, judged bool) *queue.Proposals {
	return proposals(sh.policy, opener(sh.policy), out, isCut, judged)
}

func proposals(p *policy.Policy, open proposal.Opener, out []byte, isCut, judged bool) *queue.Proposals {
	list, discarded := proposal.Read(out, isCut, open)
	if !judged {
		for i := range list {
			one := &list[i]
			one.Args = workspace.Bound(p, one.Tool, one.Action, one.Args)
		}
	}
	return &queue.Proposals{List: proposal.Complete(list, p), Discarded: discarded, Drafts: p.Drafts}
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

func newWorker(c *cli.Context) (runner.Worker, error) {
	argv := c.Args().Slice()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return runner.Worker{}, fault.Usagef("an absolute path, for cron's PATH is short: ls -l "+argv[0],
			"worker: %w", err)
	}
	w := runner.Worker{Path: path, Argv: argv}
	if w.Timeout, err = duration.Parse(c.String("timeout")); err != nil || w.Timeout < 0 {
		return w, fault.Usagef("--timeout 90m, or 1d, or 0 for none",
			"--timeout: %s is no duration", c.String("timeout"))
	}
	who, err := runner.Account(c.String("as"))
	if err != nil {
		hint := "getent passwd " + c.String("as")
		if os.Geteuid() != 0 {
			hint = "sudo pulse-queue run --as " + c.String("as") + " …"
		}
		return w, fault.Usagef(hint, "--as: %w", err)
	}
	w.Credential, w.Env = who.Credential, who.Env
	for _, name := range c.StringSlice("env") {
		value, ok := os.LookupEnv(name)
		switch {
		case strings.Contains(name, "="): // the value may be a secret
			return w, fault.Usagef("export NAME, and then --env NAME",
				"--env wants the name of a variable alone: its value does not belong into the command line")
		case !ok || name == "PULSE_TASK":
			return w, fault.Usagef("", "--env: there is no variable of that name to pass on")
		}
		w.Env = append(w.Env, name+"="+value)
	}
	return w, nil
}

// detail says how a worker ended, with the last line it wrote to stderr.
func detail(end runner.End) string {
	text := " (" + end.How
	if end.TimedOut {
		text += ", --timeout"
	}
	return text + ")" + lastLine(end.Stderr)
}

// lastLine returns the last line that a program wrote, after a colon.
func lastLine(stderr []byte) string {
	if said := audit.LastSaid(stderr); said != "" {
		return ": " + said
	}
	return ""
}
