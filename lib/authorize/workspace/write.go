package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/authorize/edit"
)

// What is written is reached in one step of the kernel, without any symbolic link, beneath the
// workspace and on its mount (openat2(2)): nothing that is swapped meanwhile can lead elsewhere.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// spot is a name in an open directory of a workspace.
type spot struct {
	dir  *os.File
	base string
}

// rooted opens the workspace dir, and returns a name relative to it.
func rooted(dir, name string) (root *os.File, rel string, err error) {
	w, err := enter(dir)
	if err != nil {
		return nil, "", err
	}
	defer w.Close()
	if rel, err = w.rel(name); err != nil {
		return nil, "", err
	}
	root, err = w.root.Open(".")
	return root, path.Clean(rel), err
}

// reach opens the directory of a name of the workspace dir.
func reach(dir, name string) (p spot, err error) {
	root, rel, err := rooted(dir, name)
	if err != nil {
		return p, err
	}
	defer root.Close()
	if p.base = path.Base(rel); p.base == "." || p.base == ".." || strings.HasPrefix(rel, "/") {
		return p, errOutside
	}
	p.dir, err = openBeneath(root, path.Dir(rel), unix.O_PATH|unix.O_DIRECTORY)
	return p, err
}

func openBeneath(dir *os.File, name string, flags uint64) (*os.File, error) {
	fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: beneath})
	if err != nil {
		return nil, &fs.PathError{Op: "openat2", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// read reads a name in the directory: a regular file with this one name. Opening can do something
// to a device or a FIFO, so what is opened is looked at first, and is the same file then.
func (p *spot) read(base string) (f edit.File, mode fs.FileMode, err error) {
	seen, err := openBeneath(p.dir, base, unix.O_PATH)
	if errors.Is(err, fs.ErrNotExist) {
		return edit.File{Absent: true}, 0o666, nil
	}
	if err != nil {
		return f, 0, err
	}
	defer seen.Close()
	info, err := seen.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errKind
	}
	if err != nil {
		return f, 0, err
	}
	file, err := openBeneath(p.dir, base, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return f, 0, err
	}
	defer file.Close()
	if err := sameFile(seen, file); err != nil {
		return f, 0, edit.ErrChanged
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return f, 0, err
	}
	if st.Nlink != 1 {
		return f, 0, errLinked
	}
	f.Data, err = io.ReadAll(io.LimitReader(file, edit.MaxFile+1))
	if err == nil && len(f.Data) > edit.MaxFile {
		err = fmt.Errorf("it has more than %d bytes", edit.MaxFile)
	}
	return f, info.Mode().Perm(), err
}

// Read reads a regular file of the workspace dir, by a name without symbolic links.
func Read(dir, name string) (f edit.File, err error) {
	p, err := reach(dir, name)
	if err == nil {
		defer p.dir.Close()
		f, _, err = p.read(p.base)
	}
	if err == nil {
		f.Place, err = p.place()
	}
	return f, refused(name, err)
}

// place tells the name from every other one in any directory.
func (p *spot) place() (string, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(p.dir.Fd()), &st)
	return fmt.Sprintf("%d:%d/%s", st.Dev, st.Ino, p.base), err
}

// ErrUnsure means that files have changed their places, and not all that follows was done.
var ErrUnsure = errors.New("the file may have been changed")

// Replace makes of a file what a change says, if it still is the file that the change was made
// of, or else returns edit.ErrChanged. The file is whole before and after, and there is no moment
// without it; its mode stays. What another program puts in its place in that moment is put back.
// stamp names the file that is made, beside the other; no two Replace at once have the same.
// After an error that is ErrUnsure, the file may be the new one; after any other it is the old one.
func Replace(dir string, c *edit.Change, stamp string) error {
	p, err := reach(dir, c.Path)
	if err == nil {
		defer p.dir.Close()
		err = p.replace(c, ".pulse-"+stamp)
	}
	if errors.Is(err, ErrUnsure) {
		return fmt.Errorf("%w: %w", ErrUnsure, refused(c.Path, err))
	}
	return refused(c.Path, err)
}

// testOnlyBefore is called before files change their places.
var testOnlyBefore = func() {}

func (p *spot) replace(c *edit.Change, made string) error {
	was, mode, err := p.read(p.base)
	switch {
	case err != nil:
		return err
	case was.Digest() != c.Was.Digest():
		return edit.ErrChanged
	case c.Becomes.Absent && was.Absent:
		return nil
	}
	if err := p.unlink(made); err != nil { // of an attempt that was killed
		return err
	}
	if err := p.swap(c, made, was.Absent, mode); err != nil {
		return err
	}
	return unsure(p.sync())
}

func unsure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnsure, err)
}

// swap puts the new file in the place of the old one.
func (p *spot) swap(c *edit.Change, made string, absent bool, mode fs.FileMode) error {
	if c.Becomes.Absent {
		testOnlyBefore()
		if err := p.rename(p.base, made, unix.RENAME_NOREPLACE); err != nil {
			return err
		}
		return p.judged(c, made, unix.RENAME_NOREPLACE)
	}
	if err := p.create(made, c.Becomes.Data, mode, absent); err != nil {
		return errors.Join(err, p.unlink(made))
	}
	testOnlyBefore()
	if absent {
		err := p.rename(made, p.base, unix.RENAME_NOREPLACE)
		if errors.Is(err, fs.ErrExist) {
			err = edit.ErrChanged
		}
		if err != nil {
			return errors.Join(err, p.unlink(made))
		}
		return nil
	}
	if err := p.rename(made, p.base, unix.RENAME_EXCHANGE); err != nil {
		return errors.Join(err, p.unlink(made))
	}
	return p.judged(c, made, unix.RENAME_EXCHANGE)
}

// judged removes what stood in the place, if it was the file that was judged, or puts it back.
func (p *spot) judged(c *edit.Change, old string, how uint) error {
	was, _, err := p.read(old)
	if err == nil && was.Digest() != c.Was.Digest() {
		err = edit.ErrChanged
	}
	if err == nil {
		return unsure(p.unlink(old))
	}
	testOnlyBefore()
	if back := p.rename(old, p.base, how); back != nil {
		return unsure(errors.Join(err, back))
	}
	if how == unix.RENAME_EXCHANGE {
		return errors.Join(err, p.unlink(old))
	}
	return err
}

// create makes a file with the mode of the one that it replaces, or that of the umask.
func (p *spot) create(name string, data []byte, mode fs.FileMode, byUmask bool) error {
	fd, err := unix.Openat2(int(p.dir.Fd()), name, &unix.OpenHow{
		Flags: unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC, Mode: uint64(mode), Resolve: beneath,
	})
	if err != nil {
		return &fs.PathError{Op: "openat2", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	if !byUmask {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (p *spot) rename(from, to string, how uint) error {
	if err := unix.Renameat2(int(p.dir.Fd()), from, int(p.dir.Fd()), to, how); err != nil {
		return &fs.PathError{Op: "renameat2", Path: to, Err: err}
	}
	return nil
}

func (p *spot) unlink(name string) error {
	if err := unix.Unlinkat(int(p.dir.Fd()), name, 0); err != nil && err != unix.ENOENT {
		return &fs.PathError{Op: "unlinkat", Path: name, Err: err}
	}
	return nil
}

// sync syncs the directory, which was opened without the right to read it.
func (p *spot) sync() error {
	d, err := openBeneath(p.dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Directory fails unless name is a directory of the workspace dir, by a name without symbolic
// links, and is what its path says. It returns which directory the workspace is.
func Directory(dir, name string) (is fs.FileInfo, err error) {
	root, rel, err := rooted(dir, name)
	if err != nil {
		return nil, refused(name, err)
	}
	defer root.Close()
	d, err := openBeneath(root, rel, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, refused(name, err)
	}
	defer d.Close()
	if real, err := pathOf(d); err != nil || !filepath.IsAbs(name) || real != path.Clean(name) {
		return nil, refused(name, errors.Join(errOutside, err))
	}
	return root.Stat()
}
