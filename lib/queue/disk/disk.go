// Package disk writes files durably, and locks them. It has what a store on flat files
// needs of a file system, and no more. A file may be one of lines of one width (Lines).
// Package disktest is the same in memory: a disk that forgets what was not synced.
//
// Invariant: only the Sync methods make anything durable, and a failed sync is never tried
// again, because the kernel may have dropped the pages. Caveat: before Linux 5.8 syncfs(2)
// does not report I/O errors.
package disk

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// Disk is a directory, and the directories in it. Names are relative to it, with one
// slash at most.
type Disk interface {
	Read(name string) ([]byte, error)
	// ReadAll reads files of one directory, many at a time. What can't be read, or is larger than
	// most, is nil, and left to Read.
	ReadAll(names []string, most int64) [][]byte
	ReadAt(name string, off int64, b []byte) (int, error) // short at the end of the file
	Names(dir string, fn func(name string) error) error   // in any order
	Stat(name string) (Stat, error)
	Shared() bool // accounts other than the directory's owner may write it
	// ReadOwned also returns the only account that can have written the file; 0: there may
	// be several, or it is root.
	ReadOwned(name string) (b []byte, owner int, err error)
	WriteOwned(name string, b []byte) error             // a new file that only this account can change
	Write(name string, b []byte, mtime time.Time) error // a new file, whatever had the name; zero mtime: now
	WriteAll(files []File) error                        // Write for each
	WriteAt(name string, off int64, b []byte) error     // makes the file; off is not beyond the end
	Truncate(name string, size int64) error
	Like(name, other string) error // name gets the owner, the group and the permissions of other
	Rename(from, to string) error  // on some file systems two steps, which reach the disk in any order
	Link(from, to string) error    // gives the file the name to as well, and takes it from any other
	Remove(name string) error
	SyncFile(names ...string) error
	SyncDir(dirs ...string) error    // "" is the directory itself
	Sync(files, dirs []string) error // SyncFile and SyncDir at the same time, in any order
	SyncAll() error
}

// File is a file to be written.
type File struct {
	Name  string
	Data  []byte
	Mtime time.Time
}

// Stat is what a directory says about a file.
type Stat struct {
	Size  int64
	Mtime time.Time
	Odd   bool      // it is not a regular file
	ID    [2]uint64 // device and inode: the same under each name of a file
}

// Many is the number of new files from which on one SyncAll costs less than a SyncFile for
// each.
const Many = 4

var (
	// errOdd means that something else lies where a regular file should be.
	errOdd = errors.New("it is not a regular file")

	// ErrLarge means that a file is larger than any that pulse writes. It is refused before
	// it is read.
	ErrLarge = errors.New("it is larger than any that pulse writes")
)

// NotFile reports whether an error means that something else lies where a file should be,
// or a file that this account can't read. Unlike an I/O error that is not a reason to stop.
func NotFile(err error) bool {
	// ENXIO comes from a FIFO or a socket.
	for _, e := range []error{errOdd, ErrLarge, unix.EISDIR, unix.ELOOP, unix.EACCES, unix.ENXIO} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// List returns the names in a directory, which must be one that never holds many.
func List(d Disk, dir string) (names []string, err error) {
	err = d.Names(dir, func(name string) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// Absent reports whether an error means that there is no such file, or that its directory is
// none: a file or a symbolic link that bears its name.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// NamesIfAny is Disk.Names for a directory that need not be there.
func NamesIfAny(d Disk, dir string, fn func(name string) error) error {
	err := d.Names(dir, fn)
	if Absent(err) {
		return nil
	}
	return err
}

// WriteSynced puts a file in place durably, and never a part of it. It first writes the
// file under the name tmp.
func WriteSynced(d Disk, tmp, name string, b []byte) error {
	if err := d.Write(tmp, b, time.Time{}); err != nil {
		return err
	}
	if err := d.SyncFile(tmp); err != nil {
		return err
	}
	if err := d.Rename(tmp, name); err != nil {
		return err
	}
	return d.SyncDir(parentOf(name))
}

// parentOf returns the directory of a file; "" is the disk's own.
func parentOf(name string) string { return path.Dir("/" + name)[1:] }
