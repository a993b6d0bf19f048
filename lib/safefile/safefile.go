// Package safefile opens files and directories that decide something: a policy, a
// password, a queue. What others may write is theirs, not the gate's.
//
// Invariant: what is returned was checked on the open descriptor, so nothing can
// be swapped between check and use. Caveat: root, and whoever owns a directory
// further up, can always replace a path.
package safefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// The classes of a file that can't be trusted.
var (
	ErrWritable = errors.New("others may write it")
	ErrReadable = errors.New("others may read it")
	ErrOwner    = errors.New("it belongs to another user")
	ErrKind     = errors.New("it is not a regular file")
	ErrTooLarge = errors.New("it is too large")
)

// Read returns the content of a regular file of at most limit bytes that nobody
// but its owner (root or this user) may write, in a directory where nobody else
// may replace it.
func Read(path string, limit int64) ([]byte, error) {
	return read(path, limit, 0o022, ErrWritable)
}

// ReadSecret is Read for a file that nobody else may read either.
func ReadSecret(path string, limit int64) ([]byte, error) {
	return read(path, limit, 0o077, ErrReadable)
}

func read(path string, limit int64, forbidden fs.FileMode, class error) ([]byte, error) {
	// Not to hang on a FIFO; O_NONBLOCK does nothing to a regular file.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrKind)
	}
	if err := check(path, info, forbidden, class); err != nil {
		return nil, err
	}
	if err := believed(f); err != nil {
		return nil, err
	}
	if err := Directory(filepath.Dir(path)); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s: %w (%d bytes at most)", path, ErrTooLarge, limit)
	}
	return b, err
}

// Directory checks that nobody but root, this user and the owners named may replace
// a file in a directory. A sticky one of root's such as /tmp passes.
func Directory(path string, owners ...uint32) error {
	info, err := stat(path, 0, owners...)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSticky != 0 {
		return check(path, info, 0, ErrWritable, owners...)
	}
	return check(path, info, 0o022, ErrWritable, owners...)
}

// Own checks that a directory is root's or this user's and nobody else may write
// into it, sticky or not.
func Own(path string) error {
	info, err := stat(path, 0)
	if err != nil {
		return err
	}
	return check(path, info, 0o022, ErrWritable)
}

func check(path string, info fs.FileInfo, forbidden fs.FileMode, class error, owners ...uint32) error {
	if mode := info.Mode().Perm(); mode&forbidden != 0 {
		return fmt.Errorf("%s: mode %04o: %w", path, mode, class)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid != 0 && int(st.Uid) != os.Geteuid() && !slices.Contains(owners, st.Uid) {
		return fmt.Errorf("%s: %w", path, ErrOwner)
	}
	return nil
}
