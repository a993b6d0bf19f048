package inspect

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
)

// about returns the lines of the log about a task, oldest first.
func about(s store.Store, id string) (list []audit.Line, err error) {
	lines, err := linesAbout(s, time.Time{}, id)
	if err != nil {
		return nil, err
	}
	err = lines(func(_ []byte, l *audit.Line) error {
		if l.Task == id || l.Parent == id && l.Event != audit.Noted || l.Grant != nil && l.Grant.Task == id {
			list = append(list, *l)
		}
		return nil
	})
	return list, err
}

// whole completes the beginning of the id of a task or, if no task has it, of a record
// that was refused.
func whole(s store.Store, prefix string) (string, error) {
	id, err := queue.Whole(s, prefix)
	if !errors.Is(err, store.ErrUnknown) || len(prefix) < queue.LeastPrefix ||
		strings.Trim(prefix, "0123456789abcdef") != "" {
		return id, err
	}
	return logged(s, prefix)
}

// logged completes the beginning of an id from the log, which has lines about tasks that
// have no file.
func logged(s store.Store, prefix string) (id string, err error) {
	lines, err := linesAbout(s, time.Time{}, `"`+prefix)
	if err != nil {
		return "", err
	}
	err = lines(func(_ []byte, l *audit.Line) error {
		if !strings.HasPrefix(l.Task, prefix) || l.Task == id {
			return nil
		}
		if id != "" {
			return fmt.Errorf("%s is the beginning of more than one id, such as %s and %s", prefix, id, l.Task)
		}
		id = l.Task
		return nil
	})
	if err == nil && id == "" {
		err = fmt.Errorf("%w: %s", store.ErrUnknown, prefix)
	}
	return id, err
}

// linesAbout returns a reader of the lines of the log that hold a text. The log may be
// long, so it is read after the View.
func linesAbout(s store.Store, since time.Time, text string) (store.Lines, error) {
	return store.Read(s, func(v store.View) (store.Lines, error) { return v.Lines(since, store.About(text)) })
}
