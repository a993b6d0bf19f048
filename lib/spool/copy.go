package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/fault"
	"pulse/lib/journal"
	"pulse/lib/task"
)

// copied are the files and directories that a snapshot has. It has no approvals,
// grants, sessions, positions, locks and workers: nothing that lets anybody do anything.
func copied() (files, dirs []string) {
	files = []string{formatFile, unsafeFile, networkFile, holdFile, checkpointFile, agendaFile, startsFile}
	dirs = []string{auditDir, metaDir, resultDir, prunedDir}
	for _, s := range task.States {
		dirs = append(dirs, string(s))
	}
	return files, dirs
}

// onlyRead makes s a snapshot. It does not change, but it may be replaced, and then be
// removed unless its readers pin it.
func (s *Spool) onlyRead() error {
	if d, ok := s.disk.(*disk.Dir); ok {
		if err := d.Pin(LockTimeout); err != nil {
			return tooLong(err)
		}
		if _, err := d.Stat(snapshotFile); err != nil {
			return fault.Temporaryf("run it again", "the snapshot was replaced meanwhile")
		}
	}
	s.snapshot = true
	return nil
}

// chunk is how much is copied at a time, and how much of the log is read.
const chunk = 256 << 10

// linkedName is where the files of a snapshot are until they are copied.
const linkedName = "linked"

// gather fills an empty directory with most of what a snapshot has, the marker first:
// whatever becomes of it, nobody may take it for a queue. Nobody waits for it: what
// changes meanwhile, follow puts right. The many files, which are never written in
// place, are only linked where they can be, and copied later.
func (s *Spool) gather(root string) error {
	mark := filepath.Join(root, snapshotFile)
	if err := os.WriteFile(mark, []byte(snapshotMark), snapshotFileMode); err != nil {
		return err
	}
	if err := os.Chmod(mark, snapshotFileMode); err != nil { // whatever the umask is
		return err
	}
	_, dirs := copied()
	buf := make([]byte, chunk)
	for _, dir := range dirs {
		for _, in := range []string{root, filepath.Join(root, linkedName)} {
			if err := os.MkdirAll(filepath.Join(in, dir), 0o700); err != nil {
				return err
			}
		}
		if dir == auditDir {
			continue // follow copies the log
		}
		err := s.disk.Names(dir, func(name string) error { return s.bring(root, dir, name, buf) })
		if err != nil {
			return err
		}
	}
	return nil
}

// bring links or copies a file of the queue, unless it is gone.
func (s *Spool) bring(root, dir, name string, buf []byte) error {
	if dir != prunedDir && s.link(root, dir, name) == nil {
		return nil
	}
	err := copyTask(s.disk, root, dir+"/"+name, buf)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// follow brings the copy in root, which is of from or later, up to the queue as it is
// now. It may be done again, of the same moment or a later one.
func (s *Spool) follow(root string, from mark) error {
	buf := make([]byte, chunk)
	touched := map[string]bool{}
	err := s.between(from, s.at(), func(l *audit.Line) error {
		if l.Moves() {
			touched[l.Task] = true
		}
		return nil
	})
	for id := range touched {
		if err == nil {
			err = s.bringAgain(root, id, buf)
		}
	}
	if err == nil {
		err = s.copyLog(root, buf)
	}
	files, _ := copied()
	for _, name := range files {
		if err == nil {
			err = s.replace(root, "", name, buf)
		}
	}
	return err
}

// bringAgain brings what there is of a task to where it lies now.
func (s *Spool) bringAgain(root, id string, buf []byte) error {
	files := map[string]string{metaDir: id + ".json", resultDir: id, prunedDir: id[:3]}
	for _, st := range task.States {
		files[string(st)] = id + ".json"
	}
	for dir, name := range files {
		if err := s.replace(root, dir, name, buf); err != nil {
			return err
		}
	}
	return nil
}

// replace is bring, of a file that may be in the copy already.
func (s *Spool) replace(root, dir, name string, buf []byte) error {
	for _, in := range []string{root, filepath.Join(root, linkedName)} {
		if err := os.Remove(filepath.Join(in, dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if dir == "" {
		err := copyFile(s.disk, root, name, buf)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return s.bring(root, dir, name, buf)
}

// copyLog adds to the copy of the log what it lacks. What was committed never changes.
func (s *Spool) copyLog(root string, buf []byte) error {
	segments, err := s.log.Segments()
	if err != nil {
		return err
	}
	for _, segment := range segments {
		if segment > s.log.Segment {
			continue
		}
		name := auditDir + "/" + segment
		end := s.log.Size
		if segment != s.log.Segment {
			st, err := s.disk.Stat(name)
			if err != nil {
				return err
			}
			end = st.Size
		}
		if err := extend(s.disk, root, name, end, buf); err != nil {
			return err
		}
	}
	return nil
}

// extend copies what a file of the copy lacks, up to end.
func extend(from disk.Disk, root, name string, end int64, buf []byte) error {
	to, err := os.OpenFile(filepath.Join(root, name), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	info, err := to.Stat()
	if err != nil {
		return err
	}
	for off := info.Size(); off < end; {
		n, err := from.ReadAt(name, off, buf[:min(int64(len(buf)), end-off)])
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %s is shorter than it was", journal.ErrBroken, name)
		}
		if err == nil {
			_, err = to.WriteAt(buf[:n], off)
		}
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

// sealLog gives the copy of the log the mode of all other files.
func sealLog(root string) error {
	entries, err := os.ReadDir(filepath.Join(root, auditDir))
	for _, e := range entries {
		err = errors.Join(err, os.Chmod(filepath.Join(root, auditDir, e.Name()), snapshotFileMode))
	}
	return err
}

// link links a file of the queue for copyLinked. Root links nothing of another account's
// queue: that account could have moved a file there that it can't read itself.
func (s *Spool) link(root, dir, name string) error {
	d, ok := s.disk.(*disk.Dir)
	if !ok || d.UID != os.Geteuid() && os.Geteuid() == 0 {
		return errors.ErrUnsupported
	}
	fd, err := d.Fd(dir)
	if err != nil {
		return err
	}
	return unix.Linkat(fd, name, unix.AT_FDCWD, filepath.Join(root, linkedName, dir, name), 0)
}

// copyLinked copies what was linked. Nobody waits for it.
func copyLinked(root string) error {
	linked := filepath.Join(root, linkedName)
	d, err := openDisk(linked)
	if err != nil {
		return err
	}
	defer d.Close()
	_, dirs := copied()
	buf := make([]byte, chunk)
	for _, dir := range dirs {
		err := d.Names(dir, func(name string) error { return copyTask(d, root, dir+"/"+name, buf) })
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(linked)
}

// copyTask is copyFile, except that it passes over what is not a file: verify finds that in
// the queue.
func copyTask(from disk.Disk, root, name string, buf []byte) error {
	if err := copyFile(from, root, name, buf); err != nil && !notFile(err) {
		return err
	}
	return nil
}

// copyFile copies one file with its time, by which tasks are sorted. One that goes
// meanwhile is fs.ErrNotExist, and nothing of it is left.
func copyFile(from disk.Disk, root, name string, buf []byte) error {
	st, err := from.Stat(name)
	if err != nil {
		return err
	}
	if parentOf(name) != auditDir && parentOf(name) != prunedDir && name != agendaFile {
		if err := diskOptions.Fits(name, st.Size); err != nil {
			return err
		}
	}
	n, err := from.ReadAt(name, 0, buf)
	if err != nil {
		return err
	}
	to := filepath.Join(root, name)
	fd, err := unix.Open(to, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, uint32(snapshotFileMode))
	if err != nil {
		return &fs.PathError{Op: "create", Path: to, Err: err}
	}
	defer unix.Close(fd)
	for off := int64(0); err == nil && n > 0; {
		err = disk.Pwrite(fd, buf[:n], off)
		if off += int64(n); err == nil && n == len(buf) {
			n, err = from.ReadAt(name, off, buf)
		} else {
			n = 0
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, uint32(snapshotFileMode))
	}
	ts := unix.NsecToTimespec(st.Mtime.UnixNano())
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(to))
	}
	if err != nil {
		return &fs.PathError{Op: "copy", Path: to, Err: err}
	}
	return nil
}
