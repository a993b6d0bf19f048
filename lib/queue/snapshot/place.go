package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// MarkerFile is the file that marks a directory as a copy of a queue, which nobody changes.
const MarkerFile = "snapshot"

// mark is the content of the marker.
const mark = "pulse-snapshot 1\n"

// The modes of a snapshot: its group may read it, and nobody may write it. With setgid a
// directory hands the group of its parent on.
const (
	dirMode  = fs.ModeSetgid | 0o550
	fileMode = fs.FileMode(0o440)
)

// Is reports whether dir is a snapshot. That decides what is refused and what may be
// replaced, never whom to believe.
func Is(dir string) bool {
	info, err := os.Lstat(filepath.Join(dir, MarkerFile))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	b, err := os.ReadFile(filepath.Join(dir, MarkerFile))
	return err == nil && string(b) == mark
}

// apart returns the parent of dir, without symbolic links, and its last part. Queue
// and snapshot must not lie in each other.
func (q *Queue) apart(dir string) (parent, base string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	own, err := filepath.Abs(q.Path)
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
	if !info.IsDir() || !Is(dir) {
		return fault.Usagef("name a directory that does not exist yet, or an earlier snapshot", "%s: it is no snapshot, and is not replaced", dir)
	}
	return nil
}
