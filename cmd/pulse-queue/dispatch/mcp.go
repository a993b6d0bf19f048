package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/mcp"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// stand serves an agent that pulse does not start, for one standing ask.
type stand struct {
	c     *cli.Context
	store door.Store
	name  string
	last  time.Time // when the last call began
}

// Between two calls is at least this time, so that an agent that calls without end keeps no other
// command from the queue.
const callEvery = 50 * time.Millisecond

// MCP is an MCP server on standard input and output.
func MCP(c *cli.Context, s door.Store) error {
	name := c.Args().First()
	if err := queue.StandingName(name); err != nil {
		return fault.Usagef(StandingHint, "mcp: %w", err)
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return err
	}
	if err := s.Writable(); err != nil {
		return err
	}
	st := &stand{c: c, store: s, name: name}
	ask, err := st.ask()
	if err == nil && ask == nil {
		err = fault.Refusedf(StandingHint, "mcp: there is no standing ask %s", name)
	}
	if err != nil {
		return err
	}
	// The policy is read anew each time, also if it is a new file; and a write is bound to what it replaces.
	files := []string{filepath.Dir(p.Name)}
	if p.Exec.Workspace != "" {
		files = append(files, p.Exec.Workspace)
	}
	profile := cmdline.QueueProfile(c, files...)
	if s.Keeper().Dir == nil { // its locks are not in the queue
		locks := filepath.Dir(s.Runs().WorkerFile(ask.Task.ID))
		if err := os.MkdirAll(locks, 0o700); err != nil {
			return err
		}
		profile.Write = append(profile.Write, locks)
	}
	if _, err := door.ConfineTo(c, s, profile); err != nil {
		return err
	}
	server := mcp.Server{Name: "pulse", Version: cmdline.Version, Instructions: ask.Request.Text(), Tools: st.tools()}
	return server.Serve(c.Context, cmdline.Stdin(c, 0, func() error { return nil }), c.App.Writer)
}

// StandingHint is how a person makes a standing ask.
const StandingHint = "pulse-queue submit --standing NAME --action read_public 'what its agent is for'"

// tools returns all that an agent can do.
func (st *stand) tools() []mcp.Tool {
	return []mcp.Tool{{
		Name: "propose",
		Description: "Propose one action. Nothing happens by this: the policy decides, and a person may have to agree. " +
			"Returns the proposal's task id. To propose the same again before it is done changes nothing.",
		Input: `{"type":"object","properties":{` +
			`"action":{"type":"string","enum":["read_public","read_private","write_local","external_send","destructive","code_or_computer"]},` +
			`"target":{"description":"all whom or what it reaches, such as the addresses of a mail","anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"},"maxItems":100}]},` +
			`"tool":{"type":"string","maxLength":100},` +
			`"args":{"type":"object","description":"what the tool is given, such as subject and text of a mail"}},` +
			`"required":["action"],"additionalProperties":false}`,
		Call: st.propose,
	}, {
		Name:        "proposals",
		Description: "See what became of what you proposed: of the newest 50, or of one.",
		Input:       `{"type":"object","properties":{"task":{"type":"string","pattern":"^[0-9a-f]{32}$"}},"additionalProperties":false}`,
		Call:        st.proposals,
	}}
}

// The members that the tools take. Evidence and files are a worker's: an agent from elsewhere has read
// no message of the ask, and has no workspace.
var (
	proposes = []string{"action", "target", "tool", "args"}
	asks     = []string{"task"}
)

// begin is called for each call. It returns the ask, which may be another one than before.
func (st *stand) begin(ctx context.Context, args record.Value, members []string) (*queue.Stored, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Until(st.last.Add(callEvery))):
	}
	st.last = time.Now()
	err := args.Each(func(name string, _ record.Value) error {
		if !slices.Contains(members, name) {
			return mcp.Told("there is an argument that this tool does not have: see tools/list")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	ask, err := st.ask()
	if err == nil && ask == nil {
		err = mcp.Told("your standing ask has ended, so nothing can be proposed: a person has to make a new one: " + StandingHint)
	}
	return ask, st.told(err)
}

// ask returns the standing ask, nil if there is none.
func (st *stand) ask() (*queue.Stored, error) {
	return store.Read(st.store, func(v store.View) (*queue.Stored, error) { return queue.StandingOf(v, st.name) })
}

// told turns an error that will pass into one that the client is told.
func (st *stand) told(err error) error {
	if err == nil || fault.KindOf(err) != fault.Temporary {
		return err
	}
	cmdline.Warn(st.c, "%v", err)
	return mcp.Told("the queue can't be reached at the moment: try again in a minute")
}

// proposals says what became of what was proposed.
func (st *stand) proposals(ctx context.Context, args record.Value) ([]byte, error) {
	ask, err := st.begin(ctx, args, asks)
	if err != nil {
		return nil, err
	}
	id := proposal.Arg(args, "task")
	list, err := queue.Became(st.store, ask.Task.ID, id)
	if err == nil && id != "" && string(list) == "[]" {
		err = mcp.Told("you proposed nothing that has this task")
	}
	return list, st.told(err)
}

// propose proposes one effect.
func (st *stand) propose(ctx context.Context, args record.Value) ([]byte, error) {
	ask, err := st.begin(ctx, args, proposes)
	if err != nil {
		return nil, err
	}
	p, err := cmdline.Policy(st.c)
	if err != nil {
		cmdline.Warn(st.c, "%v", err)
		return nil, mcp.Told("the policy can't be read, so nothing can be proposed: a person has to mend it")
	}
	wish := proposals(p, nil, []byte(args), false, false)
	if len(wish.List) == 0 {
		return nil, notProposed(wish)
	}
	sh := st.shift(p)
	claim, hold, err := sh.claimed(ctx)
	if err == nil && claim == nil {
		err = st.why()
	}
	if err != nil {
		return nil, st.told(err)
	}
	defer hold.Drop()
	last := queue.End{Proposals: wish, Unread: true} // nobody saw what its agent has read
	err = sh.finish(claim, runner.End{}, last)
	if errors.Is(err, store.ErrConflict) {
		err = sh.record(func(tx *queue.Tx) error { return queue.FinishCancelled(tx, claim, last, time.Now()) })
		wish.Made = nil
	}
	switch {
	case err != nil:
		return nil, st.told(err)
	case len(wish.Made) == 0:
		return nil, notProposed(wish)
	}
	list, err := queue.Became(st.store, ask.Task.ID, wish.Made[0])
	return list, st.told(err)
}

// shift returns a run of the standing ask.
func (st *stand) shift(p *policy.Policy) *shift {
	sh := &shift{c: st.c, store: st.store, policy: p, runs: st.store.Runs()}
	sh.run = queue.Run{Policy: p, Standing: st.name, Max: p.Limits.MaxPerRun, Now: time.Now}
	sh.todo = &store.Passing{Store: st.store, Over: sh.passed}
	return sh
}

// claimed is claim for an ask that another session may be using, or that one may have left when it was
// killed.
func (sh *shift) claimed(ctx context.Context) (claim *queue.Claim, hold runner.Hold, err error) {
	var before task.Task
	for until := time.Now().Add(claimWait); ; {
		sh.busy = false
		if claim, hold, err = sh.claim(); claim != nil || err != nil {
			return claim, hold, err
		}
		var now task.Task
		err := sh.store.View(func(v store.View) error {
			ask, err := queue.StandingOf(v, sh.run.Standing)
			if ask != nil {
				now = ask.Task
			}
			return err
		})
		if err == nil && now.State == task.Running {
			err = queue.InTurns(sh.todo, func(tx *queue.Tx) (bool, error) {
				dead := func(other string) bool { return other == now.ID && sh.runs.Dead(now.ID) }
				return queue.Reap(tx, &sh.policy.Limits, time.Now().UTC(), dead)
			})
		}
		// If it moved since, another session had it, which may be why it did not start.
		waits := now.State == task.Running || sh.busy || now.State != before.State || !now.Since.Equal(before.Since)
		before = now
		switch {
		case err != nil || !waits:
			return nil, nil, err
		case time.Now().After(until):
			return nil, nil, mcp.Told("another session of your standing ask is at work: try again in a minute")
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(callEvery):
		}
	}
}

// claimWait is how long another session of the same ask is waited for.
const claimWait = 30 * time.Second

// why returns the error that says why the ask does not start.
func (st *stand) why() error {
	var held, lost string
	ask, err := st.ask()
	if err == nil {
		held, lost, err = braked(st.store)
	}
	switch {
	case err != nil:
		return err
	case ask == nil:
		return mcp.Told("your standing ask has ended, or the policy does not allow it any more: ask the person who made it")
	case held != "" || lost != "":
		return mcp.Told("the queue is on hold, so nothing can be proposed: a person releases it")
	case ask.Task.State == task.Awaiting:
		return mcp.Told("your standing ask waits for a person: pulse-queue show " + ask.Task.ID)
	}
	return mcp.Told("no more can be proposed for now: limits.per_sender_per_hour, or half of limits.max_per_day, is used up: try again in an hour")
}

// notProposed says why a proposal was discarded.
func notProposed(wish *queue.Proposals) error {
	for _, r := range wish.Discarded.All() {
		return mcp.Told(fmt.Sprintf("not proposed: %s: %s", r, r.Why()))
	}
	return mcp.Told("not proposed: your standing ask was cancelled meanwhile")
}
