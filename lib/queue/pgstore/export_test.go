package pgstore

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
)

// What the tests of this package see besides.
var (
	Parse   = parse
	ErrUndo = errUndone
	Recent  = sqlRecent
)

// Hold is hold.
func (s *Store) Hold(id string, fence int64) { s.hold(id, fence) }

// Conn is another one after the Store connected again.
func (s *Store) Conn() any { return s.conn }

// Here is how a run of this process names its machine.
func (s *Store) Here() string { return s.host }

// Standby sets how long a command waits for a standby, until undo is called.
func Standby(d time.Duration) (undo func()) {
	old := standbyLimit
	standbyLimit = d
	return func() { standbyLimit = old }
}

// HeldFor sets for how long, in SQL, the lock may be held before health says so, until undo is called.
func HeldFor(interval string) (undo func()) {
	i := slices.IndexFunc(conditions, func(c condition) bool { return c.code == health.LockHeld })
	old := conditions[i].sql
	conditions[i].sql = strings.ReplaceAll(old, "'5 s'", interval)
	return func() { conditions[i].sql = old }
}

// Elsewhere makes the Store one of another machine, whose state lies in a directory below this one.
func (s *Store) Elsewhere(dir string) { s.state = filepath.Join(dir, s.cfg.User) }

// Every sets how often the clock of leases is looked at, and what it says more than the true
// one, until undo is called.
func Every(d time.Duration, more func() time.Duration) (undo func()) {
	oldTick, oldNow := tick, now
	tick, now = d, func() time.Duration { return oldNow() + more() }
	return func() { tick, now = oldTick, oldNow }
}

// The terms of a lease.
const (
	Silence   = silence
	BeatEvery = beatEvery
)

// Beat sets how long each host may take for a beat, until undo is called.
func Beat(limit time.Duration) (undo func()) {
	old := beatLimit
	beatLimit = limit
	return func() { beatLimit = old }
}

var _ store.View = (*view)(nil)
