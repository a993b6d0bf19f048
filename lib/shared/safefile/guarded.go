package safefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links a path may lead through.
const maxLinks = 40

// Guarded checks that only root and the given owners can change what a path leads to, or
// put something else in its place: the file, every directory on the way and every
// symbolic link belong to one of them, and no other user may write to them. In a sticky
// directory such as /tmp others may write, but not replace. The error is
// fs.ErrNotExist if nothing lies there yet and only they can put something there.
func Guarded(path string, owners ...uint32) error { return guarded(path, noID, owners) }

// GuardedGroup is Guarded for a file that the members of a group may write to, too. They
// must not be able to write to the directories that lead to it.
func GuardedGroup(path string, gid uint32, owners ...uint32) error {
	return guarded(path, int64(gid), owners)
}

func guarded(path string, gid int64, owners []uint32) error {
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		path = dir + "/" + path // not cleaned: after a link, .. is elsewhere
	}
	w := walk{owners: append([]uint32{0}, owners...), group: gid, at: "/", left: parts(path)}
	for {
		if err := w.look(); err != nil {
			return err
		}
		if len(w.left) == 0 {
			return nil
		}
		if err := w.step(); errors.Is(err, fs.ErrNotExist) && len(w.left) == 0 {
			return w.absent(err)
		} else if err != nil {
			return err
		}
	}
}

// walk follows a path one name at a time and resolves links itself.
type walk struct {
	owners []uint32
	group  int64 // whose members may write to the last name; noID for none
	at     string
	left   []string // names still to follow
	links  int
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// look checks the file or directory that the walk has reached.
func (w *walk) look() error {
	info, err := stat(w.at, syscall.O_NOFOLLOW, w.owners...)
	if err != nil {
		return err
	}
	if err := w.owned(w.at, info); err != nil {
		return err
	}
	mode := info.Mode()
	sticky := mode.IsDir() && mode&fs.ModeSticky != 0 && len(w.left) > 0
	forbidden := fs.FileMode(0o022)
	if st, ok := info.Sys().(*syscall.Stat_t); ok && len(w.left) == 0 && int64(st.Gid) == w.group {
		forbidden = 0o002
	}
	if mode.Perm()&forbidden != 0 && !sticky {
		return fmt.Errorf("%s: mode %04o: %w", w.at, mode.Perm(), ErrWritable)
	}
	return nil
}

func (w *walk) owned(path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || !slices.Contains(w.owners, st.Uid) {
		return fmt.Errorf("%s: %w", path, ErrOwner)
	}
	return nil
}

// step follows one name. If it is a link, the names in it come next.
func (w *walk) step() error {
	name := w.left[0]
	w.left = w.left[1:]
	if name == ".." {
		w.at = filepath.Dir(w.at)
		return nil
	}
	if name == "." {
		return nil
	}
	next := filepath.Join(w.at, name)
	info, err := os.Lstat(next)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		w.at = next
		return nil
	}
	if w.links++; w.links > maxLinks {
		return &fs.PathError{Op: "open", Path: next, Err: syscall.ELOOP}
	}
	if err := w.owned(next, info); err != nil {
		return err
	}
	to, err := os.Readlink(next)
	if err != nil {
		return err
	}
	if filepath.IsAbs(to) {
		w.at = "/"
	}
	w.left = append(parts(to), w.left...)
	return nil
}

// absent ends a walk whose last name does not exist. The directory must not be writable
// to others, sticky or not, because they could put something there.
func (w *walk) absent(missing error) error {
	if err := w.look(); err != nil {
		return err
	}
	return missing
}
