package spool

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/disk/disktest"
	"pulse/lib/queue/store"
)

// notes is the directory in which the spools of a test note what they commit.
type notes string

// spool is spoolOn with a memory.
func (dir notes) spool(d *disktest.FS) (*Spool, error) {
	s := spoolOn(d)
	s.memory.Open(string(dir), "/", lines{s})
	_, err := lines{s}.FirstHash()
	return s, errors.Join(err, s.Forgetful())
}

// run runs an operation on a queue that is told of, and then as fault says.
func (dir notes) run(op operation, now time.Time, d *disktest.FS, fault func(int) disktest.Fate) error {
	s, err := dir.spool(d)
	if err != nil {
		return err
	}
	defer s.Close()
	d.Account, d.Ops, d.Fault = accountOf(op), 0, fault
	err = attempt(op, s, now)
	d.Fault = nil
	return err
}

// lacking returns an error if what was noted is not in the queue.
func (dir notes) lacking(now time.Time, d *disktest.FS) error {
	s, err := dir.spool(d)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := nothing.Do(s, now); err != nil {
		return err
	}
	return s.View(func(v store.View) error {
		lost, err := v.Lost()
		if lost != "" {
			err = errors.New(lost)
		}
		return err
	})
}

// cutEverywhere interrupts the operations of history, and cuts the power after it: the
// notes must never speak of a line that the queue lacks.
func cutEverywhere(t *testing.T, disk *disktest.FS) (cases int, err error) {
	now := epoch
	dir := notes(filepath.Join(t.TempDir(), "pulse"))
	r := rand.New(rand.NewPCG(1, 1))
	for i, op := range history[:20] {
		before, err := dir.save()
		if err != nil {
			return cases, err
		}
		next := disk.Clone()
		for n := 1 + i%3; n == 1+i%3 || n <= next.Ops; n += 3 {
			for _, how := range append(slices.Sorted(maps.Keys(disktest.Fates)), "") {
				d := disk.Clone()
				if err := dir.restore(before); err != nil {
					return cases, err
				}
				dir.run(op, now, d, disktest.At(n, disktest.Fates[how]))
				next.Ops = max(next.Ops, d.Ops)
				d.PowerCut(r)
				if err := dir.lacking(now, d); err != nil {
					return cases, fmt.Errorf("%d %s, step %d, %s: %w", i, op.Name, n, how, err)
				}
				cases++
			}
		}
		if err := errors.Join(dir.restore(before), dir.run(op, now, next, nil)); err != nil {
			return cases, err
		}
		next.Ops, disk, now = 0, next, now.Add(1)
	}
	return cases, nil
}

// save returns what is noted.
func (dir notes) save() (map[string][]byte, error) {
	all := map[string][]byte{}
	names, err := filepath.Glob(string(dir) + "/*")
	for _, name := range names {
		if all[name], err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	return all, err
}

func (dir notes) restore(all map[string][]byte) error {
	err := os.RemoveAll(string(dir))
	if err == nil {
		err = os.Mkdir(string(dir), 0o700)
	}
	for name, b := range all {
		err = errors.Join(err, os.WriteFile(name, b, 0o600))
	}
	return err
}

// TestNotesAfterPowerCut: no crash makes an honest queue one that lacks lines.
func TestNotesAfterPowerCut(t *testing.T) {
	t.Parallel()
	for _, ordered := range []bool{true, false} {
		cases, err := cutEverywhere(t, newWorld(t, ordered, false).disk())
		if err != nil || cases < 500 {
			t.Errorf("after %d interruptions: %v", cases, err)
		}
	}
}

// TestNotesFindLostLines is the control: a disk that loses what it said was synced.
func TestNotesFindLostLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, false).disk()
	w.LieFile, w.LieAll = true, true
	if cases, err := cutEverywhere(t, w); err == nil || !strings.Contains(err.Error(), "it lacks a line") {
		t.Errorf("after %d interruptions: %v", cases, err)
	}
}
