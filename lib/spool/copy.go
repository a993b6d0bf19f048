package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

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

// onlyRead makes s one.
func (s *Spool) onlyRead() {
	s.snapshot = true
	if d, ok := s.disk.(*osDisk); ok {
		s.lock = reading(d.dirs[""])
	}
}

// linkedName is where the files of a snapshot are until they are copied.
const linkedName = "linked"

// gather fills an empty directory with what a snapshot has, the marker first:
// whatever becomes of it, nobody may take it for a queue. Others wait meanwhile, so
// the many files, which are never written in place, are only linked where they can
// be, and copied later.
func (s *Spool) gather(root string) error {
	mark := filepath.Join(root, snapshotFile)
	if err := os.WriteFile(mark, []byte(snapshotMark), snapshotFileMode); err != nil {
		return err
	}
	if err := os.Chmod(mark, snapshotFileMode); err != nil { // whatever the umask is
		return err
	}
	files, dirs := copied()
	buf := make([]byte, chunk)
	for _, name := range files {
		if err := copyFile(s.disk, root, name, buf); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range dirs {
		for _, in := range []string{root, filepath.Join(root, linkedName)} {
			if err := os.MkdirAll(filepath.Join(in, dir), 0o700); err != nil {
				return err
			}
		}
		err := s.disk.Names(dir, func(name string) error {
			if dir != auditDir && dir != prunedDir && s.link(root, dir, name) == nil {
				return nil
			}
			return copyTask(s.disk, root, dir+"/"+name, buf)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// link links a file of the queue for copyLinked. Of somebody else's queue root links
// nothing: what he can't read himself, he could have moved there to be copied.
func (s *Spool) link(root, dir, name string) error {
	d, ok := s.disk.(*osDisk)
	if !ok || d.uid != os.Geteuid() && os.Geteuid() == 0 {
		return errors.ErrUnsupported
	}
	fd, err := d.dir(dir)
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
	defer d.close()
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

// copyTask is copyFile, but for what is no file: verify finds that in the queue.
func copyTask(from disk, root, name string, buf []byte) error {
	if err := copyFile(from, root, name, buf); err != nil && !notFile(err) {
		return err
	}
	return nil
}

// copyFile copies one file with its time, by which tasks are sorted.
func copyFile(from disk, root, name string, buf []byte) error {
	st, err := from.Stat(name)
	if err != nil {
		return err
	}
	if dirOf(name) != auditDir && dirOf(name) != prunedDir && name != agendaFile {
		if err := fits(name, st.size); err != nil {
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
		err = writeAll(fd, buf[:n], off)
		if off += int64(n); err == nil && n == len(buf) {
			n, err = from.ReadAt(name, off, buf)
		} else {
			n = 0
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, uint32(snapshotFileMode))
	}
	ts := unix.NsecToTimespec(st.mtime.UnixNano())
	if err == nil {
		err = unix.UtimesNanoAt(unix.AT_FDCWD, to, []unix.Timespec{ts, ts}, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return &fs.PathError{Op: "copy", Path: to, Err: err}
	}
	return nil
}
