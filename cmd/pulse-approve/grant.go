package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/authorize/decision"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
)

func grant(c *cli.Context) error {
	if c.IsSet("signature") {
		return signedGrant(c)
	}
	g, err := wanted(c, c.Args().First())
	if err != nil {
		return err
	}
	d, err := desk.Sit(c, desk.Yes)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := useful(d.Policy, &g); err != nil {
		return err
	}
	g.Level = d.Level
	if d.Signs() {
		g.Given, g.Expires = g.Given.Truncate(time.Second), g.Expires.Truncate(time.Second)
	}
	if err := d.Confirm(describe(&g), "grant this once"); err != nil {
		return err
	}
	if err := d.Sign(g.Statement, &g.Level, &g.Signer, &g.Signature); err != nil {
		return err
	}
	return queue.Update(d.Queue, func(tx *queue.Tx) error { return queue.Grant(tx, g, time.Now()) })
}

// wanted makes the grant for a target that the command line asks for.
func wanted(c *cli.Context, target string) (g approval.Grant, err error) {
	if (target == "") != c.Bool("any") {
		return g, fault.Usagef("pulse-approve grant TARGET, or pulse-approve grant --any",
			"want a target or --any, and not both")
	}
	if id := c.String("task"); id != "" && !task.ValidID(id) {
		return g, fault.Usagef("pulse-queue list", "--task: %s is no task id", id)
	}
	life := approval.Lifetime
	if c.IsSet("for") {
		life = c.Duration("for")
	}
	if life < time.Second {
		return g, fault.Usagef("", "--for: want at least 1s")
	}
	now := time.Now().UTC()
	return approval.Grant{
		ID: approval.Nonce(), Target: target, Task: c.String("task"), By: cmdline.User(),
		Given: now, Expires: now.Add(life),
	}, nil
}

// useful refuses a grant that consume and run would not take under the policy. Any other has its
// target in the form that is compared from then on.
func useful(p *policy.Policy, g *approval.Grant) error {
	if g.Target == "" {
		return nil
	}
	if why := decision.Barred(p, g.Target); why != "" {
		return fault.Refusedf("see outbound.allow in man 5 pulse-policy", "a grant for %s would be of no use: %s", escape.ASCII(g.Target), why)
	}
	g.Target = p.Outbound.Spell(g.Target)
	return nil
}

func describe(g *approval.Grant) []string {
	lines := []string{screen.Fact("grant", "one effect, once, until %s", g.Expires.Format(time.RFC3339))}
	return append(lines, "target   "+orAny(g.Target), "task     "+orAny(g.Task))
}

func orAny(s string) string {
	if s == "" {
		return "any"
	}
	return escape.ASCII(s)
}

func grants(c *cli.Context) error {
	s, err := door.Enter(c)
	if err != nil {
		return err
	}
	defer s.Close()
	var list []approval.Grant
	var open []approval.Session
	err = s.View(func(v store.View) (err error) {
		if list, err = queue.GrantsOf(v); err == nil {
			open, err = queue.SessionsOf(v)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeObjects(c.App.Writer, list, open)
	}
	tab := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "ID\tTARGET\tTASK\tEXPIRES\tBY")
	for _, g := range list {
		cells := []string{g.ID, orAny(g.Target), orAny(g.Task), until(g.Expires), escape.Line(g.By)}
		fmt.Fprintln(tab, strings.Join(cells, "\t"))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	return writeSessions(c.App.Writer, open)
}

func writeObjects(out io.Writer, grants []approval.Grant, sessions []approval.Session) error {
	var b []byte
	for i := range grants {
		b = append(grants[i].Append(b), '\n')
	}
	for i := range sessions {
		b = append(sessions[i].Append(b), '\n')
	}
	_, err := out.Write(b)
	return err
}

func until(expires time.Time) string {
	if !time.Now().Before(expires) {
		return "expired"
	}
	return expires.Format(time.RFC3339)
}

func revoke(c *cli.Context) error {
	d, err := desk.Sit(c, desk.No)
	if err != nil {
		return err
	}
	defer d.Close()
	id := c.Args().First()
	list, err := store.Read(d.Queue, queue.SessionsOf)
	if err != nil {
		return err
	}
	end, lines := queue.Revoke, []string{screen.Fact("grant", "%s", id)}
	for i := range list {
		if s := &list[i]; s.ID == id {
			end = queue.EndSession
			lines = []string{screen.Fact("session", "%s, %s", id, left(s)), "sender   " + escape.ASCII(s.Sender)}
		}
	}
	if err := d.Confirm(lines, "revoke it"); err != nil {
		return err
	}
	err = queue.Update(d.Queue, func(tx *queue.Tx) error {
		return end(tx, id, cmdline.User(), d.Level, time.Now())
	})
	if errors.Is(err, queue.ErrNoGrant) || errors.Is(err, queue.ErrNoSession) {
		return fault.Failedf("pulse-approve grants", "%w", err)
	}
	return err
}
