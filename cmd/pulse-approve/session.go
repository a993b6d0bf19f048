package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// session opens a session. The session begins when the code was typed, not when it was
// asked for: mail that was sent before a person said yes must not use it.
func session(c *cli.Context) error {
	if c.IsSet("signature") {
		return signedSession(c)
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	s, err := asked(c, p, c.Args().First())
	if err != nil {
		return err
	}
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	lines, err := opening(c, p, d.Queue, &s)
	if err != nil {
		return err
	}
	if err := d.Confirm(lines, "open this session"); err != nil {
		return err
	}
	s.Level, s.Opened = d.Level, time.Now().UTC()
	if d.Signs() { // in whole seconds, and not before the code
		s.Opened = s.Opened.Add(time.Second - 1).Truncate(time.Second)
	}
	s.Expires = s.Opened.Add(c.Duration("for").Truncate(time.Second))
	if err := d.Sign(s.Statement, &s.Level, &s.Signer, &s.Signature); err != nil {
		return err
	}
	return queue.Update(d.Queue, func(tx *queue.Tx) error { return queue.OpenSession(tx, s) })
}

// opening says what a session would be, and which one it would end.
func opening(c *cli.Context, p *policy.Policy, q door.Store, s *approval.Session) ([]string, error) {
	lines := []string{
		screen.Fact("session", "for %s, %s at most", c.Duration("for"), messages(s.Max)),
		"sender   " + escape.ASCII(s.Sender),
		screen.Fact("allows", "%s", permitted(p)),
	}
	list, err := store.Read(q, queue.SessionsOf)
	for _, old := range list {
		if address.Equal(old.Sender, s.Sender) && time.Now().Before(old.Expires) {
			lines = append(lines, screen.Fact("ends", "session %s, %s", old.ID, left(&old)))
		}
	}
	return lines, err
}

// asked makes the session for a sender that the command line asks for, without its times.
func asked(c *cli.Context, p *policy.Policy, sender string) (s approval.Session, err error) {
	i := slices.IndexFunc(p.Owners, func(o string) bool { return address.Equal(o, sender) })
	const usage = "pulse-approve session SENDER --for 1h --max 5"
	switch d, n := c.Duration("for"), c.Int("max"); {
	case i < 0:
		return s, fault.Usagef("owners in the policy: man 5 pulse-policy", "%s: %s is no owner", p.Name, sender)
	case !c.IsSet("for"):
		return s, fault.Usagef(usage, "session needs --for")
	case !c.IsSet("max"):
		return s, fault.Usagef(usage, "session needs --max")
	case d < approval.LeastSession || d > approval.MostSession:
		return s, fault.Usagef(usage, "--for %s: want %s to %s", d, approval.LeastSession, approval.MostSession)
	case n < 1 || n > approval.MostUses:
		return s, fault.Usagef(usage, "--max %d: want 1 to %d", n, approval.MostUses)
	default:
		return approval.Session{
			ID: approval.Nonce(), Sender: p.Owners[i], Max: n, Left: n, By: cmdline.User(),
		}, nil
	}
}

// permitted names the actions that the policy allows in a session without asking.
func permitted(p *policy.Policy) string {
	var list []string
	for _, a := range terms.Actions {
		if p.Matrix[terms.ApprovedSession].Outcome(a) == terms.Allow {
			list = append(list, string(a))
		}
	}
	if list == nil {
		return "nothing that is not asked about"
	}
	return strings.Join(list, ", ")
}

// writeSessions prints a table of sessions, if there are any.
func writeSessions(out io.Writer, list []approval.Session) error {
	if len(list) == 0 {
		return nil
	}
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\nSESSION\tSENDER\tLEFT\tEXPIRES\tBY")
	for i := range list {
		s := &list[i]
		cells := []string{s.ID, escape.ASCII(s.Sender), left(s), until(s.Expires), escape.Line(s.By)}
		fmt.Fprintln(tab, strings.Join(cells, "\t"))
	}
	return tab.Flush()
}

func messages(n int) string {
	if n == 1 {
		return "1 message"
	}
	return fmt.Sprintf("%d messages", n)
}

func left(s *approval.Session) string { return fmt.Sprintf("%d of %d", s.Left, s.Max) }
