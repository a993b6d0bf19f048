package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pulse/lib/queue/journal"
)

// dirs returns the directories of a snapshot besides that of the log.
func (l *Layout) dirs() []string { return slices.Concat(l.Dirs, l.Grown) }

// gather fills an empty directory with most of what a snapshot has, the marker first:
// whatever becomes of it, nobody may take it for a queue. No command waits for it: follow
// puts right what changes meanwhile. The many files, which are never written in
// place, are only linked where they can be, and copied later.
func (c *copier) gather() error {
	path := filepath.Join(c.root, MarkerFile)
	if err := os.WriteFile(path, []byte(mark), fileMode); err != nil {
		return err
	}
	if err := os.Chmod(path, fileMode); err != nil { // whatever the umask is
		return err
	}
	if err := os.Mkdir(filepath.Join(c.root, journal.Dir), 0o700); err != nil { // follow copies the log
		return err
	}
	for _, dir := range c.Layout.dirs() {
		for _, in := range []string{c.root, filepath.Join(c.root, linkedName)} {
			if err := os.MkdirAll(filepath.Join(in, dir), 0o700); err != nil {
				return err
			}
		}
		err := c.Disk.Names(dir, func(name string) error { return c.bring(dir, name) })
		if err != nil {
			return err
		}
	}
	return nil
}

// bring links or copies a file of the queue, unless it is gone.
func (c *copier) bring(dir, name string) error {
	if !slices.Contains(c.Layout.Grown, dir) && c.link(dir, name) == nil {
		return nil
	}
	return gone(c.copyRegular(c.Disk, dir+"/"+name))
}

// gone returns nil for the error of a file that is not there any more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// follow brings the copy, which shows the queue as it was at from or later, up to what the
// queue is now, when its log ends at end. It may be done again, for the same moment or a
// later one.
func (c *copier) follow(from, end journal.Mark) error {
	moved, err := c.Source.Moved(from, end)
	for id := range moved {
		for _, name := range c.Layout.Of(id) {
			if err == nil {
				err = c.replace(name)
			}
		}
	}
	if err == nil {
		err = c.copyLog(end)
	}
	for _, name := range c.Layout.Files {
		if err == nil {
			err = c.replace(name)
		}
	}
	return err
}

// replace brings a file that may be in the copy already.
func (c *copier) replace(name string) error {
	for _, in := range []string{c.root, filepath.Join(c.root, linkedName)} {
		if err := gone(os.Remove(filepath.Join(in, name))); err != nil {
			return err
		}
	}
	if dir, base, in := strings.Cut(name, "/"); in {
		return c.bring(dir, base)
	}
	return gone(c.copyFile(c.Disk, name))
}

// copyLog adds to the copy of the log what it lacks. What was committed never changes.
func (c *copier) copyLog(end journal.Mark) error {
	log := journal.New(c.Disk)
	segments, err := log.Segments()
	if err != nil {
		return err
	}
	for _, segment := range segments {
		if segment > end.Segment {
			continue
		}
		name, size := journal.Dir+"/"+segment, end.Size
		if segment != end.Segment {
			st, err := c.Disk.Stat(name)
			if err != nil {
				return err
			}
			size = st.Size
		}
		if err := c.extend(name, size); err != nil {
			return err
		}
	}
	return nil
}

// extend copies what a file of the copy lacks, up to end.
func (c *copier) extend(name string, end int64) error {
	to, err := os.OpenFile(filepath.Join(c.root, name), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	info, err := to.Stat()
	if err != nil {
		return err
	}
	for off := info.Size(); off < end; {
		n, err := c.Disk.ReadAt(name, off, c.buf[:min(int64(len(c.buf)), end-off)])
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %s is shorter than it was", journal.ErrBroken, name)
		}
		if err == nil {
			_, err = to.WriteAt(c.buf[:n], off)
		}
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// sealLog gives the copy of the log the mode of all other files.
func (c *copier) sealLog() error {
	entries, err := os.ReadDir(filepath.Join(c.root, journal.Dir))
	for _, e := range entries {
		err = errors.Join(err, os.Chmod(filepath.Join(c.root, journal.Dir, e.Name()), fileMode))
	}
	return err
}
