// Package ledger is the file of spent nonces. It makes a signed approval good for one
// start, whatever becomes of the queue that held the approval.
//
// Invariant: when Spend returns nil, the nonce is spent on the disk, with file and
// directory synced, and no other Spend of it succeeds until a Return. Lines are only
// appended. Once the file has grown, lines that expired long ago are left out, and their
// nonces can't be spent any more either. Caveat: an account that can write the file, or
// put an older one in its place, can spend twice. The caller has to check which accounts
// can (package safefile).
package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"pulse/lib/queue/disk"
)

// maxSize bounds the file, in bytes: half a million uses in a month. If the file is full,
// Spend fails.
const maxSize = 64 << 20

// The reasons why a nonce can't be spent.
var (
	ErrSpent      = errors.New("it was used already")
	ErrSuperseded = errors.New("a later one was used for the same task")
	ErrForgotten  = errors.New("it expired so long ago that nobody knows any more whether it was used")
)

// Ledger is a file of spent nonces.
type Ledger struct{ Path string }

// Check returns nil if all of the uses may be made. If there is no file, nothing is spent.
func (l Ledger) Check(uses ...Use) error {
	err := l.locked((*disk.Lock).Share, func(f file) error {
		was, err := f.read()
		if err == nil {
			_, err = was.list.state().spent(uses, time.Time{})
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Spend makes all of the uses, durably, or fails as Check does.
func (l Ledger) Spend(now time.Time, uses ...Use) error {
	return l.locked((*disk.Lock).Take, func(f file) error { return f.change(now, uses, (*state).spent) })
}

// Return gives back what uses spent, because nothing happened. It skips uses that have
// spent nothing.
func (l Ledger) Return(now time.Time, uses ...Use) error {
	return l.locked((*disk.Lock).Take, func(f file) error { return f.change(now, uses, (*state).returned) })
}

// locked calls do while the file is locked. No other command changes the file, or puts
// another one in its place, until do returns.
func (l Ledger) locked(take func(*disk.Lock) (func(), error), do func(f file) error) error {
	most := func(string) int64 { return maxSize }
	d, err := disk.Open(filepath.Dir(l.Path), disk.Options{Most: most, Search: true})
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer d.Close()
	f := file{l.Path, filepath.Base(l.Path), d}
	unlock, err := take(d.Lock(f.name, 0))
	if err != nil {
		return f.failed(err)
	}
	defer unlock()
	return do(f)
}
