package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/answers"
	"pulse/lib/approve/desk"
	"pulse/lib/queue"
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
	if r.left > 0 {
		return fault.Refusedf("pulse-approve statement ID prints what to sign", "%d of %d did not count", r.left, r.left+r.took)
	}
	return nil
}

// round is one take: how many answers counted, and how many lines say that something did not.
type round struct {
	*desk.Taker
	c          *cli.Context
	took, left int
}

// file takes the answers of one file. It returns an error if it can't go on.
func (r *round) file(name string) error {
	text, err := desk.ReadSpooled(r.c, name)
	if err != nil {
		return r.say(name, 0, "", "", err)
	}
	list, more := answers.Read(text)
	if len(list) == 0 {
		return r.say(name, 0, "", "", errors.New("it holds no answer"))
	}
	for i := range list {
		what, became, err := r.one(&list[i])
		if err := r.say(name, list[i].At, what, became, err); err != nil {
			return err
		}
	}
	if more {
		return r.say(name, 0, "", "", errTooMany)
	}
	return nil
}

var errTooMany = fmt.Errorf("more than %d answers: the others were not read", answers.Most)

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
	if _, werr := fmt.Fprintln(r.c.App.Writer, where+": "+escape.Message(became)); werr != nil {
		return werr
	}
	if err != nil && (r.c.Context.Err() != nil || fault.KindOf(err) == fault.Temporary) {
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
		err = queue.ErrUnknown
	default:
		err = r.Answer(l.Approval.Task, l.No, "", a)
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
