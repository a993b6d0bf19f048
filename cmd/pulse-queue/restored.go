package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// releaseRestored asks a person whether a queue that lacks lines is to go on, as it is or with
// what became of its tasks in the queue that was put aside.
func releaseRestored(c *cli.Context) error {
	learning, err := learn(c) // first: who sits at the desk is confined to the queue
	if err != nil {
		return err
	}
	d, err := desk.Sit(c, desk.No)
	if err != nil {
		return err
	}
	defer d.Close()
	lost, err := store.Read(d.Queue, store.View.Lost)
	if err != nil {
		return err
	}
	if why := d.Queue.Forgetful(); lost == "" && why != nil {
		return fault.Failedf("pulse-queue health", "what was committed here is not known: %w", why)
	}
	if lost == "" && !c.IsSet("was") { // with it, a machine that has noted nothing has a use for it, too
		return fault.Failedf(
			"run it as the account whose run or health says so: sudo -u USER pulse-queue release --restored",
			"the queue has all that %s saw committed", cmdline.User())
	}
	if err := d.Confirm(restored(c, lost, learning), "let it start tasks as it is"); err != nil {
		return err
	}
	line := audit.Line{Event: audit.Resumed, By: cmdline.User(), Level: d.Level}
	if learning != nil {
		line.Result = learning.Head()
	}
	err = queue.InTurns(d.Queue, func(tx *queue.Tx) (more bool, err error) {
		line.Time = time.Now().UTC()
		if learning != nil {
			if more, err = learning.Step(tx, line.Time); more || err != nil {
				return more, err
			}
		}
		if err := tx.Log(line); err != nil {
			return false, err
		}
		return false, lift(tx)
	})
	if err != nil {
		return err
	}
	if lost, err = store.Read(d.Queue, store.View.Lost); err == nil && lost != "" {
		err = fault.Temporaryf("pulse-queue health", "it could not be noted: %w", d.Queue.Forgetful())
	}
	if learning != nil {
		cmdline.Note(c, "%s ended as there, %d ask a person", cmdline.Count(learning.Ended, "task"), learning.Asked)
	}
	return err
}

// learn reads the queue that --was names, and what this one knows itself. Without --was it is nil.
func learn(c *cli.Context) (*queue.Learning, error) {
	if !c.IsSet("was") {
		return nil, nil
	}
	q, err := desk.QueueOutside(c)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	was, err := door.Past(q, c.String("was"))
	if err != nil {
		return nil, err
	}
	is := queue.NewFates()
	lines, err := store.Read(q, func(v store.View) (store.Lines, error) { return v.Lines(time.Time{}, nil) })
	if err == nil {
		err = lines(func(_ []byte, l *audit.Line) error {
			is.Add(l)
			return nil
		})
	}
	return &queue.Learning{Was: was, Is: is, By: cmdline.User()}, err
}

// restored returns the sheet about a queue that lacks lines.
func restored(c *cli.Context, lost string, learning *queue.Learning) []string {
	lines := []string{"queue    " + escape.ASCII(c.String("queue"))}
	if lost != "" {
		lines = append(lines, screen.Fact("restored", "%s", lost))
	}
	if learning == nil {
		return append(lines, screen.Fact("caution", "%s",
			"what was started after this copy was made may start once more: compare list with what was sent"))
	}
	return append(lines, learned(c.String("was"), learning)...)
}

// mostMissing is how many ids the sheet lists.
const mostMissing = 20

// learned says what the queue that was put aside tells of this one.
func learned(dir string, l *queue.Learning) []string {
	lines := []string{screen.Fact("was", "%s", escape.ASCII(dir))}
	if !l.Was.Whole {
		lines = append(lines, screen.Fact("caution", "%s", "its log is damaged, or ends too early: "+
			"what it does not tell of may have been done, so each such task asks a person, and no grant or session stays"))
	}
	lines = append(lines, screen.Fact("tasks", "what ended there ends here; what was started there, and has no end, asks a person (restored_unknown, effect_unknown)"))
	if ids := l.Missing(); len(ids) > 0 {
		text := strings.Join(ids[:min(len(ids), mostMissing)], " ")
		lines = append(lines, screen.Fact("missing", "%s", fmt.Sprintf(
			"%s without an end there, and not here: fetch again before the code, and look at: %s", cmdline.Count(len(ids), "task"), text)))
	}
	return lines
}
