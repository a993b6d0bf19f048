package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// compactFrom is the size from which on it is worth to leave out what is old, in
// bytes.
var compactFrom int64 = 4 << 20

// A line is left out when its nonce expired longer ago than dropAfter, and nothing is
// spent any more that expired longer ago than refuseAfter. The latter is less, so that
// what is forgotten can't come back, not even with a clock that was ahead; and the
// difference is as long as an approval lives, so that one which a forgotten start
// superseded is refused too.
const (
	refuseAfter = 24 * time.Hour
	dropAfter   = 48 * time.Hour
)

// compact returns the entries without those that are old, nil if that does not halve
// them. All that is known of a nonce stays or goes.
func (list entries) compact(now time.Time) entries {
	last := map[string]time.Time{}
	for _, e := range list {
		if t, known := last[e.Nonce]; !known || !t.IsZero() && (e.Expires.IsZero() || e.Expires.After(t)) {
			last[e.Nonce] = e.Expires
		}
	}
	floor := Entry{Time: second(now), Event: Dropped, Nonce: none, Task: none, Expires: second(now.Add(-refuseAfter))}
	small := entries{floor}
	for _, e := range list {
		if e.Event == Dropped {
			if e.Expires.After(small[0].Expires) { // the clock went back
				small[0].Expires = e.Expires
			}
			continue
		}
		if t := last[e.Nonce]; t.IsZero() || t.After(now.Add(-dropAfter)) {
			small = append(small, e)
		}
	}
	if len(small) > len(list)/2 {
		return nil
	}
	return small
}

// compacted replaces f by a smaller file, if that is worth it, and returns the one to
// go on with.
func (l Ledger) compacted(f *os.File, list entries, whole int64, now time.Time) (*os.File, entries, int64, error) {
	small := list.compact(now)
	if small == nil {
		return f, list, whole, nil
	}
	next, size, err := l.replace(f, small)
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return f, list, whole, nil // its directory is not ours to write
	case err != nil:
		return f, nil, 0, fmt.Errorf("ledger: %w", err)
	}
	f.Close()
	return next, small, size, nil
}

// replace puts a file of these entries in the place of f, durably, and returns it,
// locked, and its size. f stays locked, so nobody goes by it meanwhile: who waits for
// its lock looks again (open).
func (l Ledger) replace(f *os.File, small entries) (next *os.File, size int64, err error) {
	var b []byte
	for i := range small {
		b = small[i].Append(b)
	}
	next, err = l.write(f, b)
	return next, int64(len(b)), err
}

// write writes bytes to a file beside f, with its owner and mode, syncs and locks it,
// and gives it the name.
func (l Ledger) write(f *os.File, b []byte) (next *os.File, err error) {
	name := l.Path + ".new"
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if next, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			next.Close()
			os.Remove(name)
		}
	}()
	if err := like(next, f); err != nil {
		return next, err
	}
	if _, err = next.Write(b); err == nil {
		err = next.Sync()
	}
	if err == nil {
		err = flock(next, syscall.LOCK_EX)
	}
	if err == nil {
		err = os.Rename(name, l.Path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(l.Path))
	}
	return next, err
}

// like gives a file the owner and the mode of another one.
func like(next, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		err = next.Chown(int(st.Uid), int(st.Gid))
	}
	return errors.Join(err, next.Chmod(info.Mode().Perm()))
}
