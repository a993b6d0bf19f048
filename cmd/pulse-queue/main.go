// Pulse-queue keeps accepted tasks in flat files until they are done: it loses
// none and runs none twice. See pulse-queue(1).
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/cmdline"
)

func main() { os.Exit(cmdline.Main(app())) }

func app() *cli.App {
	queue, policy := cmdline.QueueFlag(), cmdline.PolicyFlag()
	return &cli.App{
		Name:  "pulse-queue",
		Usage: "Keep tasks in flat files until they are done: lose none, run none twice.",
		Commands: []*cli.Command{
			{
				Name: "init", Usage: "make a queue", Action: initQueue,
				Flags: []cli.Flag{queue, &cli.BoolFlag{Name: "unsafe", Usage: "for trials: also take what --unsafe-allow-all decided"}},
			},
			{
				Name: "add", Usage: "take records from stdin, print a receipt for each", Action: add,
				Flags: []cli.Flag{queue, policy, cmdline.MaxRecordFlag()},
			},
			{
				Name: "list", Usage: "list the tasks that wait or run", Action: list,
				Flags: []cli.Flag{queue,
					&cli.BoolFlag{Name: "all", Usage: "in every state"},
					&cli.StringFlag{Name: "state", Usage: "`S,...` in these states"},
					&cli.BoolFlag{Name: "json", Usage: "records instead of a table"},
				},
			},
			{
				Name: "show", ArgsUsage: "ID", Usage: "tell a task's whole story", Action: show,
				Flags: []cli.Flag{queue, &cli.BoolFlag{Name: "json", Usage: "the record instead of text"}},
			},
			runCommand(queue, policy),
			{
				Name: "submit", ArgsUsage: "TEXT", Usage: "make a task of your own", Action: submit,
				Flags: []cli.Flag{queue, policy, &cli.StringFlag{Name: "action", Usage: "`A` what is asked for, such as read_public"}},
			},
			{Name: "hold", Usage: "stop every run until release", Action: hold, Flags: []cli.Flag{queue}},
			{Name: "release", Usage: "let runs start tasks again", Action: release, Flags: []cli.Flag{queue}},
			{
				Name: "verify", Usage: "check the audit log and the tasks against each other", Action: verify,
				Flags: []cli.Flag{queue, &cli.StringFlag{Name: "head", Usage: "`H` an earlier head that must be in the chain"}},
			},
			{
				Name: "stats", Usage: "count the tasks", Action: stats,
				Flags: []cli.Flag{queue, &cli.BoolFlag{Name: "json", Usage: "an object instead of a table"}},
			},
		},
	}
}
