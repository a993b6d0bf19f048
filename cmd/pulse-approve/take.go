package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/answers"
	"pulse/lib/approve/desk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// take takes every answer that it finds in files, and says of each in one line what became
// of it. What does not count changes nothing.
func take(c *cli.Context) error {
	t, err := desk.Take(c)
	if err != nil {
		return err
	}
	defer t.Close()
	r := &round{Taker: t, c: c}
	for _, name := range c.Args().Slice() {
		if err := r.file(name); err != nil {
			return err
		}
	}
	switch {
	case r.unread > 0:
		return fault.Failedf("split it, or take it away", "%d of %d files could not be read to the end", r.unread, c.NArg())
	case r.left > 0:
		return fault.Refusedf("pulse-approve statement ID prints what to sign", "%d of %d did not count", r.left, r.left+r.took)
	}
	return nil
}

// round is one take: how many answers counted, how many lines say that something did not,
// and how many files could not be read to the end.
type round struct {
	*desk.Taker
	c                  *cli.Context
	took, left, unread int
	most               int // of left: what comes after so many gets no line of its own
}

// mostLeft is how many lines say of the answers in one file that they were left. The others
// are counted, because anybody may write a million of them.
const mostLeft = 10_000

// file takes the answers of one file. It returns an error if it can't go on.
func (r *round) file(name string) error {
	r.most = r.left + mostLeft
	text, err := desk.ReadSpooled(r.c, name)
	if err != nil {
		r.unread++
		return r.say(name, 0, "", "", err)
	}
	found := false
	for a := range answers.All(text) {
		found = true
		what, became, err := r.one(&a)
		if err = r.say(name, a.At, what, became, err); err != nil {
			return err
		}
	}
	switch {
	case !found:
		return r.say(name, 0, "", "", errors.New("it holds no answer"))
	case r.left > r.most:
		_, err := fmt.Fprintf(r.c.App.Writer, "%s: %d more were left\n", escape.Line(name), r.left-r.most)
		return err
	}
	return nil
}

// say says what became of an answer, and returns the error if that is not about the answer.
func (r *round) say(name string, at int, what, became string, err error) error {
	where := escape.Line(name)
	if at > 0 {
		where += fmt.Sprintf(":%d", at)
	}
	if what != "" {
		where += ": " + what
	}
	if err != nil {
		r.left++
		became = "left: " + err.Error()
	} else {
		r.took++
	}
	stop := err != nil && (r.c.Context.Err() != nil || fault.KindOf(err) == fault.Temporary)
	if err == nil || stop || r.left <= r.most {
		if _, err := fmt.Fprintln(r.c.App.Writer, where+": "+escape.Message(became)); err != nil {
			return err
		}
	}
	if stop {
		return err
	}
	return nil
}

// one takes an answer. what names what it is for, and became is what it came to.
func (r *round) one(a *answers.Answer) (what, became string, err error) {
	if a.Line == nil {
		return "", "", a.Whole()
	}
	l, err := approval.ParseLine(a.Line)
	switch {
	case err != nil:
		return "", "", err
	case l.Grant != nil:
		what, became = "grant to "+brief(orAny(l.Grant.Target)), "granted"
	case l.Session != nil:
		what, became = "session of "+brief(escape.ASCII(l.Session.Sender)), "opened"
	case l.No:
		what, became = "no to task "+brief(escape.ASCII(l.Approval.Task)), "refused"
	default:
		what, became = "yes to task "+brief(escape.ASCII(l.Approval.Task)), "approved"
	}
	if err := a.Whole(); err != nil {
		return what, "", err
	}
	switch {
	case l.Grant != nil:
		err = r.Grant(*l.Grant, a.Armor)
	case l.Session != nil:
		err = r.Session(*l.Session, a.Armor)
	case !task.ValidID(l.Approval.Task):
		err = store.ErrUnknown
	default:
		err = r.Answer(l.Approval.Task, l.No, "", a)
		if r.Left() != "" {
			became = "partly approved: it waits for " + r.Left()
		}
	}
	return what, became, err
}

// mostWhat bounds what a line says of an answer that anybody may have written, in bytes.
const mostWhat = 320

// brief cuts ASCII that is longer.
func brief(s string) string {
	if len(s) > mostWhat {
		return s[:mostWhat] + "..."
	}
	return s
}
