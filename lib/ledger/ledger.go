// Package ledger is the file of nonces that were spent: what makes a signed approval
// good for one start, whatever becomes of the queue it lay in.
//
// Invariant: when Spend returns nil, the nonce is spent on the disk, file and
// directory synced, and no other Spend of it succeeds until a Return. Lines are only
// appended; what expired long ago is left out once the file has grown, and can't be
// spent any more either. Caveat: who can write the file, or put an older one in its place, can
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

// MaxSize bounds the file, in bytes: half a million uses of two days. A full one
// spends nothing any more.
const MaxSize = 64 << 20

// The reasons why a nonce can't be spent.
var (
	ErrSpent      = errors.New("it was used already")
	ErrSuperseded = errors.New("a later one was used for the same task")
	ErrForgotten  = errors.New("it expired so long ago that nobody knows any more whether it was used")
)

// Ledger is a file of spent nonces.
type Ledger struct{ Path string }

// Check returns nil if all of the uses may be made. No file is an empty one.
func (l Ledger) Check(uses ...Use) error {
	f, err := l.open(os.O_RDONLY, syscall.LOCK_SH)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	list, _, err := l.read(f)
	if err != nil {
		return err
	}
	_, err = list.state().lines(uses, time.Time{})
	return err
}

// Spend makes all of the uses, durably, or fails as Check does.
func (l Ledger) Spend(now time.Time, uses ...Use) error {
	return l.change(now, func(st *state) ([]Entry, error) { return st.lines(uses, second(now)) })
}

// Return gives back what uses spent, for whoever was started says that nothing
// happened. What they do not hold is left alone.
func (l Ledger) Return(now time.Time, uses ...Use) error {
	return l.change(now, func(st *state) (list []Entry, err error) {
		for i := range uses {
			if n := st.held(&uses[i]); n != "" {
				list = append(list, Entry{second(now), Returned, n, uses[i].task(), uses[i].Expires})
			}
		}
		return list, nil
	})
}

// lines returns the entries that make uses.
func (st *state) lines(uses []Use, now time.Time) (list []Entry, err error) {
	for i := range uses {
		n, err := st.spend(&uses[i])
		if err != nil {
			return nil, err
		}
		e := &Entry{now, Spent, n, uses[i].task(), uses[i].Expires}
		st.add(e) // no nonce is for two of them
		list = append(list, *e)
	}
	return list, nil
}

// second is a time as an entry has it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// change appends entries under the exclusive lock.
func (l Ledger) change(now time.Time, entries func(*state) ([]Entry, error)) error {
	f, err := l.open(os.O_RDWR|os.O_CREATE, syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	list, whole, err := l.read(f)
	if err != nil {
		return err
	}
	if whole > compactFrom {
		if f, list, whole, err = l.compacted(f, list, whole, now); err != nil {
			return err
		}
	}
	added, err := entries(list.state())
	if err != nil || len(added) == 0 {
		return err
	}
	return l.append(f, whole, added)
}

// append writes entries behind what is whole of a file.
func (l Ledger) append(f *os.File, whole int64, added []Entry) error {
	var b []byte
	for i := range added {
		b = added[i].Append(b)
	}
	if whole+int64(len(b)) > MaxSize {
		return l.tooLarge()
	}
	err := f.Truncate(whole) // half a line of somebody who died
	if err == nil {
		_, err = f.WriteAt(b, whole)
	}
	if err == nil {
		err = f.Sync() // a failed one is not tried again: the lines may stand there or not
	}
	if err == nil && whole == 0 {
		err = syncDir(filepath.Dir(l.Path))
	}
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// open opens and locks the file that lies there once the lock is had: the one that was
// waited for may have been replaced. The lock goes with the descriptor.
func (l Ledger) open(flags, how int) (*os.File, error) {
	for {
		f, err := os.OpenFile(l.Path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		current, err := l.lock(f, how)
		if err == nil && current {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
}

// lock locks an open file, and reports whether it still is the one at the path.
func (l Ledger) lock(f *os.File, how int) (current bool, err error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", l.Path)
	}
	if err == nil {
		err = flock(f, how)
	}
	if err != nil {
		return false, err
	}
	at, err := os.Lstat(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, at), err
}

// read returns what the locked file holds, and how much of it is whole lines.
func (l Ledger) read(f *os.File) (entries, int64, error) {
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
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

func flock(f *os.File, how int) error {
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
