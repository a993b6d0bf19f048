// Pulse-approve lets a person, and nothing but a person, say yes. See
// pulse-approve(1).
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
)

func main() { os.Exit(door.Main(app)) }

func app() *cli.App {
	queue, policy, confined := cmdline.QueueFlag(), cmdline.PolicyFlag(), cmdline.SandboxFlag()
	key, sender := desk.KeyFlag(), door.SenderFlag()
	signature := &cli.StringFlag{Name: "signature",
		Usage: "`FILE` the answer was signed elsewhere (statement), and this is the signature; - is stdin"}
	return &cli.App{
		Name:  "pulse-approve",
		Usage: "Say yes or no to what waits for a person; alone, to all of it, one after the other.",
		Flags: append([]cli.Flag{queue, policy, key, confined}, partFlags(sender)...), Action: walk,
		Commands: []*cli.Command{{
			Name: "yes", ArgsUsage: "ID...", Usage: "approve tasks", Action: yes,
			Flags: []cli.Flag{queue, policy, key, confined, signature},
		}, {
			Name: "no", ArgsUsage: "[ID...]", Usage: "refuse tasks, or all of a sender", Action: no,
			Flags: []cli.Flag{queue, policy, sender, confined, signature,
				&cli.StringFlag{Name: "reason", Usage: "`R` why, for the audit log"}},
		}, {
			Name: "correct", ArgsUsage: "ID", Usage: "change an effect in an editor, and approve what comes of it", Action: correct,
			Flags: []cli.Flag{queue, policy, key, confined},
		}, {
			Name: "grant", ArgsUsage: "[TARGET]", Usage: "say yes ahead, once, to a target", Action: grant,
			Flags: []cli.Flag{queue, policy, key, signature,
				&cli.StringFlag{Name: "task", Usage: "`ID` for this task only"}, confined,
				&cli.BoolFlag{Name: "any", Usage: "to any target"},
				&cli.DurationFlag{Name: "for", Value: approval.Lifetime, Usage: "`D` how long it is good; default 24h"}},
		}, {
			Name: "session", ArgsUsage: "[SENDER]", Usage: "trust an owner's mail more for a while", Action: session,
			Flags: []cli.Flag{queue, policy, key, confined, signature,
				&cli.DurationFlag{Name: "for", Usage: "`D` how long it lives: 1m to 24h"},
				&cli.IntFlag{Name: "max", Usage: "`N` how many messages may use it: 1 to 100"}},
		}, {
			Name: "statement", ArgsUsage: "[ID]", Action: statement,
			Usage: "print what a task, a grant or a session is about and, last, the line to sign elsewhere",
			Flags: []cli.Flag{queue, policy, confined,
				&cli.BoolFlag{Name: "no", Usage: "the line that refuses the task"},
				&cli.StringFlag{Name: "grant", Usage: "`TARGET` the line of a grant for a target"},
				&cli.BoolFlag{Name: "any", Usage: "the line of a grant for any target"},
				&cli.StringFlag{Name: "task", Usage: "`ID` the grant is for this task only"},
				&cli.StringFlag{Name: "session", Usage: "`SENDER` the line of a session"},
				&cli.DurationFlag{Name: "for", Usage: "`D` how long the grant or the session is good; default for a grant: 24h"},
				&cli.IntFlag{Name: "max", Usage: "`N` how many messages may use the session: 1 to 100"}},
		}, {
			Name: "take", ArgsUsage: "FILE...", Action: take,
			Usage: "take answers that were signed elsewhere: lines of statement, each with its signature",
			Flags: []cli.Flag{queue, policy, confined},
		}, {
			Name: "grants", Usage: "list grants and sessions", Action: grants,
			Flags: []cli.Flag{queue, confined, &cli.BoolFlag{Name: "json", Usage: "objects instead of a table"}},
		}, {
			Name: "revoke", ArgsUsage: "G", Usage: "take a grant back, or end a session", Action: revoke,
			Flags: []cli.Flag{queue, policy, confined},
		}, {
			Name: "consume", ArgsUsage: "TARGET",
			Usage: "spend a grant, for scripts; 77 if there is none", Action: consume,
			Flags: []cli.Flag{queue, policy, confined,
				&cli.StringFlag{Name: "task", EnvVars: []string{"PULSE_TASK"},
					Usage: "`ID` the task it is for; default: $PULSE_TASK"}},
		}},
	}
}
