package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/address"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/sandbox"
	"pulse/lib/shared/terms"
)

func permitsCommand(policy cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "permits", ArgsUsage: "TARGET...", Action: permits,
		Usage: "say what the policy decides on an effect that goes to these targets",
		Flags: []cli.Flag{policy, cmdline.SandboxFlag(),
			&cli.StringFlag{Name: "action", Usage: "`A` of the effect; default: that of the tool, else external_send"},
			&cli.StringFlag{Name: "tool", Usage: "`T` that the effect names"},
			&cli.StringFlag{Name: "sender", Usage: "`ADDR` with whose ask it began; default: one of pulse-queue submit"},
		},
	}
}

// permits decides on the effect that the command line describes, as authorize does on a record
// of it.
func permits(c *cli.Context) error {
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	who, err := begun(p, c.String("sender"))
	if err != nil {
		return err
	}
	r := request.Request{Tool: c.String("tool"), Target: c.Args().Slice()}
	if r.Action = terms.Action(c.String("action")); r.Action == "" {
		if r.Action = terms.ExternalSend; r.Tool != "" {
			r.Action = tools.Action(p, r.Tool)
		}
	}
	if !r.Action.Valid() {
		return fault.Usagef("man pulse-authorize", "--action: there is no action %s", escape.ASCII(string(r.Action)))
	}
	if _, err := cmdline.Confine(c, sandbox.Pipe(workspace.Named(p)...)); err != nil {
		return err
	}
	d := decision.Decide(decision.Input{Identity: who, Request: &r, Policy: p, World: workspace.World{}})
	if d.Outcome == terms.Reject {
		return fault.Refusedf(d.Reason.Advice(), "%s by %s: %s", d.Reason, escape.Line(d.Rule), escape.Line(d.Why))
	}
	_, err = fmt.Fprintln(c.App.Writer, d.Outcome)
	return err
}

// begun returns the identity of an effect whose root ask came from a sender, as if it had been
// proven, or from pulse-queue submit.
func begun(p *policy.Policy, sender string) (*identity.Identity, error) {
	who := identity.Identity{Sender: sender, Trust: terms.System, Via: identity.ViaAgent, Verified: true}
	if sender == "" {
		return &who, nil
	}
	if err := policy.Address(sender); err != nil {
		return nil, fault.Usagef("", "--sender: %w", err)
	}
	switch {
	case address.Listed(p.Owners, sender):
		who.Trust = terms.OwnerVerifiedEmail
	case address.Listed(p.AllowedExternal, sender):
		who.Trust = terms.ExternalVerified
	default:
		who.Trust, who.Verified = terms.Unknown, false
	}
	return &who, nil
}
