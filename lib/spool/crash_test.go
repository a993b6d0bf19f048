package spool

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/disk/disktest"
	"pulse/lib/policy"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// The crash tests run every operation of the queue on a disk of disktest and end it at every
// step: by a kill, by an error, by a power cut. Whatever happens, the queue must
// then be as before the operation or as after it, say so again after the next
// power cut, and pass Verify.

// unlocked is the lock of a queue that only this test knows.
type unlocked struct{}

func (unlocked) take() (func(), error) { return func() {}, nil }
func (unlocked) try() (func(), error)  { return func() {}, nil }

func spoolOn(d *disktest.FS) *Spool {
	s := &Spool{dir: "/queue", disk: d, lock: unlocked{}}
	s.log = begin(d)
	return s
}

// operation is one command's worth of changes; clock ticks with each.
type operation struct {
	name string
	do   func(s *Spool, now time.Time) error

	reads bool // it says how far a mailbox was read
}

var epoch = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

const member = `"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"stale":false,` +
	`"automatic":false,"reason":"authenticated_owner","why":""%s},"decision":{"action":%q,"outcome":%q,"rule":"r","reason":"allowed","why":""}}`

// ours is the policy of these tests.
var ours = func() *policy.Policy {
	p := policy.Default()
	p.Owners = []string{"me@example.com"}
	return p
}()

// mail is an authorized mail with a UID.
func mail(uid int, outcome terms.Outcome) string {
	return fmt.Sprintf(`{"message":{"source":"imaps://me@t/INBOX","uid":%d,"uidvalidity":7,"id":"<%d@t>","received":"2026-11-21T06:00:00Z"},`,
		uid, uid) + fmt.Sprintf(member, "", "read_public", outcome)
}

// effect is something an agent wants to send, and has to be approved.
func effect(n int) string {
	return fmt.Sprintf(`{"request":{"action":"external_send","target":"bob@partner.example","args":{"n":%d}},`, n) +
		fmt.Sprintf(member, `,"via":"agent","parent":"0123456789abcdef0123456789abcdef"`, "external_send", terms.Confirm)
}

func add(lines ...string) operation {
	return operation{fmt.Sprintf("add %d", len(lines)), func(s *Spool, now time.Time) error {
		b := queue.NewBatch(s, false, 1000, func() time.Time { return now })
		for _, l := range lines {
			rec, err := record.Parse([]byte(l), queue.Members...)
			if err == nil {
				err = b.Put(rec)
			}
			if err != nil {
				return err
			}
		}
		return b.Commit(func([]byte) error { return nil })
	}, strings.Contains(lines[0], `"uid"`)}
}

// update is an operation of one Update.
func update(name string, fn func(tx *queue.Tx, now time.Time) error) operation {
	return operation{name, func(s *Spool, now time.Time) error {
		return queue.Update(s, func(tx *queue.Tx) error { return fn(tx, now) })
	}, false}
}

// first loads the oldest task of a state.
func first(v queue.View, st task.State) (s queue.Stored, found bool, err error) {
	err = v.Each(queue.On(st), func(id string, _ time.Time) (bool, error) {
		found = true
		s, err = queue.Load(v, st, id)
		return false, err
	})
	return s, found, err
}

func start(effect terms.Action) operation {
	return update("start "+string(effect), func(tx *queue.Tx, now time.Time) error {
		run := queue.Run{Policy: ours, Effect: effect, Max: 1, Now: func() time.Time { return now }}
		_, _, err := run.Next(tx, func(string) error { return nil })
		return err
	})
}

func finish(end queue.End) operation {
	return update(fmt.Sprintf("finish %d", end.Exit), func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Running)
		if !found || err != nil {
			return err
		}
		a, err := startedOn(tx, s.Task.ID)
		if err != nil {
			return err
		}
		_, err = queue.Finish(tx, &queue.Claim{Stored: s, Approval: a}, end, &ours.Limits, now)
		return err
	})
}

// startedOn returns the approval that a run which started a task still knows, though
// it was spent.
func startedOn(v queue.View, id string) (a *approval.Approval, err error) {
	if a, err = queue.ApprovalOf(v, id); a != nil || err != nil {
		return a, err
	}
	err = v.Back(func(l audit.Line) bool {
		if l.Task == id && l.Event != task.Started {
			a = l.Approval
			return false
		}
		return true
	})
	return a, err
}

// lasting is a yes that is still good when the clock has ticked a few times.
func lasting(s *queue.Stored, now time.Time) approval.Approval {
	yes := queue.Yes(s, "me", approval.Terminal, now)
	yes.Expires = now.Add(9999 * time.Hour)
	return yes
}

var (
	approve = update("approve", func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Awaiting)
		if !found || err != nil {
			return err
		}
		return queue.Approve(tx, &s, lasting(&s, now), now)
	})
	deny = update("deny", func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Awaiting)
		if !found || err != nil {
			return err
		}
		return queue.Deny(tx, &s, "me", approval.Terminal, "not wanted", now)
	})
	reap = update("reap and expire", func(tx *queue.Tx, now time.Time) error {
		limits := &ours.Limits
		if _, err := queue.Reap(tx, limits, now, func(string) bool { return true }); err != nil {
			return err
		}
		_, err := queue.Expire(tx, time.Hour, now)
		return err
	})
	consume = update("consume", func(tx *queue.Tx, now time.Time) error {
		_, err := queue.Consume(tx, &queue.Proving{Require: approval.Terminal}, "bob@partner.example", "", now)
		if errors.Is(err, queue.ErrNoGrant) {
			return nil
		}
		return err
	})
	cancel = update("cancel", func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Running)
		if !found && err == nil {
			s, found, err = first(tx, task.Scheduled)
		}
		if !found || err != nil {
			return err
		}
		_, err = queue.Cancel(tx, s.Task.ID, "me", now)
		return err
	})
	cancelAll = update("cancel all", func(tx *queue.Tx, now time.Time) error {
		return tx.Each(queue.On(task.Scheduled), func(id string, _ time.Time) (bool, error) {
			_, err := queue.Cancel(tx, id, "me", now)
			return true, err
		})
	})
	requeue = update("requeue", func(tx *queue.Tx, now time.Time) error {
		s, found, err := first(tx, task.Rejected)
		if !found || err != nil {
			return err
		}
		return queue.Requeue(tx, &s, lasting(&s, now), now)
	})
	prune = update("prune", func(tx *queue.Tx, now time.Time) error {
		for _, st := range []task.State{task.Completed, task.Rejected, task.Failed} {
			err := tx.Each(queue.On(st), func(id string, _ time.Time) (bool, error) {
				return true, tx.Move(audit.Line{Time: now, Event: task.Pruned, Task: id, From: st})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	nothing = update("nothing", func(*queue.Tx, time.Time) error { return nil })
	refuse  = add(mail(900, terms.Reject), mail(901, terms.Reject))
)

func grant(id string) operation {
	return update("grant", func(tx *queue.Tx, now time.Time) error {
		return queue.Grant(tx, approval.Grant{ID: id, Target: "bob@partner.example", By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(9999 * time.Hour)})
	})
}

func session(id string, uses int, d time.Duration) operation {
	return update("session", func(tx *queue.Tx, now time.Time) error {
		return queue.OpenSession(tx, approval.Session{
			ID: id, Sender: "me@example.com", Max: uses, Left: uses, By: "me", Level: approval.Terminal, Opened: now, Expires: now.Add(d),
		})
	})
}

// endSession ends the session that was opened first.
var endSession = update("end session", func(tx *queue.Tx, now time.Time) error {
	list, err := queue.SessionsOf(tx)
	if len(list) == 0 || err != nil {
		return err
	}
	return queue.EndSession(tx, list[0].ID, "me", approval.Terminal, now)
})

// sessionMail is a mail that was classified under a session.
func sessionMail(uid int, id string) string {
	return strings.Replace(mail(uid, terms.Allow), `"trust":"owner_verified_email"`, `"trust":"approved_session","session":"`+id+`"`, 1)
}

func brake(e task.Event) operation {
	return update(string(e), func(tx *queue.Tx, now time.Time) error {
		return tx.Log(audit.Line{Time: now, Event: e, By: "me"})
	})
}

func mails(from, n int) []string {
	var list []string
	for i := range n {
		list = append(list, mail(from+i, terms.Allow))
	}
	return list
}

// history is a life with everything in it, across the turn of a month.
var history = []operation{
	add(mails(1, 1)...),
	add(mails(1, 6)...), // the first one is known
	refuse,
	start(""),
	finish(queue.End{Exit: 0, Result: []byte("done\n")}),
	start(""),
	finish(queue.End{Exit: 1, Result: []byte("half\n")}),
	add(effect(1), effect(2)),
	approve,
	start(terms.ExternalSend),
	finish(queue.End{Exit: 75}),
	start(terms.ExternalSend),
	finish(queue.End{Exit: 1}),
	approve,
	start(terms.ExternalSend),
	reap,
	deny,
	grant("a1"),
	grant("a2"),
	consume,
	brake(audit.Held),
	brake(audit.Released),
	start(""),
	finish(queue.End{Exit: 0}),
	add(mail(50, terms.Review), effect(3), mail(51, terms.Allow)),
	start(""),
	start(""),
	start(""),
	reap,
	consume,
	cancel,
	start(""),
	cancel,
	requeue,
	prune,
	add(mails(1, 6)...), // those that were pruned are known
	prune,
	session("b1", 3, 9999*time.Hour),
	add(sessionMail(60, "b1")),
	add(sessionMail(60, "b1"), sessionMail(61, "b1"), sessionMail(62, "b1"), sessionMail(63, "b1")), // one is known, one too many
	session("b2", 5, 9999*time.Hour),
	session("b3", 1, 9999*time.Hour), // and b2 ends
	add(sessionMail(64, "b2"), sessionMail(65, "b3")),
	session("b4", 9, time.Hour),
	add(sessionMail(66, "b4")), // too late
	session("b5", 9, 9999*time.Hour),
	endSession,
	start(""),
	cancel,
	add(mails(70, 2)...),
	start(""),
	propose(1),
	take,
	chores, // a draft and a note
	chores, // a close
	start(""),
	propose(2),
	prune,
	take,
	take,
	chores,
}

// dump is everything a queue says, but for what is random and for positions.
func dump(s *Spool) (string, error) {
	var b strings.Builder
	err := s.View(func(v queue.View) error {
		err := v.Back(func(l audit.Line) bool {
			if l.Event == task.Pruned {
				was, err := queue.PrunedOf(v, l.Task)
				fmt.Fprintf(&b, "pruned %s %s %v\n", l.Task, was, err)
			}
			return true
		})
		if err != nil {
			return err
		}
		for _, st := range task.States {
			err := v.Each(queue.On(st), func(id string, _ time.Time) (bool, error) {
				t, err := queue.Load(v, st, id)
				if err != nil {
					return false, err
				}
				a, err := queue.ApprovalOf(v, id)
				if err != nil {
					return false, err
				}
				if a != nil {
					a.Nonce, a.Holder = "", 0 // TestCrashHolders has an eye on who holds it
				}
				result, err := queue.ResultOf(v, id)
				fmt.Fprintf(&b, "%s %s approval %+v result %q\n", st, t.Line(), a, result)
				return true, err
			})
			if err != nil {
				return err
			}
		}
		err = outboxes(v, func(parent string) error {
			file, err := queue.OutboxOf(v, parent)
			fmt.Fprintf(&b, "outbox %s %s\n", parent, file)
			return err
		})
		if err != nil {
			return err
		}
		grants, err := queue.GrantsOf(v)
		if err != nil {
			return err
		}
		for i := range grants {
			grants[i].Holder = 0
		}
		sessions, err := queue.SessionsOf(v)
		if err != nil {
			return err
		}
		held, err := queue.Holding(v)
		fmt.Fprintf(&b, "grants %+v sessions %+v held %v\n", grants, sessions, held != nil)
		return err
	})
	return b.String(), err
}

// position returns how far the queue says the mailbox was read.
func position(d *disktest.FS) string {
	b, err := d.Read(fileOf(queue.Positions, queue.PositionKey("imaps://me@t/INBOX")))
	if err != nil {
		return ""
	}
	return string(b)
}

// attempt runs an operation and returns its error, or disktest.ErrKilled.
func attempt(op operation, s *Spool, now time.Time) error {
	return disktest.Run(func() error { return op.do(s, now) })
}

// world is a queue in a test, with what it must say now.
type world struct {
	disk  *disktest.FS
	state string // dump of what is acknowledged
	now   time.Time
}

func newWorld(ordered, shared bool) *world {
	d := disktest.New()
	d.Ordered, d.Group = ordered, shared
	return &world{disk: d, state: "grants [] sessions [] held false\n", now: epoch}
}

// after returns what the queue says once op is through.
func (w *world) after(op operation) (*world, error) {
	next := &world{disk: w.disk.Clone(), now: w.now}
	next.disk.Account = who(op)
	err := op.do(spoolOn(next.disk), w.now)
	if err == nil {
		next.state, err = dump(spoolOn(next.disk))
	}
	next.now = w.now.Add(31 * time.Hour)
	return next, err
}

// interrupted runs op with a fault in its nth step, and then cuts the power if
// asked to. It returns an error if the queue is neither as before nor as in next.
func (w *world) interrupted(op operation, next *world, n int, f disktest.Fate, power bool, r *rand.Rand) (*world, error) {
	d := w.disk.Clone()
	d.Fault = disktest.At(n, f)
	d.Account = who(op)
	err := attempt(op, spoolOn(d), w.now)
	d.Account = []int{owner, approver}[r.IntN(2)] // who repairs it
	for range r.IntN(3) {                         // the repair may be interrupted too
		if power {
			d.PowerCut(r)
		}
		again, die := d.Ops+1+r.IntN(12), r.IntN(2) == 0
		d.Fault = disktest.At(again, disktest.Fate{Err: syscall.EIO, Half: true, Die: die})
		attempt(nothing, spoolOn(d), w.now)
	}
	d.Fault, d.Ops = nil, 0
	if power {
		d.PowerCut(r)
	}
	got := &world{disk: d, now: next.now}
	if got.state, err = settle(d, op, err == nil, w, next); err != nil {
		return got, err
	}
	// The answer must not change with the next power cut.
	d = d.Clone()
	d.PowerCut(r)
	if again, err := dump(spoolOn(d)); err != nil || again != got.state {
		return got, fmt.Errorf("after a second power cut (%v):\n%s\nand before it:\n%s", err, again, got.state)
	}
	return got, nil
}

// settle lets the next command repair the queue and compares it with before and after.
func settle(d *disktest.FS, op operation, acknowledged bool, w, next *world) (string, error) {
	s := spoolOn(d)
	if err := nothing.do(s, w.now); err != nil {
		return "", fmt.Errorf("the next command: %w", err)
	}
	state, err := dump(s)
	switch {
	case err != nil:
		return "", err
	case state != next.state && acknowledged:
		return "", fmt.Errorf("acknowledged, and lost. It says:\n%s\nit must say:\n%s", state, next.state)
	case state != next.state && state != w.state:
		return "", fmt.Errorf("neither before nor after. It says:\n%s\nbefore:\n%s\nafter:\n%s", state, w.state, next.state)
	case position(d) != position(w.disk) && position(d) == position(next.disk) && state != next.state:
		return "", errors.New("the position says more than the tasks")
	case acknowledged && op.reads && position(d) != position(next.disk):
		return "", errors.New("an acknowledged position is lost")
	}
	return state, sound(s)
}

// sound checks what holds at any time.
func sound(s *Spool) error {
	report, err := s.Verify("")
	if err == nil && len(report.Findings) > 0 {
		err = errors.New("verify: " + strings.Join(report.Findings, "; "))
	}
	where := map[string]string{}
	s.disk.(*disktest.FS).Each(func(name string, _ int) {
		dir, id, _ := strings.Cut(name, "/")
		if !slices.Contains(task.States, task.State(dir)) {
			return
		}
		if where[id] != "" {
			err = errors.Join(err, fmt.Errorf("%s is in %s and in %s", id, where[id], dir))
		}
		where[id] = dir
	})
	return errors.Join(err, forged(s.disk.(*disktest.FS)))
}

// TestCrashEverywhere ends every operation of history in each of its steps.
func TestCrashEverywhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ordered, shared bool }{{true, false}, {false, false}, {false, true}} {
		cases, err := crashEverywhere(newWorld(c.ordered, c.shared), history)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		t.Logf("%+v: %d interruptions", c, cases)
	}
}

// TestCrashInALongShard: the twelfth id of a shard would lie across two sectors if the
// width of its lines did not divide one.
func TestCrashInALongShard(t *testing.T) {
	t.Parallel()
	mails := alike(13)
	ops := []operation{add(mails[:11]...), cancelAll, prune, add(mails[11:]...), cancelAll, prune, brake(audit.Held)}
	for _, ordered := range []bool{true, false} {
		if _, err := crashEverywhere(newWorld(ordered, false), ops); err != nil {
			t.Error(err)
		}
	}
}

// alike returns mails whose ids begin with the same three digits.
func alike(n int) []string {
	by := map[string][]string{}
	for uid := 1000; ; uid++ {
		name := prunedFile(task.MailID(true, "me@example.com", fmt.Sprintf("<%d@t>", uid)))
		if by[name] = append(by[name], mail(uid, terms.Allow)); len(by[name]) == n {
			return by[name]
		}
	}
}

func crashEverywhere(w *world, history []operation) (cases int, err error) {
	seeds, stride := uint64(3), 1
	if testing.Short() {
		seeds, stride = 2, 7 // a sample: scripts/test runs all of it without the race detector
	} else if w.disk.Shared() {
		seeds = 2
	}
	for i, op := range history {
		next, err := w.after(op)
		if err != nil {
			return cases, fmt.Errorf("%d %s: %w", i, op.name, err)
		}
		steps := next.disk.Ops
		if w.disk.Shared() && !ofAnswers(op) {
			steps = 0 // the other worlds have been there
		}
		for n := 1 + i%stride; n <= steps; n += stride {
			for _, how := range slices.Sorted(maps.Keys(disktest.Fates)) {
				for seed := range seeds {
					r := rand.New(rand.NewPCG(seed, uint64(n)))
					cases++
					if _, err := w.interrupted(op, next, n, disktest.Fates[how], seed > 0, r); err != nil {
						return cases, fmt.Errorf("%d %s, step %d of %d %s, seed %d: %w", i, op.name, n, next.disk.Ops, how, seed, err)
					}
				}
			}
		}
		w = next
		w.disk.Ops = 0
	}
	return cases, nil
}

// TestCrashFindsNaiveWriters is the control: a queue whose syncs do nothing must
// be caught.
func TestCrashFindsNaiveWriters(t *testing.T) {
	for name, lie := range map[string]func(*disktest.FS){
		"files not synced":       func(d *disktest.FS) { d.LieFile = true },
		"directories not synced": func(d *disktest.FS) { d.LieDir = true },
		"syncfs does nothing":    func(d *disktest.FS) { d.LieAll = true },
	} {
		w := newWorld(false, false)
		lie(w.disk)
		if _, err := crashEverywhere(w, history); err == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// TestCrashRandomly lets random lives go on after every interruption.
func TestCrashRandomly(t *testing.T) {
	t.Parallel()
	lives := 10_000
	if testing.Short() {
		lives = 500
	}
	for seed := range uint64(lives) {
		if err := randomLife(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func randomLife(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(r.IntN(2) == 0, r.IntN(2) == 0)
	hows := slices.Sorted(maps.Keys(disktest.Fates))
	for range 8 {
		op := history[r.IntN(len(history))]
		next, err := w.after(op)
		if err != nil {
			return fmt.Errorf("%s: %w", op.name, err)
		}
		n, how := 1+r.IntN(next.disk.Ops+2), hows[r.IntN(len(hows))] // beyond the end: no fault
		if w, err = w.interrupted(op, next, n, disktest.Fates[how], r.IntN(2) == 0, r); err != nil {
			return fmt.Errorf("%s, step %d of %d %s: %w", op.name, n, next.disk.Ops, how, err)
		}
	}
	return nil
}
