package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/layout"
	"pulse/lib/classify/receivers"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
)

func initCommand() *cli.Command {
	return &cli.Command{
		Name: "init", Usage: "print a policy to start from", Action: initPolicy,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "owner", Usage: "`ADDR` your address"},
			&cli.StringFlag{Name: "receiver",
				Usage: "`NAME` who receives your mail, such as gmail; list prints all"},
			&cli.StringSliceFlag{Name: "agent",
				Usage: "`ADDR` an address of the agent; default: the user of --inbox. May be repeated"},
			&cli.StringFlag{Name: "inbox", Usage: "`URL` of the mailbox, imaps://user@host/MAILBOX"},
			&cli.StringFlag{Name: "dir", Usage: "`DIR` write the policy, environment and crontab there, such as /etc/pulse"},
			&cli.StringFlag{Name: "signer", Usage: "`KEY.pub` the key that has to sign each yes"},
		},
	}
}

// begin is a command line that makes a policy, for hints.
const begin = cmdline.InitPolicy

// initPolicy prints a policy to start from, everything shut except the owner's row; or, with
// --dir, writes it with the other files of a gate.
func initPolicy(c *cli.Context) error {
	if c.String("receiver") == "list" {
		return listReceivers(c)
	}
	if err := policy.Address(c.String("owner")); err != nil {
		return fault.Usagef(begin, "--owner: %w", err)
	}
	text, err := policyOf(c)
	if err != nil {
		return err
	}
	if c.String("dir") != "" {
		return initFiles(c, text)
	}
	if c.String("signer") != "" {
		return fault.Usagef("--dir /etc/pulse", "--signer: without --dir the key has no place")
	}
	_, err = io.WriteString(c.App.Writer, text)
	return err
}

// policyOf returns the policy for an owner, a mailbox and what is known of its server.
func policyOf(c *cli.Context) (string, error) {
	inbox, err := inboxOf(c)
	if err != nil {
		return "", err
	}
	agents, err := agentsOf(c, inbox)
	if err != nil {
		return "", err
	}
	r, ok := receivers.BySource(strings.ToLower(inbox))
	if name := c.String("receiver"); name != "" {
		if r, ok = receivers.ByName(name); !ok {
			return "", unknownReceiver(name)
		}
	}
	if !ok {
		return layout.Policy(c.String("owner"), agents, nil), nil
	}
	return layout.Policy(c.String("owner"), agents, &r), nil
}

// initFiles writes the files of a gate and says what comes next.
func initFiles(c *cli.Context, text string) error {
	inbox := c.String("inbox")
	if inbox == "" {
		return fault.Usagef("pulse-authorize init --owner you@example.com --inbox imaps://you@imap.example.com/INBOX --dir "+escape.Shell(c.String("dir")), "--dir wants --inbox as well")
	}
	p, err := layout.At(c.String("dir"))
	if err != nil {
		return err
	}
	approval, keys, err := p.Approval(c.String("owner"), c.String("signer"))
	if err != nil {
		return err
	}
	if err := p.Write(append(keys, layout.File{Name: "policy.toml", Text: text + approval},
		layout.File{Name: "environment", Text: p.Environment(inbox)}, layout.File{Name: "crontab", Text: p.Crontab()})); err != nil {
		return err
	}
	_, err = io.WriteString(c.App.Writer, p.Next())
	return err
}

// inboxOf returns the mailbox that --inbox names, if it does. Anyone may read the file that
// it is written to.
func inboxOf(c *cli.Context) (string, error) {
	const like = "--inbox imaps://you@imap.example.com/INBOX"
	inbox := c.String("inbox")
	if inbox == "" {
		return "", nil
	}
	_, rest, ok := strings.Cut(inbox, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, host, at := cutLast(authority, "@")
	switch {
	case at && strings.Contains(user, ":"):
		return "", fault.Usagef(like+", and the password into the file password", "--inbox has a password in it")
	case !ok || host == "" || !layout.IsPlain(inbox, "%?&;!*()[]#"):
		return "", fault.Usagef(like+", with other characters as %20", "--inbox: %q is not the URL of a mailbox", inbox)
	}
	return inbox, nil
}

// agentsOf returns the addresses that the agent's mail goes to: those of --agent, else that of the
// mailbox. No policy begins without them: whatever an owner, or the responder of an owner who is
// away, wrote to anybody could be sent on to the agent, and would be a command.
func agentsOf(c *cli.Context, inbox string) ([]string, error) {
	agents := c.StringSlice("agent")
	if own := addressOf(inbox); own != "" && len(agents) == 0 {
		agents = []string{own}
	}
	if len(agents) == 0 {
		return nil, fault.Usagef("--agent agent@example.com, once for each address that the agent's mail goes to",
			"the agent has no address: neither --agent nor the user of --inbox is one")
	}
	for _, a := range agents {
		if err := policy.Address(a); err != nil {
			return nil, fault.Usagef("--agent agent@example.com", "--agent: %w", err)
		}
	}
	return agents, nil
}

// addressOf returns the address whose mail is in a mailbox, if its user is one.
func addressOf(inbox string) string {
	_, rest, _ := strings.Cut(inbox, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, _, _ := cutLast(authority, "@")
	user = strings.ReplaceAll(user, "%40", "@")
	if policy.Address(user) != nil {
		return ""
	}
	return user
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

// unknownReceiver names the presets, those first that may have been meant.
func unknownReceiver(name string) error {
	names := receivers.Nearest(name)
	return fault.Usagef(begin+" --receiver "+names[0],
		"--receiver: nothing is known of %s; known are %s", name, strings.Join(names, ", "))
}

// listReceivers prints the presets: how each is read, and what that was measured on.
func listReceivers(c *cli.Context) error {
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "RECEIVER\tVERDICT\tEVIDENCE\tAUTHSERV_ID\tMEASURED\tALSO CALLED")
	for _, r := range receivers.All() {
		id, verdict, evidence := strings.Join(r.IDs, " "), string(r.Verdict), string(r.Evidence)
		switch {
		case r.Probed:
			id, verdict, evidence = "-", "(off)", string(policy.ByDKIM)
		case r.Yours && r.Verdict != policy.ByNone:
			id = "(yours)"
		case id == "":
			id = "-"
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, verdict, evidence, id, cmp.Or(r.Measured, "nothing"), strings.Join(r.Aliases, " "))
	}
	return tab.Flush()
}
