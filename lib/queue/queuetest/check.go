package queuetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Medium is what a store keeps a queue on, and how that fails.
type Medium interface {
	// Run runs an operation as one command, which opens the store and may be killed
	// (ErrKilled). r chooses the account of the command, if there are several.
	Run(op *Operation, now time.Time, r *rand.Rand) error
	Clone() Medium
	Interrupt(step int, how string) // ends the step-th change from now on in this way; "" ends none
	Steps() int                     // how many changes there were since Interrupt
	PowerCut(r *rand.Rand)          // may lose what was not made durable
	Sound() error                   // compares all that the store keeps with its log
	// Sum identifies what commands read, and with durable also what a power cut may leave: where it
	// is the same, everything that follows is. "" if that is not known.
	Sum(durable bool) string
}

// ErrKilled means that a command was killed.
var ErrKilled = errors.New("killed")

// Hows lists the ways in which Interrupt may end a change.
var Hows = []string{"EIO", "ENOSPC", "killed after", "killed before", "killed within"}

// World is a queue in a test, and what it must say now.
type World struct {
	Medium
	State string // Dump of what was acknowledged
	Now   time.Time
	known map[string]string // by Sum: the State of what was sound when it was looked at last
}

// NewWorld returns a world with a new queue.
func NewWorld(m Medium) (*World, error) {
	w := &World{Medium: m, Now: Epoch}
	err := w.settle()
	return w, err
}

// settle runs the next command, notes what the queue says, and looks whether it is sound.
func (w *World) settle() error {
	read := Operation{"read", func(s store.Store, _ time.Time) (err error) {
		w.State, err = Dump(s)
		return err
	}}
	if err := w.Run(&Nothing, w.Now, nil); err != nil {
		return fmt.Errorf("the next command: %w", err)
	}
	sum := w.Sum(false)
	if state, ok := w.known[sum]; ok {
		w.State = state
		return nil
	}
	err := errors.Join(w.Run(&read, w.Now, nil), w.Sound())
	if err == nil && sum != "" && w.known != nil {
		w.known[sum] = w.State
	}
	return err
}

// After returns the world after an operation that is not interrupted.
func (w *World) After(op Operation) (*World, error) {
	next := &World{Medium: w.Clone(), Now: w.Now}
	next.Interrupt(0, "")
	if err := next.Run(&op, w.Now, nil); err != nil {
		return next, err
	}
	done := &World{Medium: next.Clone(), Now: w.Now.Add(31 * time.Hour)}
	err := done.settle()
	next.State, next.Now = done.State, done.Now // a clone settled, so the Steps of next are those of op
	return next, err
}

// Interrupted runs op, ends its nth step as how says, and then cuts the power if asked to.
// It returns an error if the queue is neither as before nor as in next.
func (w *World) Interrupted(
	op Operation, next *World, n int, how string, power bool, r *rand.Rand,
) (*World, error) {
	got, acknowledged := w.interrupted(&op, n, how)
	return w.mended(got, next, acknowledged, power, r)
}

func (w *World) interrupted(op *Operation, n int, how string) (got *World, acknowledged bool) {
	got = &World{Medium: w.Clone(), known: w.known}
	got.Interrupt(n, how)
	return got, got.Run(op, w.Now, nil) == nil
}

// mended lets the next commands come upon what is left of an operation, with or without a power cut.
func (w *World) mended(got, next *World, acknowledged, power bool, r *rand.Rand) (*World, error) {
	got.Now = next.Now
	for range r.IntN(3) { // the repair may be interrupted too
		if power {
			got.PowerCut(r)
		}
		got.Interrupt(1+r.IntN(12), Hows[r.IntN(len(Hows))])
		_ = got.Run(&Nothing, w.Now, r)
	}
	got.Interrupt(0, "")
	if power {
		got.PowerCut(r)
	}
	switch err := got.settle(); {
	case err != nil:
		return got, err
	case got.State != next.State && acknowledged:
		return got, fmt.Errorf("acknowledged, and lost. It says:\n%s\nit must say:\n%s", got.State, next.State)
	case got.State != next.State && got.State != w.State:
		return got, fmt.Errorf("neither before nor after. It says:\n%s\nbefore:\n%s\nafter:\n%s",
			got.State, w.State, next.State)
	}
	// The answer must not change with the next power cut.
	again := &World{Medium: got.Clone(), Now: got.Now, known: got.known}
	again.PowerCut(r)
	if err := again.settle(); err != nil || again.State != got.State {
		return got, fmt.Errorf("after a second power cut (%w):\n%s\nand before it:\n%s",
			err, again.State, got.State)
	}
	return got, nil
}

// Sample says how many of the steps of a life are interrupted.
type Sample struct {
	Stride int    // 1: every step; 2: every second one; …
	Seeds  uint64 // how often what each step leaves is mended; there is a power cut except the first time

	Worth func(op *Operation) bool // reports whether an operation is interrupted at all; nil: all are
}

// Everywhere ends the operations of a life in each of their steps, in all ways. Where two leave the
// same behind (killed after a step, and before the next one), that is mended once.
func Everywhere(w *World, life []Operation, sample Sample) (cases int, err error) {
	for i, op := range life {
		next, err := w.After(op)
		if err != nil {
			return cases, fmt.Errorf("%d %s: %w", i, op.Name, err)
		}
		steps := next.Steps()
		if sample.Worth != nil && !sample.Worth(&op) {
			steps = 0
		}
		w.known = map[string]string{}
		left := map[string]bool{}
		for n := 1 + i%max(1, min(sample.Stride, steps)); n <= steps; n += sample.Stride {
			for _, how := range Hows {
				mended, err := w.eachWay(&op, next, n, how, sample.Seeds, left)
				if cases += mended; err != nil {
					return cases, fmt.Errorf("%d %s, step %d of %d %s, %w", i, op.Name, n, steps, how, err)
				}
			}
		}
		w = next
	}
	return cases, nil
}

// eachWay ends the nth step of op, and mends what is left as often as seeds says, unless that was
// done to what another step left.
func (w *World) eachWay(
	op *Operation, next *World, n int, how string, seeds uint64, left map[string]bool,
) (cases int, err error) {
	got, acknowledged := w.interrupted(op, n, how)
	if sum := got.Sum(true); sum != "" {
		sum = fmt.Sprint(acknowledged, sum)
		if left[sum] {
			return 0, nil
		}
		left[sum] = true
	}
	for seed := range seeds {
		cases++
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		of := &World{Medium: got.Clone(), known: got.known}
		if _, err := w.mended(of, next, acknowledged, seed > 0, r); err != nil {
			return cases, fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return cases, nil
}

// Randomly interrupts random operations, and lets life go on after each.
func Randomly(w *World, r *rand.Rand) error {
	for range 8 {
		op := Life[r.IntN(len(Life))]
		next, err := w.After(op)
		if err != nil {
			return fmt.Errorf("%s: %w", op.Name, err)
		}
		w.known = map[string]string{}
		n, how := 1+r.IntN(next.Steps()+2), Hows[r.IntN(len(Hows))] // after the last step: no interruption
		if w, err = w.Interrupted(op, next, n, how, r.IntN(2) == 0, r); err != nil {
			return fmt.Errorf("%s, step %d of %d %s: %w", op.Name, n, next.Steps(), how, err)
		}
	}
	return nil
}

// Same lives a life on a store and on Memory, and compares what they say after each
// operation.
func Same(s store.Store, life []Operation) error {
	memory := NewMemory()
	for i, op := range life {
		now := Epoch.Add(time.Duration(i) * 31 * time.Hour)
		if err, want := op.Do(s, now), op.Do(memory, now); (err == nil) != (want == nil) {
			return fmt.Errorf("%d %s: %v, want %v", i, op.Name, err, want)
		}
		got, err := Dump(s)
		if err != nil {
			return fmt.Errorf("%d %s: %w", i, op.Name, err)
		}
		if want, err := Dump(memory); err != nil || got != want {
			return errors.Join(err, fmt.Errorf("%d %s: %s", i, op.Name, differ(got, want)))
		}
	}
	return nil
}

// differ returns the first lines that are not the same.
func differ(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("it says\n%s\nand must say\n%s", a[i], b[i])
		}
	}
	return fmt.Sprintf("it says %d lines, and must say %d", len(a), len(b))
}

// Dump returns everything that a queue says, except what is random.
func Dump(s store.Store) (string, error) {
	var b strings.Builder
	err := s.View(func(v store.View) error {
		b.Reset()
		return errors.Join(dumpLog(&b, v), dumpTasks(&b, v), dumpRest(&b, v))
	})
	return b.String(), err
}

func dumpLog(b *strings.Builder, v store.View) error {
	lines, err := v.Lines(time.Time{}, nil)
	if err != nil {
		return err
	}
	n := map[task.Event]int{}
	var pruned, names []string
	err = lines(func(_ []byte, l *audit.Line) error {
		if n[l.Event]++; l.Event == task.Pruned {
			pruned = append(pruned, l.Task)
		}
		if l.KnownAs != "" {
			names = append(names, l.KnownAs)
		}
		if l.Link != (task.Link{}) {
			fmt.Fprintf(b, "%s %s answers %+v\n", l.Event, l.Task, l.Link)
		}
		return nil
	})
	delete(n, audit.Repaired)
	for _, id := range pruned {
		was, e := queue.PrunedOf(v, id)
		err = errors.Join(err, e)
		labels, e := queue.LabelsOf(v, id, terms.System)
		err = errors.Join(err, e)
		fmt.Fprintf(b, "pruned %s %s %s\n", id, was, labels)
	}
	for _, name := range names {
		id, e := queue.NameOf(v, name)
		_, last := queue.PrunedOf(v, name)
		err = errors.Join(err, e, last)
		fmt.Fprintf(b, "%s is %s\n", name, id)
	}
	fmt.Fprintf(b, "log %v\n", n)
	return err
}

func dumpTasks(b *strings.Builder, v store.View) error {
	for _, st := range task.States {
		err := v.Each(store.On(st), func(id string, _ time.Time) (bool, error) {
			t, err := queue.Load(v, st, id)
			if err != nil {
				return false, err
			}
			a, err := queue.ApprovalOf(v, id)
			if err != nil {
				return false, err
			}
			if a != nil {
				a.Nonce, a.Holder = "", ""
			}
			result, err := queue.ResultOf(v, id)
			fmt.Fprintf(b, "%s %s approval %+v result %q\n", st, t.Line(), a, result)
			return true, err
		})
		if err != nil {
			return err
		}
	}
	pending := map[store.Key]int{}
	err := v.Open("", func(e store.Entry) (bool, error) {
		pending[e.Sender] = 0
		fmt.Fprintf(b, "open %s %s\n", e.ID, e.State)
		return true, nil
	})
	if err == nil {
		err = v.Pending(pending)
	}
	fmt.Fprintln(b, "pending", pending)
	for i, st := range task.States {
		if err == nil && st.Open() {
			n := i
			err = v.Sift(st, func(e store.Entry) (bool, error) {
				n++
				fmt.Fprintf(b, "sifted %s %s\n", e.ID, e.State)
				return n%3 != 0, nil
			})
		}
	}
	return err
}

func dumpRest(b *strings.Builder, v store.View) error {
	parents, err := queue.Proposers(v)
	slices.Sort(parents)
	for _, parent := range parents {
		file, e := queue.OutboxOf(v, parent)
		err = errors.Join(err, e)
		fmt.Fprintf(b, "outbox %s %s\n", parent, file)
	}
	grants, e := queue.GrantsOf(v)
	err = errors.Join(err, e)
	for i := range grants {
		grants[i].Holder = ""
	}
	sessions, e := queue.SessionsOf(v)
	err = errors.Join(err, e)
	held, e := queue.Holding(v)
	err = errors.Join(err, e)
	position, _, e := queue.PositionOf(v, Source)
	err = errors.Join(err, e)
	findings, e := queue.FindingsOf(v)
	err = errors.Join(err, e)
	counts := v.Counts()
	fmt.Fprintf(b, "grants %+v sessions %+v held %v position %+v findings %+v\n", grants, sessions, held != nil, position, findings)
	for _, st := range task.States {
		fmt.Fprintf(b, "%s %d\n", st, counts.Tasks[st])
	}
	fmt.Fprintf(b, "refused %s %d\n", counts.Day, counts.Refused)
	return errors.Join(err, dumpRefused(b, v))
}
