// Pulse-queue keeps accepted tasks in flat files until they are done: it loses
// none and runs none twice. See pulse-queue(1).
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
	"pulse/lib/desk"
)

func main() { os.Exit(cmdline.Main(app())) }

func app() *cli.App {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	return &cli.App{
		Name:  "pulse-queue",
		Usage: "Keep tasks in flat files until they are done: lose none, run none twice.",
		Commands: []*cli.Command{
			initCommand(queue),
			{
				Name: "add", Usage: "take records from stdin, print a receipt for each", Action: add,
				Flags: []cli.Flag{queue, policy, cmdline.MaxRecordFlag(), notifyFlag(), confined},
			},
			listCommand(queue, confined),
			showCommand(queue, policy, confined),
			logCommand(queue, confined),
			runCommand(queue, policy),
			{Name: "outbox", Usage: "print what workers proposed and nobody has taken yet", Action: outbox, Flags: []cli.Flag{queue, confined}},
			submitCommand(queue, policy),
			{Name: "cancel", ArgsUsage: "ID", Usage: "end a task that is scheduled or running", Action: cancel, Flags: []cli.Flag{queue}},
			{
				Name: "requeue", ArgsUsage: "ID...", Usage: "put tasks that have ended back, once a person said yes to each", Action: requeue,
				Flags: []cli.Flag{queue, policy, desk.KeyFlag(), confined},
			},
			holdCommand(queue), releaseCommand(queue, confined),
			{
				Name: "verify", Usage: "check the audit log and the tasks against each other", Action: verify,
				Flags: []cli.Flag{queue, confined, &cli.StringFlag{Name: "head", Usage: "`H` an earlier head that must be in the chain"}},
			},
			statsCommand(queue, confined),
			{
				Name: "health", Usage: "say what needs somebody; for cron and monitoring", Action: checkHealth,
				Flags: []cli.Flag{queue, policy, confined,
					&cli.StringFlag{Name: "max-silence", Value: "24h", Usage: "`D` how long no mail may come in; 0: for ever; default 24h"},
					&cli.StringFlag{Name: "max-refused", Value: "7d", Usage: "`D` how long none of it may be taken; 0: for ever; default 7d"},
					&cli.StringFlag{Name: "max-waiting", Value: "2h", Usage: "`D` how long a task may wait; default 2h"},
					&cli.StringFlag{Name: "max-putoff", Value: "24h", Usage: "`D` how long workers may put a task off; 0: for ever; default 24h"},
					&cli.StringFlag{Name: "accept", Usage: "`CODE,...` say nothing of these"},
					&cli.BoolFlag{Name: "json", Usage: "objects instead of lines"},
				},
			},
			{
				Name: "prune", Usage: "remove the files of tasks that ended long ago", Action: prune,
				Flags: []cli.Flag{queue, &cli.StringFlag{Name: "older-than", Usage: "`D` that ended longer ago than this, such as 30d"}},
			},
			{Name: "snapshot", ArgsUsage: "DIR", Usage: "make a copy that others can only read", Action: snapshot, Flags: []cli.Flag{queue}},
		},
	}
}
