package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/report"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// selection says which lines log prints. An empty field admits all.
type selection struct {
	since   time.Time
	task    string
	outcome terms.Outcome
	event   task.Event
	why     bool // those of what was not allowed, or was decided as outcome says
}

// Log prints the lines of the audit log that the flags admit.
func Log(c *cli.Context, s door.Store) error {
	sel, err := newSelection(c, time.Now())
	if err != nil {
		return err
	}
	if err := sel.find(s); err != nil {
		return err
	}
	lines, err := linesAbout(s, sel.since, sel.task)
	if err != nil {
		return err
	}
	out := cmdline.Output(c)
	tab := table{out: out, widths: logColumns}
	if !c.Bool("json") {
		tab.row("TIME", "EVENT", "STATE", "ID", "ACTION", "SENDER", "REASON", "BY")
	}
	err = lines(func(raw []byte, l *audit.Line) error {
		if err := c.Context.Err(); err != nil || !sel.has(l) {
			return err
		}
		if c.Bool("json") {
			out.Write(raw)
			return out.WriteByte('\n')
		}
		tab.row(told(l)...)
		if sel.why && l.Event != audit.Limited {
			fmt.Fprintln(out, "       ", report.Cause(l))
		}
		return nil
	})
	return errors.Join(err, out.Flush())
}

func newSelection(c *cli.Context, now time.Time) (sel selection, err error) {
	sel = selection{task: c.String("task"), why: c.Bool("why")}
	if sel.outcome, err = cmdline.Choice(c, "outcome", terms.Outcomes); err != nil {
		return sel, err
	}
	if sel.event, err = cmdline.Choice(c, "event", slices.Concat(task.Events, audit.Events)); err != nil {
		return sel, err
	}
	sel.since, err = cmdline.Since(c, now)
	return sel, err
}

// find completes the beginning of an id in --task.
func (sel *selection) find(s store.Store) error {
	if sel.task == "" || task.ValidID(sel.task) {
		return nil
	}
	if strings.Trim(sel.task, "0123456789abcdef") != "" || len(sel.task) < queue.LeastPrefix {
		return fault.Usagef("pulse-queue list --all",
			"--task: %s is not the beginning of an id: want %d digits or more", sel.task, queue.LeastPrefix)
	}
	id, err := logged(s, sel.task)
	sel.task = id
	return desk.Unknown(err)
}

func (sel *selection) has(l *audit.Line) bool {
	outcome := l.Outcome
	if l.Event == task.Refused { // for the sender's quota, too, whatever the policy says
		outcome = terms.Reject
	}
	about := l.Task == sel.task || l.Grant != nil && l.Grant.Task == sel.task
	if l.Event == audit.Judged && sel.outcome != "" && sel.event != audit.Judged {
		return false // a worker's word is not among the decisions
	}
	return (sel.task == "" || about) && (!sel.why || barred(l, sel.outcome)) &&
		(sel.outcome == "" || outcome == sel.outcome) && (sel.event == "" || l.Event == sel.event)
}

// logColumns are fixed widths, as those of list.
var logColumns = []int{20, 9, 28, 8, 16, 24, 22, 0}

func told(l *audit.Line) []string {
	state := "-"
	switch {
	case l.Event == audit.Resurfaced:
		state = string(l.From)
	case l.From != "" || l.To != "":
		state = strings.TrimSpace(string(l.From) + " -> " + string(l.To))
	}
	by, reason := l.By, l.Change.Reason
	if l.Finding != nil {
		state, reason, by = string(l.Finding.What), l.Finding.Code, l.Finding.About
	}
	switch {
	case l.Event == audit.Judged:
		by = judged(l)
	case l.Event == audit.Labelled:
		by = l.Labels.String()
	case by == "" && l.Account != "":
		by = "as " + l.Account
	}
	return []string{
		l.Time.UTC().Format(time.RFC3339), escape.ASCII(string(l.Event)), escape.ASCII(state),
		cell(l.Task[:min(len(l.Task), shortID)]), cell(string(l.Action)), person(l.Sender), cmp.Or(escape.Line(reason), "-"), cmp.Or(escape.Line(by), "-"),
	}
}

// barred reports whether a line says that something was not allowed, or was decided as wanted.
func barred(l *audit.Line, want terms.Outcome) bool {
	switch l.Event {
	case task.Refused, task.Parked, task.Dropped, audit.Limited:
		return true
	case task.Added, audit.Judged:
		return want != "" || l.Outcome != terms.Allow || l.Change.Reason == store.ReasonSessionSpent
	}
	return false
}
