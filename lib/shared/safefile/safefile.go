// Package safefile reads files, and checks directories, on which decisions rest: a
// policy, a password, a queue. It refuses those that another user could have changed.
//
// Invariant: the content that Read returns was checked on the open descriptor, so
// nothing can be swapped between check and use. Caveat: Read and Directory look at one
// directory only, so root, and the owner of a directory further up, can replace a path;
// Guarded looks at all of them.
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

// The reasons why a file can't be trusted.
var (
	ErrWritable = errors.New("others may write it")
	ErrReadable = errors.New("others may read it")
	ErrOwner    = errors.New("it belongs to another user")
	ErrKind     = errors.New("it is not a regular file")
	errTooLarge = errors.New("it is too large")
)

// Read returns the content of a regular file of at most limit bytes. Only its owner, which
// must be root or this user, may be able to write to it or to replace it in its directory.
func Read(path string, limit int64) ([]byte, error) {
	return read(path, limit, 0o022, ErrWritable)
}

// ReadSecret is Read for a file that other users must not be able to read either.
func ReadSecret(path string, limit int64) ([]byte, error) {
	return read(path, limit, 0o077, ErrReadable)
}

func read(path string, limit int64, forbidden fs.FileMode, class error) ([]byte, error) {
	// O_NONBLOCK: not to hang on a FIFO. It does nothing to a regular file.
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
		err = fmt.Errorf("%s: %w (%d bytes at most)", path, errTooLarge, limit)
	}
	return b, err
}

// Directory checks that only root, this user and the given owners may replace a file in a
// directory. It accepts a sticky one that belongs to one of them, such as /tmp.
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

// Own checks that a directory belongs to root or this user, and that no other user may
// write to it, sticky or not.
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
