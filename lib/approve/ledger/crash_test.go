package ledger

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

	"pulse/lib/queue/disk/disktest"
)

// The crash tests run each operation on a disk in memory, and end it at every step: by a
// kill, by an error, by a power cut. The ledger must then be as before or as after, as
// after if that was acknowledged, and go on.

// operation is a change of the ledger.
type operation struct {
	name string
	do   func(f file) error
}

func on(d *disktest.FS) file { return file{"/pulse/nonces", "nonces", d} }

func spending(name string, at time.Time, uses ...Use) operation {
	return operation{name, func(f file) error { return f.change(at, uses, (*state).spent) }}
}

// until is a use of one nonce that expires then.
func until(n int, at time.Time) Use {
	return Use{Nonces: []string{fmt.Sprintf("%016x", n)}, Task: ask(n), Expires: at}
}

// life is what a ledger goes through, with a size from which on it is made smaller that
// some of the operations reach.
func life() (list []operation) {
	list = append(list, spending("make it", now, until(1, now.Add(time.Hour))))
	list = append(list, spending("several", now, until(2, now), until(3, now), until(4, now), until(5, now), until(6, now), until(7, now)))
	list = append(list, operation{"return", func(f file) error { return f.change(now, []Use{until(4, now)}, (*state).returned) }})
	for i := range 12 {
		list = append(list, spending("one", now, until(10+i, now.Add(time.Duration(i)*time.Hour))))
	}
	late := now.Add(dropAfter + 42*time.Hour)
	list = append(list, spending("leave out what is old", late, until(30, late), until(31, late)))
	return append(list, spending("after that", late, until(32, late)))
}

var probe = spending("the next command", now.Add(dropAfter+43*time.Hour), until(99, now.Add(dropAfter+51*time.Hour)))

var fates = func() map[string]disktest.Fate {
	all := maps.Clone(disktest.Fates)
	all["EROFS"], all["EACCES"] = disktest.Fate{Err: syscall.EROFS}, disktest.Fate{Err: syscall.EACCES}
	return all
}()

// holds returns what a ledger holds, as lines.
func holds(d *disktest.FS) (string, error) {
	c, err := on(d).read()
	return string(c.list.bytes()), err
}

// after returns what a ledger that holds some lines holds once an operation is through.
func after(was string, op operation) (string, error) {
	d := disktest.New()
	if err := d.WriteAt("nonces", 0, []byte(was)); err != nil {
		return "", err
	}
	if err := op.do(on(d)); err != nil {
		return "", err
	}
	return holds(d)
}

// outcome is what a ledger may hold after an operation.
type outcome struct{ done, begun []string }

// outcomes returns them: made smaller or, where that failed, not; and if it was not
// acknowledged, as before, or with some of the lines.
func outcomes(was string, op operation) (may outcome, err error) {
	is, err := after(was, op)
	if err != nil {
		return may, err
	}
	from := compactFrom
	compactFrom = maxSize
	plain, err := after(was, op)
	compactFrom = from
	may.done, may.begun = []string{is, plain}, []string{was, is}
	for line := range strings.Lines(strings.TrimPrefix(plain, was)) {
		was += line
		may.begun = append(may.begun, was)
	}
	return may, err
}

// crashed runs op with a fault in its nth step, the next command too if that comes before the
// power cut, and returns an error if anything is lost.
func crashed(d *disktest.FS, op operation, may outcome, n int, fate disktest.Fate, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	d = d.Clone()
	d.Fault = disktest.At(n, fate)
	err := disktest.Run(func() error { return op.do(on(d)) })
	d.Fault = nil
	want := may.begun
	switch {
	case err == nil && (fate.Err == syscall.EACCES || fate.Err == syscall.EROFS): // nothing took its place
		want = may.done[1:]
	case err == nil && fate.Err != nil:
		return errors.New("it was acknowledged in spite of that")
	case err == nil:
		want = may.done
	}
	if seed%2 == 1 {
		if err := probe.do(on(d)); err != nil {
			return fmt.Errorf("the next command: %w", err)
		}
		want = slices.Clone(want)
		for i := range want {
			if want[i], err = after(want[i], probe); err != nil {
				return err
			}
		}
	}
	d.PowerCut(r)
	got, err := holds(d)
	if err != nil || !slices.Contains(want, got) {
		return fmt.Errorf("it holds (%v):\n%s\nand should one of:\n%s", err, got, strings.Join(want, "\n"))
	}
	if seed%2 == 0 {
		err = probe.do(on(d))
	}
	if err == nil {
		err = spending("again", now, until(99, now.Add(dropAfter+51*time.Hour))).do(on(d))
	}
	if !errors.Is(err, ErrSpent) {
		return fmt.Errorf("the command after that: %w", err)
	}
	return nil
}

func crashEverywhere(t *testing.T, d *disktest.FS) (cases int, err error) {
	small(t, 1500)
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for i, op := range life() {
		was, err := holds(d)
		if err != nil {
			return cases, err
		}
		may, err := outcomes(was, op)
		if err != nil {
			return cases, fmt.Errorf("%d %s: %w", i, op.name, err)
		}
		d.Ops = 0
		next := d.Clone()
		if err := op.do(on(next)); err != nil {
			return cases, fmt.Errorf("%d %s: %w", i, op.name, err)
		}
		for n := 1; n <= next.Ops; n++ {
			for how, fate := range fates {
				for seed := range seeds {
					cases++
					if err := crashed(d, op, may, n, fate, seed); err != nil {
						return cases, fmt.Errorf("%d %s, step %d of %d %s, seed %d: %w", i, op.name, n, next.Ops, how, seed, err)
					}
				}
			}
		}
		d = next
	}
	return cases, nil
}

// TestCrashEverywhere ends every operation of a life in each of its steps.
func TestCrashEverywhere(t *testing.T) {
	for _, ordered := range []bool{true, false} {
		d := disktest.New()
		d.Ordered = ordered
		cases, err := crashEverywhere(t, d)
		if err != nil || cases < 1000 {
			t.Errorf("ordered %v, after %d interruptions: %v", ordered, cases, err)
		}
	}
}

// TestReadsFail: a ledger that can't be read acknowledges nothing, and loses nothing.
func TestReadsFail(t *testing.T) {
	d, cases := disktest.New(), 0
	d.Reads = true
	for i, op := range life() {
		was, err := holds(d)
		if err != nil {
			t.Fatal(err)
		}
		may, err := outcomes(was, op)
		if err != nil {
			t.Fatalf("%d %s: %v", i, op.name, err)
		}
		next := d.Clone()
		if err := op.do(on(next)); err != nil {
			t.Fatalf("%d %s: %v", i, op.name, err)
		}
		for n := 1; n <= next.Ops; n++ {
			cases++
			if err := crashed(d, op, may, n, disktest.Fates["EIO"], uint64(n)); err != nil {
				t.Errorf("%d %s, read %d of %d: %v", i, op.name, n, next.Ops, err)
			}
		}
		d = next
	}
	if cases < len(life()) {
		t.Errorf("only %d reads", cases)
	}
}

// TestAcrossSectors: of what lies in two sectors a power cut may keep either, beside what a
// command that died left there before. None of that is an entry, and none of it is damage.
func TestAcrossSectors(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 100
	}
	for what, c := range map[string]struct {
		lines int // before it
		tail  string
		uses  int
	}{
		"one line":           {5, "", 1},
		"several":            {3, "", 4},
		"on half a line":     {5, string(entries{{now.Add(time.Hour), spent, ask(1), ask(2), now}}.bytes())[:113], 1},
		"on zeros and a bit": {5, strings.Repeat("\x00", 100) + "and a bit\n", 1},
	} {
		d := disktest.New()
		var before []Use
		for i := range c.lines {
			before = append(before, until(i, now))
		}
		if err := spending("before", now, before...).do(on(d)); err != nil {
			t.Fatal(err)
		}
		was, _ := holds(d)
		if at, end := len(was)/disktest.Sector, len(was)+100; c.uses == 1 && at == end/disktest.Sector {
			t.Fatalf("%d bytes: a line would lie in one sector", len(was))
		}
		if err := errors.Join(d.WriteAt("nonces", int64(len(was)), []byte(c.tail)), d.SyncFile("nonces")); err != nil {
			t.Fatal(err)
		}
		var uses []Use
		for i := range c.uses {
			uses = append(uses, until(50+i, now.Add(time.Hour)))
		}
		op := spending(what, now, uses...)
		may, err := outcomes(was, op)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n < 10; n++ {
			for seed := range seeds {
				if err := crashed(d, op, may, n, disktest.Fates["killed after"], seed); err != nil {
					t.Fatalf("%s, step %d, seed %d: %v", what, n, seed, err)
				}
			}
		}
	}
}

// TestCrashFindsNaiveWriters is the control: a ledger whose syncs do nothing is caught.
func TestCrashFindsNaiveWriters(t *testing.T) {
	for name, lie := range map[string]func(d *disktest.FS){
		"file not synced":      func(d *disktest.FS) { d.LieFile = true },
		"directory not synced": func(d *disktest.FS) { d.LieDir = true },
	} {
		d := disktest.New()
		lie(d)
		if _, err := crashEverywhere(t, d); err == nil {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
