// Package ledger is the file of nonces that were spent: what makes a signed approval
// good for one start, whatever becomes of the queue it lay in.
//
// Invariant: when Spend returns nil, the nonce is spent on the disk, file and
// directory synced, and no other Spend of it succeeds until a Return. Lines are only
// appended. Caveat: who can write the file, or put an older one in its place, can
// spend twice; who may is for the caller to check (package safefile).
package ledger

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pulse/lib/fault"
)

// MaxSize bounds the file, in bytes: half a million approvals. A full one spends
// nothing any more.
const MaxSize = 64 << 20

// The reasons why a nonce can't be spent.
var (
	ErrSpent      = errors.New("it was used already")
	ErrSuperseded = errors.New("a later one was used for the same task")
)

// Ledger is a file of spent nonces.
type Ledger struct{ Path string }

// Check returns nil if an approval with this nonce, given for a task then, may still
// be spent. No file is an empty one.
func (l Ledger) Check(nonce, task string, given time.Time) error {
	f, err := os.OpenFile(l.Path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	entries, _, err := l.read(f, syscall.LOCK_SH)
	if err != nil {
		return err
	}
	return entries.spendable(nonce, task, given)
}

// Spend spends a nonce durably, or fails as Check does.
func (l Ledger) Spend(nonce, task string, given, now time.Time) error {
	return l.change(Entry{now.UTC().Truncate(time.Second), Spent, nonce, task}, func(e entries) error {
		return e.spendable(nonce, task, given)
	})
}

// Return gives a nonce back, for whoever was started says that nothing happened.
func (l Ledger) Return(nonce, task string, now time.Time) error {
	return l.change(Entry{now.UTC().Truncate(time.Second), Returned, nonce, task}, func(entries) error { return nil })
}

// change appends an entry under the exclusive lock, if the others leave it to.
func (l Ledger) change(e Entry, may func(entries) error) error {
	f, err := os.OpenFile(l.Path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	entries, whole, err := l.read(f, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	if err := may(entries); err != nil {
		return err
	}
	if err := f.Truncate(whole); err != nil { // half a line of somebody who died
		return fmt.Errorf("ledger: %w", err)
	}
	line := e.Append(nil)
	if whole+int64(len(line)) > MaxSize {
		return l.tooLarge()
	}
	_, err = f.WriteAt(line, whole)
	if err == nil {
		err = f.Sync() // a failed one is not tried again: the line may stand there or not
	}
	if err == nil && whole == 0 {
		err = syncDir(filepath.Dir(l.Path))
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// read locks the file and returns what it holds, and how much of it is whole lines.
// The lock goes with the descriptor.
func (l Ledger) read(f *os.File, how int) (entries, int64, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", l.Path)
	}
	if err == nil {
		err = lock(f, how)
	}
	var b []byte
	if err == nil {
		b, err = io.ReadAll(io.LimitReader(f, MaxSize+1))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("ledger: %w", err)
	}
	if len(b) > MaxSize {
		return nil, 0, l.tooLarge()
	}
	list, whole, err := Parse(b)
	if err != nil {
		return nil, 0, fault.Failedf("put the file back as it was, out of a backup", "ledger: %s: %w", l.Path, err)
	}
	return list, int64(whole), nil
}

func (l Ledger) tooLarge() error {
	return fault.Failedf("man 5 pulse-policy", "ledger: %s is full (%d MiB)", l.Path, MaxSize>>20)
}

func lock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
