package main

import (
	"cmp"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// leastAge guards against 30m where 30d was meant.
const leastAge = time.Hour

// prunable are the states whose tasks are over. A corrupt task waits for a person to look
// at it.
var prunable = []task.State{task.Completed, task.Rejected, task.Failed}

func prune(c *cli.Context, s door.Store) error {
	if c.Args().Present() {
		return pruneOne(c, s)
	}
	limit, err := olderThan(c)
	if err != nil {
		return err
	}
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	where := "pulse-queue show %s"
	if s.Keeper().Dir != nil {
		where = "drafts/%s.json"
	}
	s.OnCommit(func(l *audit.Line) {
		if l.Event == audit.Resurfaced {
			cmdline.Progress(c, "left for now, because nobody has touched its draft: "+where, l.Task)
		}
	})
	var total queue.Removed
	now := time.Now().UTC()
	if err := tellDrafts(s, p.Limits.Resurface, now); err != nil {
		return err
	}
	old, err := queue.OlderThan(s, limit, now)
	if err != nil {
		return err
	}
	for _, st := range prunable {
		if err := pruneState(c, s, st, &old, now, &total); err != nil {
			return err
		}
	}
	forgotten, err := forgetAll(c, s, limit, now)
	if err != nil {
		return err
	}
	text := "pruned " + cmdline.Count(total.Tasks, "task")
	if forgotten > 0 {
		text += ", forgot " + cmdline.Count(forgotten, "refused record")
	}
	tellPruned(c, text, &total)
	if total.Doubted {
		return unsure(c, s)
	}
	return nil
}

// pruneOne removes the task that a person named.
func pruneOne(c *cli.Context, s door.Store) error {
	if c.IsSet("older-than") || c.NArg() > 1 {
		return fault.Usagef("pulse-queue prune "+escape.Shell(c.Args().First()), "prune takes one ID, or --older-than")
	}
	id, err := queue.Whole(s, c.Args().First())
	if err != nil {
		return desk.Unknown(err)
	}
	var was queue.Stored
	var done queue.Removed
	err = queue.Update(s, func(tx *queue.Tx) (err error) {
		was, done, err = queue.PruneOne(tx, id, cmdline.User(), time.Now())
		return err
	})
	if errors.Is(err, queue.ErrState) {
		return notEnded(&was)
	}
	if err != nil {
		return desk.Unknown(err)
	}
	tellPruned(c, "pruned task "+id, &done)
	return nil
}

func notEnded(s *queue.Stored) error {
	do := "pulse-queue show " + s.Task.ID
	switch s.Task.State {
	case task.Awaiting:
		do = "pulse-approve no " + s.Task.ID + " --reason 'not wanted'"
	case task.Scheduled, task.Running:
		do = "pulse-queue cancel " + s.Task.ID
	}
	return fault.Failedf(do, "task %s has not ended: it is %s", s.Task.ID, s.Task.State)
}

// tellPruned says what was done at a terminal, and everywhere that drafts stayed: cron mails it.
func tellPruned(c *cli.Context, text string, done *queue.Removed) {
	cmdline.Progress(c, "%s", text)
	if done.Edited > 0 {
		cmdline.Warn(c, "left %s that a person edited: ls drafts in the queue, and remove what is done", cmdline.Count(done.Edited, "draft"))
	}
}

// tellDrafts tells once more of the drafts that nobody has touched for so long, some in each
// Update.
func tellDrafts(s door.Store, limit time.Duration, now time.Time) error {
	ids, err := queue.DraftsOlder(s, limit, now)
	for err == nil && len(ids) > 0 {
		err = queue.Update(s, func(tx *queue.Tx) (err error) {
			ids, err = queue.ResurfaceDrafts(tx, ids, now)
			return err
		})
	}
	return err
}

// forgetAll removes refused records, some in each Update.
func forgetAll(c *cli.Context, s door.Store, limit time.Duration, now time.Time) (total int, err error) {
	for n := 1; n > 0 && err == nil && c.Context.Err() == nil; total += n {
		n, err = queue.Forget(s, limit, cmdline.User(), now)
	}
	return total, cmp.Or(err, c.Context.Err())
}

func olderThan(c *cli.Context) (time.Duration, error) {
	if !c.IsSet("older-than") {
		return 0, fault.Usagef("pulse-queue prune --older-than 30d", "prune needs --older-than, or an ID")
	}
	d, err := duration.Parse(c.String("older-than"))
	if err != nil {
		return 0, fault.Usagef("a duration is written 36h or 30d", "--older-than: %w", err)
	}
	if d < 0 || d > 0 && d < leastAge {
		return 0, fault.Usagef("30d is 30 days; 0 is all that has ended",
			"--older-than %s: want 0, or at least 1h", c.String("older-than"))
	}
	return d, nil
}

// pruneState prunes the tasks of a state, some in each Update, so that other commands get
// the lock in between.
func pruneState(
	c *cli.Context, s door.Store, st task.State, old *queue.Older, now time.Time, total *queue.Removed,
) error {
	lists, err := s.List([]task.State{st}, nil)
	if err != nil {
		return err
	}
	for ids := lists[0].IDs; err == nil && len(ids) > 0 && c.Context.Err() == nil; {
		var done queue.Removed
		err = queue.Update(s, func(tx *queue.Tx) (err error) {
			done, ids, err = queue.Prune(tx, st, ids, old, cmdline.User(), now)
			return err
		})
		if err == nil {
			total.Tasks += done.Tasks
			total.Edited += done.Edited
			total.Doubted = total.Doubted || done.Doubted
		}
	}
	return cmp.Or(err, c.Context.Err())
}
