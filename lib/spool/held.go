package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"

	"pulse/lib/audit"
	"pulse/lib/task"
)

// In a queue that has approvers the owner of a file in approvals or grants says who
// gave the yes, if only he could write it (ReadOwned): the kernel wrote that down, and
// nobody can forge it who can write the queue and the log. So
//
//   - what a person answers, and he alone, is written as his own, by the command that
//     he answered and never by one that carries out what the log says after a crash:
//     else a line forged in the log would be the yes of whoever comes next,
//   - what holds this yes already is not written again, and is moved aside while an
//     effect runs, for it may have to come back.
//
// What is done again after a crash is nobody's yes, and a person is asked anew.

func grantFile(id string) string { return grantDir + "/" + id + ".json" }

func approvalFile(id string) string { return approvalDir + "/" + id + ".json" }

// spentFile is where an approval lies while the effect runs that was started on it.
func spentFile(id string) string { return approvalDir + "/" + id + spentSuffix }

const spentSuffix = ".spent"

// answers are the events by which a person says yes.
var answers = []task.Event{task.Approved, task.Requeued, audit.Granted, audit.SessionOpened}

// answer writes what a line says of a yes.
func (a *applier) answer(name string, l *audit.Line, b []byte) error {
	if !a.shared || !a.first || !slices.Contains(answers, l.Event) {
		return a.write(name, b)
	}
	tmp := tmpDir + "/answer"
	if err := a.disk.WriteOwned(tmp, append(b, '\n')); err != nil {
		return err
	}
	if err := a.disk.Rename(tmp, name); err != nil {
		return err
	}
	a.wrote(name)
	return nil
}

// kept carries out what a line says of a task's approval.
func (a *applier) kept(l *audit.Line) error {
	name, spent := approvalFile(l.Task), spentFile(l.Task)
	// What was approved in this very commit, by grants, is nobody's and need not come back.
	if l.Approval == nil && l.Event == task.Started && a.first && !slices.Contains(a.wet, name) {
		if err := a.rename(name, spent); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if l.Approval == nil {
		return errors.Join(a.remove(name), a.remove(spent))
	}
	b := l.Approval.Append(nil)
	switch {
	case a.first && a.holds(name, b):
	case a.first && a.holds(spent, b):
		return a.rename(spent, name)
	case len(l.Approval.Grants) > 0: // made by a run: the grants are a person's
		if err := a.write(name, b); err != nil {
			return err
		}
	default:
		if err := a.answer(name, l, b); err != nil {
			return err
		}
	}
	return a.remove(spent)
}

// holds reports whether a file holds this object, and nothing else.
func (a *applier) holds(name string, b []byte) bool {
	have, err := a.disk.Read(name)
	return err == nil && bytes.Equal(have, append(slices.Clip(b), '\n'))
}
