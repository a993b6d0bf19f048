package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pulse/lib/access"
	"pulse/lib/disk"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/safefile"
)

// snapshotFile marks a directory as a copy of a queue, which nobody changes.
const snapshotFile = "snapshot"

// snapshotMark is the content of the file of that name.
const snapshotMark = "pulse-snapshot 1\n"

// The modes of a snapshot: for its group to read, and for nobody to write. Setgid,
// a directory hands the group of its parent on.
const (
	snapshotDirMode  = fs.ModeSetgid | 0o550
	snapshotFileMode = fs.FileMode(0o440)
)

// Writable returns nil unless this is a snapshot.
func (s *Spool) Writable() error {
	if !s.snapshot {
		return nil
	}
	return fault.Usagef("name the queue it was made of", "%s is a snapshot: it can only be read", s.dir)
}

// whole returns nil unless a snapshot wants the repair that a queue would get: it
// was made without a fault, so somebody changed it.
func (s *Spool) whole(behind bool) error {
	if !behind {
		return nil
	}
	return fault.Failedf("make it anew: pulse-queue snapshot "+s.dir, "%s: the snapshot was changed, or made by an older pulse: log and checkpoint don't agree", s.dir)
}

// isSnapshot reports whether dir is one. That decides what is refused and what may
// be replaced, never whom to believe.
func isSnapshot(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, snapshotFile))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	b, err := os.ReadFile(filepath.Join(dir, snapshotFile))
	return err == nil && string(b) == snapshotMark
}

// Snapshot copies the queue to dir, as it is at one moment. What stands at dir is replaced
// in one step, and only if it is an earlier snapshot. On an error dir is as it was.
func (s *Spool) Snapshot(dir string) error {
	parent, base, err := s.apart(dir)
	if err != nil {
		return err
	}
	if err := replaceable(dir); err != nil {
		return err
	}
	groups, err := s.access.Groups()
	if err != nil {
		return err
	}
	tmp, err := disk.NewReplacement(parent, "."+base+".snapshot-", LockTimeout)
	if errors.Is(err, disk.ErrLocked) {
		err = &fs.PathError{Op: "lock", Path: parent, Err: errTooLong()}
	}
	if err != nil {
		return err
	}
	defer tmp.Remove()
	if err := hand(tmp, groups.Workers); err != nil {
		return err
	}
	if err = s.collect(tmp.Path); err == nil {
		err = copyLinked(tmp.Path)
	}
	if err == nil {
		err = tmp.Seal(snapshotDirMode)
	}
	if err == nil {
		err = tmp.Swap(filepath.Join(parent, base), replaceable)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// hand makes all that will lie in a snapshot its readers'.
func hand(tmp *disk.Replacement, g access.Group) error {
	if g.Name == "" {
		return nil
	}
	if err := tmp.HandTo(g.ID); err != nil {
		return fault.Usagef("usermod -aG "+g.Name+" USER, and log in again (or run this as the queue's owner)", "the snapshot is for the group %s: %w", g.Name, err)
	}
	return nil
}

// collect fills an empty directory with the queue as it is at one moment. Nobody waits
// for more than the last step, which has little left to do.
func (s *Spool) collect(root string) error {
	if err := s.settle(); err != nil {
		return err
	}
	from := s.at()
	if err := s.gather(root); err != nil {
		return err
	}
	if err := s.settle(); err != nil {
		return err
	}
	now := s.at()
	if err := s.follow(root, from); err != nil {
		return err
	}
	if err := s.View(func(queue.View) error { return s.follow(root, now) }); err != nil {
		return err
	}
	return sealLog(root)
}

// apart returns the parent of dir, without symbolic links, and its last part. Queue
// and snapshot must not lie in each other.
func (s *Spool) apart(dir string) (parent, base string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	own, err := filepath.Abs(s.dir)
	if err == nil {
		own, err = filepath.EvalSymlinks(own)
	}
	if err != nil {
		return "", "", err
	}
	parent, err = filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return "", "", fault.Usagef("mkdir "+filepath.Dir(dir), "snapshot: %w", err)
	}
	if err := safefile.Directory(parent); err != nil {
		return "", "", fault.Usagef("chmod go-w "+parent, "snapshot: %w", err)
	}
	base = filepath.Base(dir)
	if there := filepath.Join(parent, base); within(there, own) || within(own, there) {
		return "", "", fault.Usagef("pulse-queue snapshot "+own+"-snapshot", "snapshot: %s and the queue lie in each other", dir)
	}
	return parent, base, nil
}

// within reports whether path is dir or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// replaceable fails if something else than an earlier snapshot stands at dir.
func replaceable(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || !isSnapshot(dir) {
		return fault.Usagef("name a directory that does not exist yet, or an earlier snapshot", "%s: it is no snapshot, and is not replaced", dir)
	}
	return nil
}
