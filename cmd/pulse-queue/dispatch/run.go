// Package dispatch gives tasks to workers and records how they end. Run starts a worker for each
// task that is due; MCP serves an agent that pulse does not start, for one standing ask.
//
// Invariant: a task has at most one worker, and an end that was seen is recorded, whatever
// signal or lock comes meanwhile. Caveat: what a worker did with files is known only of the
// places that are watched.
package dispatch

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/authorize/pinfile"
	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// shift is one invocation of run.
type shift struct {
	c      *cli.Context
	store  door.Store
	todo   *store.Passing // the store, without what it refuses
	policy *policy.Policy
	run    queue.Run
	runs   runner.Runs
	worker runner.Worker
	notice *Notice
	pins   pins.Pins
	queue  string // its name
	busy   bool   // another run had the task that claim came to last
}

// Run starts what is due, one worker after the other.
func Run(c *cli.Context, s door.Store) error {
	sh, err := newShift(c, s)
	if err != nil {
		return err
	}
	defer sh.notice.Send()
	if err := sh.prepare(); err != nil {
		return err
	}
	for c.Context.Err() == nil {
		claim, hold, err := sh.claim()
		if err != nil {
			return err
		}
		if claim == nil {
			return sh.stopped()
		}
		var refused *store.Forbidden
		if err := sh.work(claim, hold); errors.As(err, &refused) {
			sh.passed(claim.Task.ID, err)
		} else if err != nil {
			return err
		}
	}
	return c.Context.Err()
}

// newShift checks everything that can be checked before anything is started.
func newShift(c *cli.Context, s door.Store) (*shift, error) {
	p, err := cmdline.Policy(c)
	if err != nil {
		return nil, err
	}
	sh := &shift{c: c, store: s, policy: p, runs: s.Runs()}
	sh.todo = &store.Passing{Store: s, Over: sh.passed}
	sh.run = queue.Run{Policy: p, Max: p.Limits.MaxPerRun, Now: time.Now, World: workspace.World{}}
	if err := sh.flags(); err != nil {
		return nil, err
	}
	if sh.worker, err = newWorker(c); err != nil {
		return nil, err
	}
	if sh.notice, err = NewNotice(c); err != nil {
		return nil, err
	}
	if sh.queue, err = cmdline.QueueName(c); err != nil {
		return nil, err
	}
	sh.run.Account = cmdline.Account(c.String("as"))
	rights, err := desk.RightsOf(&sh.worker)
	if err != nil {
		return nil, err
	}
	if sh.run.Signed, err = desk.SignedFor(c.Context, p, rights.UID); err != nil {
		return nil, err
	}
	if sh.run.Vouch, err = desk.VouchFor(p, s.Keeper(), rights); err != nil {
		return nil, err
	}
	if sh.run.Holder, err = desk.Holders(s.Keeper()); err != nil {
		return nil, err
	}
	if l := s.Keeper().Server; l != nil {
		sh.run.Answers = l.Answers
	}
	s.OnCommit(sh.notice.Hear)
	return sh, nil
}

// flags reads the flags that say what is started, and how much of it.
func (sh *shift) flags() (err error) {
	if c := sh.c; c.IsSet("effect") {
		if sh.run.Effect = terms.Action(c.String("effect")); !sh.run.Effect.Valid() {
			return fault.Usagef("", "--effect: there is no action %s", sh.run.Effect)
		}
	}
	if err := sh.reads(); err != nil {
		return err
	}
	if sh.c.Bool("proposals") {
		if sh.pins, err = pinfile.Load(sh.policy.Name); err != nil {
			return err
		}
	}
	if sh.c.IsSet("max") {
		if sh.run.Max = sh.c.Int("max"); sh.run.Max < 1 {
			return fault.Usagef("", "--max %d: want at least 1", sh.run.Max)
		}
	}
	return nil
}

// reads reads --extract, and the schema that extracts have to fit.
func (sh *shift) reads() (err error) {
	if sh.run.Schema, err = cmdline.Schema(sh.policy); err != nil || !sh.c.Bool("extract") {
		return err
	}
	for _, other := range []string{"effect", "proposals"} {
		if sh.c.IsSet(other) {
			return fault.Usagef("", "--extract and --%s exclude each other: a reader makes one value of one ask", other)
		}
	}
	if sh.run.Schema == nil {
		return fault.Usagef("man 5 pulse-policy", "--extract: %s has no [extract], so nothing waits for a reader", sh.policy.Name)
	}
	sh.run.Readers = true
	return nil
}

// prepare puts back the tasks whose workers died, tells once more of those that wait,
// rejects those that waited too long and carries out effects that need no worker.
func (sh *shift) prepare() error {
	now := time.Now().UTC()
	if err := sh.abandoned(now); err != nil { // once a task is put back, nobody knows any more what its worker changed
		return err
	}
	return errors.Join(
		queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) {
			return queue.Reap(tx, &sh.policy.Limits, now, sh.runs.Dead)
		}),
		queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) { return queue.Resurface(tx, &sh.policy.Limits, now) }),
		queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) { return queue.Expire(tx, &sh.policy.Limits, now) }),
		queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) { return sh.run.Chores(tx, now) }))
}

// passed says that a task is left as it is.
func (sh *shift) passed(id string, err error) {
	cmdline.Warn(sh.c, "task %s is passed over: %v; a person can end it: pulse-queue cancel %s", id, err, id)
}

// claim takes the next task.
func (sh *shift) claim() (claim *queue.Claim, hold runner.Hold, err error) {
	err = queue.InTurns(sh.todo, func(tx *queue.Tx) (more bool, err error) {
		if claim != nil { // the store refused its start
			sh.run.Uncount(claim)
			hold.Drop()
			hold = nil
		}
		claim, more, err = sh.run.Next(tx, func(next string) (err error) {
			hold, err = sh.runs.Take(next)
			if errors.Is(err, syscall.EWOULDBLOCK) {
				sh.busy, err = true, store.ErrConflict
			}
			return err
		})
		return more, err
	})
	if err != nil && hold != nil {
		hold.Drop()
	}
	return claim, hold, err
}

// work runs a worker on a claimed task and records its end. If the task was cancelled
// meanwhile, cancel has moved it.
func (sh *shift) work(claim *queue.Claim, hold runner.Hold) error {
	w, id := sh.worker, claim.Task.ID
	w.Env = append(w.Env[:len(w.Env):len(w.Env)], "PULSE_TASK="+id)
	watch := sh.watch(claim)
	seat, err := sh.seat(claim, watch)
	defer seat.close()
	w.Env = slices.Concat(w.Env, hold.Env(), seat.env())
	w.Stdin = append(claim.Given().Line(), '\n')
	w.Lock, w.Gone = hold.Worker(), hold.Gone()
	end := runner.End{Exit: -1, How: runner.NeverStarted}
	if err == nil {
		end, err = runner.Run(sh.c.Context, &w, hold.Handed)
	}
	defer hold.Drop()
	if err != nil {
		cmdline.Warn(sh.c, "task %s: %v", id, err)
	}
	if end.Cancelled && hold.Lapsed() { // told to stop, by nobody
		end.Cancelled, end.Stopped = false, true
	}
	last := sh.ended(&end, seat)
	watch.end(&last, seat)
	seat.keep(sh.queue, id, &last)
	if !end.Cancelled {
		err = sh.finish(claim, end, last)
	}
	if end.Cancelled || errors.Is(err, store.ErrConflict) {
		cmdline.Note(sh.c, "task %s: cancelled", id)
		return sh.record(func(tx *queue.Tx) error { return queue.FinishCancelled(tx, claim, last, time.Now()) })
	}
	return err
}

// record carries out an Update about the end of a worker, however long another command keeps
// the lock.
func (sh *shift) record(fn func(tx *queue.Tx) error) error {
	sh.store.Interrupt(nil)
	defer sh.store.Interrupt(sh.c.Context.Done())
	err := store.ErrLocked
	for until := time.Now().Add(failover); errors.Is(err, store.ErrLocked) || errors.Is(err, store.ErrAway) && time.Now().Before(until); {
		if errors.Is(err, store.ErrAway) {
			time.Sleep(time.Second)
		}
		err = queue.Update(sh.store, fn)
	}
	return err
}

// failover is how long a server that is away is waited for, to record what has happened.
const failover = time.Minute

// ended returns what is recorded of the end of a worker: with --proposals also what it
// proposes, if it ended well, and what its model was told to be put to a person, in any case.
func (sh *shift) ended(end *runner.End, seat *seat) queue.End {
	last := queue.End{Exit: end.Exit, Stopped: end.Stopped, Result: end.Stdout, Stderr: end.Stderr, Cut: len(end.Stdout) >= runner.MaxResult}
	parked := seat.fill(&last)
	if killed := end.Exit < 0 && end.How != runner.NeverStarted || end.Exit > 128; killed { // a shell, or a box, says so by a status
		last.Unread = true
	}
	if !sh.c.Bool("proposals") {
		return last
	}
	var out []byte
	if last.Exit == 0 && last.Ungated == "" {
		out = last.Result
	}
	last.Proposals = sh.proposals(out, last.Cut, false)
	if len(parked) > 0 {
		last.Proposals.List = append(last.Proposals.List, sh.proposals(parked, false, true).List...)
	}
	return last
}

// finish records the end of a worker. An end that is not recorded counts as a death, and the
// task would be started again; so neither a signal nor another command's lock stops this.
func (sh *shift) finish(claim *queue.Claim, end runner.End, last queue.End) error {
	var line audit.Line
	err := sh.record(func(tx *queue.Tx) (err error) {
		line, err = queue.Finish(tx, claim, last, &sh.policy.Limits, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	if p := last.Proposals; p != nil && len(p.Discarded) > 0 {
		cmdline.Note(sh.c, "task %s: proposals discarded: %s", claim.Task.ID, p.Discarded)
	}
	sh.complain(&line, detail(end))
	return sh.run.Return(claim, &line)
}

// complain says that a worker failed. What a person knows already (health.Known) it says at a terminal
// only, except that an effect to which a person agreed will not happen.
func (sh *shift) complain(line *audit.Line, how string) {
	tell := cmdline.Note
	switch line.Change.Reason {
	case queue.ReasonDone, queue.ReasonPaused, queue.ReasonNoMore, queue.ReasonLater, queue.ReasonExtracted, queue.ReasonStands:
		return
	case queue.ReasonExit, queue.ReasonUnread, queue.ReasonUnfit, queue.ReasonNotDone:
		known, err := store.Read(sh.store, func(v store.View) (bool, error) { return health.Known(v, line) })
		agreed := line.Kind == task.Effect && line.To != task.Scheduled
		if known && err == nil && !agreed { // if it can't be known, it is told
			tell = cmdline.Progress
		}
	}
	if line.Change.Reason == queue.ReasonUnfit {
		how = ": " + line.End.Said
	}
	tell(sh.c, "%s%s", queue.Complaint(line), how)
}

// braked returns why a queue starts nothing: that it is held, or that it lacks lines.
func braked(s door.Store) (held, lost string, err error) {
	err = s.View(func(v store.View) (err error) {
		if held, err = queue.Held(v); err == nil {
			lost, err = v.Lost()
		}
		return err
	})
	return held, lost, err
}

// stopped says at the end of a run whether it started nothing more because the queue lacks
// lines or is held. A hold is not news every minute: from cron, only the status says it.
func (sh *shift) stopped() error {
	held, lost, err := braked(sh.store)
	switch {
	case err != nil:
		return err
	case lost != "":
		if sh.store.Keeper().Dir == nil && held == "" {
			if err := brake(sh.store, lost); err != nil {
				cmdline.Warn(sh.c, "the other machines are not stopped: %v", err)
			}
		}
		return fault.Temporaryf(door.Restored(sh.c), "nothing starts: %w: %s", queue.ErrLost, lost)
	case held != "":
		return cmdline.Standing(sh.c, fault.Temporaryf("pulse-queue release", "the queue is %s", held))
	}
	return nil
}

// brake stops the runs of all machines, because the queue lacks what this one saw. Others may not
// have seen it, and would do again what was done.
func brake(s store.Store, lost string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	return queue.Update(s, func(tx *queue.Tx) error {
		if held, err := queue.Holding(tx); held != nil || err != nil {
			return err
		}
		line := audit.Line{Time: time.Now().UTC(), Event: audit.Held, By: cmdline.User()}
		line.Change.Reason = "on " + host + ": " + lost
		return tx.Log(line)
	})
}
