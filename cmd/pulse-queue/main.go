// Pulse-queue keeps accepted tasks in flat files until they are done: it loses
// none and runs none twice. See pulse-queue(1).
package main

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"pulse/cmd/pulse-queue/dispatch"
	"pulse/cmd/pulse-queue/inspect"
	"pulse/lib/approve/desk"
	"pulse/lib/queue/box"
	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
)

func main() { os.Exit(door.Main(app)) }

func app() *cli.App {
	return &cli.App{
		Name:  "pulse-queue",
		Usage: "Keep tasks in flat files until they are done: lose none, run none twice.",
		// These leave signals to the kernel: it ends them, or what they become.
		Metadata: cmdline.Idles("box", box.Inside, box.InsideOnce, "way"),
		Commands: slices.Concat(intakes(), looks(), reports(), starts(), boxes(), copies()),
	}
}

// intakes returns the commands by which a queue is made and takes what comes.
func intakes() []*cli.Command {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	return []*cli.Command{{
		Name: "init", Usage: "make a queue", Action: initQueue,
		Flags: []cli.Flag{queue,
			&cli.BoolFlag{Name: "unsafe", Usage: "for trials: also take what --unsafe-allow-all decided"},
			&cli.BoolFlag{Name: "allow-network", Usage: "even on a network file system"},
			&cli.BoolFlag{Name: "sql", Usage: "of a queue on a server: print what would be run there"},
			&cli.BoolFlag{Name: "upgrade", Usage: "of a queue on a server: make one of an older pulse fit this one"},
			&cli.StringFlag{Name: "approver-group",
				Usage: "`GROUP` whose members may answer, under their own accounts"},
			&cli.StringFlag{Name: "worker-group", Usage: "`GROUP` whose members may read snapshots"},
		},
	}, {
		Name: "add", Usage: "take records from stdin, print a receipt for each", Action: quiet(in(desk.QueueOutside, add)),
		Flags: []cli.Flag{queue, policy, cmdline.MaxRecordFlag(), notifyFlag(), confined},
	}, {
		Name: "outbox", Usage: "print what workers proposed and nobody has taken yet", Action: quiet(in(desk.EnterOutside, outbox)),
		Flags: []cli.Flag{queue, confined},
	}, {
		Name: "positions", Usage: "print how far sources were read", Action: quiet(in(door.Enter, positions)),
		Flags: []cli.Flag{queue, confined,
			&cli.StringFlag{Name: "source", Usage: "`S` of this source, as records spell it"},
		},
	}, {
		Name: "finding", ArgsUsage: "VERB CODE SOURCE [TEXT]", Usage: "note that a source can't be read (open), or that no more (close)",
		Action: quiet(in(desk.EnterOutside, noteFinding)), Flags: []cli.Flag{queue, confined},
	}, {
		Name: "submit", ArgsUsage: "TEXT", Usage: "make a task of your own", Action: in(desk.QueueOutside, submit),
		Flags: []cli.Flag{queue, policy,
			&cli.StringFlag{Name: "action", Usage: "`A` what is asked for, such as read_public"},
			&cli.StringFlag{Name: "at", Usage: "`TIME` not to be started before, such as 07:30 or +2h"},
			&cli.StringFlag{Name: "standing", Usage: "`NAME` never to be started: what pulse-queue mcp NAME proposes is for it"},
		},
	}}
}

// looks returns the commands that only look.
func looks() []*cli.Command {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	return []*cli.Command{{
		Name: "list", Usage: "list the tasks that wait or run", Action: in(door.Queue, inspect.List),
		Flags: []cli.Flag{queue, policy, confined,
			&cli.BoolFlag{Name: "refused", Usage: "what the policy refused and is kept; with --all or --state: too"},
			&cli.BoolFlag{Name: "all", Usage: "in every state"},
			&cli.StringFlag{Name: "state", Usage: "`S,...` in these states"},
			&cli.StringFlag{Name: "kind", Usage: "`K` ask or effect"},
			&cli.StringFlag{Name: "action", Usage: "`A` with this action, such as read_public"},
			door.SenderFlag(),
			&cli.StringFlag{Name: "older-than", Usage: "`D` made this long ago or longer, such as 36h or 7d"},
			&cli.StringFlag{Name: "newer-than", Usage: "`D` made less than this long ago"},
			&cli.BoolFlag{Name: "json", Usage: "records instead of a table"},
		},
	}, {
		Name: "show", ArgsUsage: "ID", Usage: "tell a task's whole story", Action: in(door.Queue, inspect.Show),
		Flags: []cli.Flag{queue, policy, confined,
			&cli.BoolFlag{Name: "json", Usage: "the record instead of text"},
		},
	}, {
		Name: "thread", ArgsUsage: "ID", Usage: "tell the conversation that a task belongs to", Action: in(door.Enter, inspect.Thread),
		Flags: []cli.Flag{queue, confined,
			&cli.BoolFlag{Name: "json", Usage: "an object a task instead of text"},
		},
	}, {
		Name: "log", Usage: "print the audit log", Action: in(door.Enter, inspect.Log),
		Flags: []cli.Flag{queue, confined,
			&cli.StringFlag{Name: "since", Usage: "`D|TIME` of this long ago, or of a time, and later"},
			&cli.StringFlag{Name: "task", Usage: "`ID` about this task"},
			&cli.StringFlag{Name: "outcome", Usage: "`O` with this decision, such as reject"},
			&cli.StringFlag{Name: "event", Usage: "`E` of this kind, such as started"},
			&cli.BoolFlag{Name: "why", Usage: "what was not allowed, each with what to do"},
			&cli.BoolFlag{Name: "json", Usage: "the lines as they stand in the log"},
		},
	}, {
		Name: "sessions", Usage: "print the sessions that are open", Action: quiet(in(door.Enter, sessions)),
		Flags: []cli.Flag{queue, confined},
	}, {
		Name: "verify", Usage: "check the audit log and the tasks against each other", Action: in(door.Enter, verify),
		Flags: []cli.Flag{queue, confined,
			&cli.StringFlag{Name: "head", Usage: "`H` an earlier head that must be in the chain"},
		},
	}}
}

// reports returns the commands that sum up.
func reports() []*cli.Command {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	return []*cli.Command{{
		Name: "stats", ArgsUsage: "[FILE]", Usage: "count the tasks", Action: in(door.Queue, stats),
		Flags: []cli.Flag{queue, policy, confined,
			&cli.BoolFlag{Name: "json", Usage: "an object instead of a table"},
			&cli.StringFlag{Name: "prometheus", Usage: "`FILE` metrics for Prometheus into this file; - is stdout"},
			&cli.BoolFlag{Name: "html", Usage: "the last 30 days as a page to look at, into FILE or to stdout"},
			&cli.BoolFlag{Name: "subjects", Usage: "with --html: with the subjects of what waits for a person"},
			&cli.StringFlag{Name: "accept", Usage: "`CODE,...` with --html: of what health finds, say nothing of these"},
		},
	}, {
		Name: "health", Usage: "say what needs somebody; for cron and monitoring", Action: quiet(in(door.Queue, checkHealth)),
		Flags: []cli.Flag{maxFlag(), queue, policy, confined,
			&cli.StringFlag{Name: "accept", Usage: "`CODE,...` say nothing of these"},
			&cli.BoolFlag{Name: "all", Usage: "everything that is wrong, also what was told before"},
			&cli.BoolFlag{Name: "json", Usage: "objects instead of lines"},
		},
	}, {
		Name: "digest", Usage: "tell the day on one page, for a mail", Action: in(door.Queue, digest),
		Flags: []cli.Flag{maxFlag(), queue, policy, confined,
			&cli.StringFlag{Name: "since", Value: "1d", Usage: "`D|TIME` what happened since then; default 1d"},
			&cli.BoolFlag{Name: "subjects", Usage: "with the subjects of what waits for a person"},
			&cli.StringFlag{Name: "accept", Usage: "`CODE,...` of what health finds, say nothing of these"},
		},
	}}
}

// starts returns the commands that start workers, stop them, and put tasks back.
func starts() []*cli.Command {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	return []*cli.Command{{
		Name: "run", ArgsUsage: "-- CMD [ARG...]",
		Usage: "start what is due, one worker after the other", Action: quiet(in(desk.QueueOutside, dispatch.Run)),
		Flags: []cli.Flag{queue, policy,
			&cli.StringFlag{Name: "effect", Usage: "`A` start approved effects with this action, instead of asks"},
			&cli.BoolFlag{Name: "extract", Usage: "CMD is the reader of asks whose text [extract] keeps from workers"},
			&cli.IntFlag{Name: "max", Usage: "`N` start at most N; default: max_per_run of the policy"},
			&cli.StringFlag{Name: "timeout", Value: "1h", Usage: "`D` end a worker after this time; default 1h"},
			&cli.StringFlag{Name: "as", Usage: "`USER` start workers under this user (needs root)"},
			&cli.BoolFlag{Name: "proposals", Usage: "each line that a worker prints is a request of what to do next"},
			&cli.StringSliceFlag{Name: "env", Usage: "`NAME` pass this variable on to workers; may be repeated"},
			notifyFlag(),
		},
	}, {
		Name: "agent", ArgsUsage: "CLIENT [-- ARG...]",
		Usage: "the CMD of run that gives an ask to claude, codex, gemini or llm", Action: runAgent,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "reader", Usage: "the CMD of run --extract: CLIENT without tools makes one value"},
		},
	}, {
		Name: "carry", ArgsUsage: "[-- CMD [ARG...]]",
		Usage: "the CMD of run --effect that carries out a program, a write or a call of a server", Action: carryOut,
		Flags: []cli.Flag{policy,
			&cli.StringSliceFlag{Name: "env", Usage: "`NAME` pass this variable on to a program; may be repeated"},
			&cli.StringSliceFlag{Name: "ro", Usage: "`PATH` show this to a program; may be repeated"},
			&cli.StringSliceFlag{Name: "rw", Usage: "`DIR` let a program write here, besides the workspace; may be repeated"},
		},
	}, {
		Name: "mcp", ArgsUsage: "NAME", Usage: "an MCP server for an agent that pulse does not start: it proposes, and sees what became of it",
		Action: in(desk.QueueOutside, dispatch.MCP), Flags: []cli.Flag{queue, policy, confined},
	}, {
		Name: "cancel", ArgsUsage: "ID", Usage: "end a task that is scheduled or running", Action: in(desk.QueueOutside, cancel),
		Flags: []cli.Flag{queue},
	}, {
		Name: "requeue", ArgsUsage: "[ID...]",
		Usage: "put tasks that have ended back, once a person said yes", Action: requeue,
		Flags: []cli.Flag{queue, policy, desk.KeyFlag(), door.SenderFlag(), confined,
			&cli.StringFlag{Name: "state", Usage: "`S,...` with --sender: in these states; default failed"},
		},
	}, {
		Name: "hold", Usage: "stop every run until release", Action: in(desk.QueueOutside, hold),
		Flags: []cli.Flag{queue},
	}, {
		Name: "release", Usage: "let runs start tasks again", Action: release,
		Flags: []cli.Flag{queue, confined,
			&cli.BoolFlag{Name: "restored",
				Usage: "also where the queue lacks what was committed here, once a person said yes"},
			&cli.BoolFlag{Name: "clock", Usage: "believe this machine's clock at once after a jump, once a person said yes"},
			&cli.StringFlag{Name: "was", Usage: "`DIR` of the queue that was put aside: what became of the tasks there"},
		},
	}}
}

// boxes returns the commands around a program that pulse starts.
func boxes() []*cli.Command {
	confined := cmdline.SandboxFlag()
	return []*cli.Command{{
		Name: "box", ArgsUsage: "-- CMD [ARG...]", Usage: "start a program in a box, from which it reaches its model alone",
		Action: inBox, SkipFlagParsing: true, // the order of its flags counts
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`SOCKET` the way to the model: a Unix socket"},
			&cli.StringSliceFlag{Name: "env", Usage: "`NAME` pass this variable on; may be repeated"},
			&cli.StringSliceFlag{Name: "ro", Usage: "`PATH` show this file or directory; may be repeated"},
			&cli.StringSliceFlag{Name: "rw", Usage: "`DIR` let it write here, and begin here; may be repeated"},
		},
	}, {
		Name: box.Inside, ArgsUsage: "CMD [ARG...]", Usage: "process 1 of a box", Hidden: true,
		Action: boxed, SkipFlagParsing: true,
	}, {
		Name: box.InsideOnce, ArgsUsage: "CMD [ARG...]", Usage: "process 1 of the box of an effect", Hidden: true,
		Action: boxedOnce, SkipFlagParsing: true,
	}, {
		Name: "way", ArgsUsage: "HOST:PORT", Usage: "join what connects to a Unix socket to one host, and to no other name",
		Action: wayOut,
		Flags: []cli.Flag{confined,
			&cli.StringFlag{Name: "listen", Usage: "`PATH` make the socket here; default: systemd has made it"},
			&cli.StringFlag{Name: "owner", Usage: "`USER` for whom it is (needs root); default: you"},
			&cli.BoolFlag{Name: "plain", Usage: "the host speaks no TLS, so no name is looked at"},
		},
	}}
}

// copies returns the commands that remove and copy.
func copies() []*cli.Command {
	queue, policy := cmdline.QueueFlag(), cmdline.PolicyFlag()
	return []*cli.Command{{
		Name: "prune", ArgsUsage: "[ID]", Usage: "remove the files of tasks that ended long ago", Action: in(desk.QueueOutside, prune),
		Flags: []cli.Flag{queue, policy,
			&cli.StringFlag{Name: "older-than", Usage: "`D` that ended longer ago than this, such as 30d"},
		},
	}, {
		Name: "snapshot", ArgsUsage: "DIR", Usage: "make a copy that others can only read", Action: in(door.Queue, snapshot),
		Flags: []cli.Flag{queue,
			&cli.StringFlag{Name: "worker-group", Usage: "`GROUP` whose members may read it; of a queue on a server"},
		},
	}, {
		Name: "copy", Usage: "copy a queue that is on hold from a directory to a server, or back", Action: in(door.Queue, copyTo),
		Flags: []cli.Flag{queue,
			&cli.StringFlag{Name: "to", Usage: "`QUEUE` to copy to"},
		},
	}}
}

// in returns an action that has the queue, as open opens it.
func in(open func(*cli.Context) (door.Store, error), action func(*cli.Context, door.Store) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		s, err := open(c)
		if err != nil {
			return err
		}
		defer s.Close()
		return action(c, s)
	}
}

func notifyFlag() cli.Flag {
	return &cli.StringFlag{Name: "notify",
		Usage: "`CMD` start it in the end if tasks came to wait for a person"}
}

// maxFlag says how long health, and the page that tells what it finds, wait.
func maxFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "max",
		Usage: "`CODE=D` how long a finding waits, 0: for ever; default " + patient}
}
