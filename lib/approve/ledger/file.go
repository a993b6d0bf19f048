package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/fault"
)

// file is the ledger's file, locked, in its directory.
type file struct {
	path, name string
	disk       disk.Disk
}

// content is what the file holds.
type content struct {
	list  entries
	whole int64 // the size of its whole lines
	torn  bool  // half a line follows, of a command that died
}

// change appends the entries that what returns for uses.
func (f file) change(now time.Time, uses []Use, what func(*state, []Use, time.Time) ([]entry, error)) error {
	was, err := f.read()
	if err != nil {
		return err
	}
	added, err := what(was.list.state(), uses, second(now))
	if err != nil || len(added) == 0 {
		return err
	}
	if done, err := f.compact(was, added, now); done || err != nil {
		return err
	}
	return f.append(was, added)
}

// second returns a time in whole seconds, as an entry holds it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

func (f file) read() (c content, err error) {
	b, err := f.disk.Read(f.name)
	switch {
	case errors.Is(err, disk.ErrLarge):
		return c, f.full()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c, f.failed(err)
	}
	list, whole, err := parse(b)
	if err != nil {
		return c, fault.Failedf("put the file back as it was, out of a backup", "ledger: %s: %w", f.path, err)
	}
	return content{list, int64(whole), whole < len(b)}, nil
}

// append writes entries after the whole lines. A failed sync is not tried again: the lines
// may be there or not. Each line is synced before the next one is written. Otherwise a
// power cut could leave only the end of two lines, and no reader could tell that from a
// damaged line.
func (f file) append(was content, added entries) (err error) {
	if was.whole+int64(len(added.bytes())) > maxSize {
		return f.full()
	}
	if was.torn {
		if err = f.disk.Truncate(f.name, was.whole); err == nil {
			err = f.disk.SyncFile(f.name)
		}
	}
	for i, end := 0, was.whole; err == nil && i < len(added); i++ {
		b := added[i].appendTo(nil)
		if err = f.disk.WriteAt(f.name, end, b); err == nil {
			err = f.disk.SyncFile(f.name)
		}
		end += int64(len(b))
	}
	if err != nil {
		return f.failed(err)
	}
	// A command that gave the file its name may have died before it synced that.
	err = f.disk.SyncDir("")
	if errors.Is(err, fs.ErrPermission) && was.whole > 0 {
		return nil // this account could not have made the file either
	}
	return f.failed(err)
}

// compact replaces the file by a smaller one, with entries added, if that is worth it and
// this account may write the directory. The new file has the owner and mode of the old
// one. From the rename on, another command may lock and change it.
func (f file) compact(was content, added entries, now time.Time) (done bool, err error) {
	if was.whole <= compactFrom {
		return false, nil
	}
	small := was.list.compact(now)
	if small == nil {
		return false, nil
	}
	next := f.name + ".new"
	err = f.disk.Write(next, append(small, added...).bytes(), time.Time{})
	if err == nil {
		err = f.disk.Like(next, f.name)
	}
	if err == nil {
		err = f.disk.SyncFile(next)
	}
	if err == nil {
		err = f.disk.Rename(next, f.name)
	}
	if err == nil {
		return true, f.failed(f.disk.SyncDir(""))
	}
	_ = f.disk.Remove(next)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = nil
	}
	return false, f.failed(err)
}

// failed adds to an error of the disk the path that it is about.
func (f file) failed(err error) error {
	if err == nil {
		return nil
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		p.Path = filepath.Join(filepath.Dir(f.path), p.Path)
	}
	return fmt.Errorf("ledger: %w", err)
}

func (f file) full() error {
	return fault.Failedf("man 5 pulse-policy", "ledger: %s is full (%d MiB)", f.path, maxSize>>20)
}
