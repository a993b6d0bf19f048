// Package workspace opens and checks files in an agent's workspace, and never reaches one
// outside. The names come from a worker, and the directory may change meanwhile.
//
// Invariant: what is returned or found good was checked on an open descriptor that
// was reached without leaving the workspace; a path is never resolved twice. It is a
// directory, or a regular file with this one name, on the workspace's own mount.
// Caveat: a name that was found good may lead elsewhere a moment later. A caller that
// needs the content reads it from Open.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/authorize/tools"
)

// The reasons why a name is refused.
var (
	errOutside = errors.New("it is not in the workspace")
	errKind    = errors.New("it is neither a directory nor a regular file")
	errLinked  = errors.New("it has hard links, which may be outside of the workspace")
	errMount   = errors.New("it lies on another mount than the workspace")
	errMoved   = errors.New("a symbolic link on the way to it belongs to another user, " +
		"who could make it lead anywhere")
	errParent = errors.New("it has .. after a symbolic link, which not every program takes to the same place")
)

// maxLinks is how many symbolic links a name may lead through, one after the other.
const maxLinks = 40

// Open opens a regular file of the workspace dir for reading. name is absolute or
// relative to dir. Symbolic links are followed as long as they stay inside.
func Open(dir, name string) (*os.File, error) {
	w, err := enter(dir)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	rel, err := w.rel(name)
	if err != nil {
		return nil, refused(name, err)
	}
	// Opening can do something to a device or a FIFO, so the file is looked at
	// before. What is opened is checked again.
	if info, err := w.root.Stat(rel); err != nil {
		return nil, refused(name, err)
	} else if !info.Mode().IsRegular() {
		return nil, refused(name, errKind)
	}
	f, err := w.root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, refused(name, err)
	}
	if err := w.check(f, fs.FileMode.IsRegular); err != nil {
		f.Close()
		return nil, refused(name, err)
	}
	return f, nil
}

// checkPath says where name leads, if that is a file or a directory in the workspace dir, or
// does not exist and could be created in a directory that does.
func checkPath(dir, name string) (tools.Place, error) {
	return checked(dir, name, func(m fs.FileMode) bool { return m.IsRegular() || m.IsDir() }, true)
}

// checkDir returns nil if name is a directory in the workspace dir.
func checkDir(dir, name string) error {
	_, err := checked(dir, name, fs.FileMode.IsDir, false)
	return err
}

func checked(dir, name string, kind func(fs.FileMode) bool, absent bool) (at tools.Place, err error) {
	w, err := enter(dir)
	if err != nil {
		return at, err
	}
	defer w.Close()
	if at.Given, err = w.rel(name); err == nil {
		at.Real, err = w.look(at.Given, kind, absent)
	}
	clean := path.Clean(at.Given)
	if err == nil {
		err = w.agrees(clean, &at, kind, absent)
	}
	if err == nil {
		at.Repository, err = w.repository(at.Real)
	}
	for _, rel := range []string{at.Given, clean} {
		if info, bad := w.root.Lstat(rel); err == nil && bad == nil {
			at.Link = at.Link || info.Mode()&fs.ModeSymlink != 0
		}
	}
	return at, refused(name, err)
}

// agrees returns nil if the path leads to the same place for a program that takes a name and the
// .. after it out of a path before it opens it. The kernel does not, if the name is a link.
func (w *inside) agrees(clean string, at *tools.Place, kind func(fs.FileMode) bool, absent bool) error {
	if clean == at.Given || !slices.Contains(strings.Split(at.Given, "/"), "..") {
		return nil
	}
	real, err := w.look(clean, kind, absent)
	if err != nil || real != at.Real {
		return errParent
	}
	return nil
}

// refused adds the name to an error. For a name that leads out, the words are os.Root's.
func refused(name string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("workspace: %s: %w", name, err)
}

// inside is an open workspace.
type inside struct {
	dir   string
	root  *os.Root
	mount uint64
}

func enter(dir string) (*inside, error) {
	if dir == "" {
		return nil, errors.New("workspace: there is none")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	w := &inside{dir: filepath.Clean(dir), root: root}
	self, err := root.OpenFile(".", unix.O_PATH, 0)
	if err == nil {
		w.mount, err = mount(self)
		err = errors.Join(err, foretold(dir, self, 0, uint32(os.Geteuid())))
		self.Close()
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("workspace: %s: %w", dir, err)
	}
	return w, nil
}

func (w *inside) Close() error { return w.root.Close() }

// rel returns a name relative to the workspace. It does not clean the name: after a
// symbolic link, .. is elsewhere.
func (w *inside) rel(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return name, nil // os.Root refuses an empty one
	}
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(w.dir, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "", errOutside
	}
	if rest = strings.TrimLeft(rest, "/"); rest == "" {
		rest = "."
	}
	return rest, nil
}

// look checks what rel leads to, without opening it for reading or writing, and returns
// where that is.
func (w *inside) look(rel string, kind func(fs.FileMode) bool, absent bool) (real string, err error) {
	for range maxLinks {
		f, err := w.root.OpenFile(rel, unix.O_PATH, 0)
		if errors.Is(err, fs.ErrNotExist) && absent {
			return w.parent(rel)
		}
		if err != nil {
			return "", err
		}
		if err = w.check(f, kind); err == nil {
			real, err = w.real(f)
		}
		f.Close()
		if !errors.Is(err, errLink) {
			return real, err
		}
		// O_PATH opens a last link itself.
		to, err := w.root.Readlink(rel)
		switch {
		case err != nil:
			return "", err
		case filepath.IsAbs(to):
			return "", errOutside
		}
		rel = above(rel) + "/" + to
	}
	return "", syscall.ELOOP
}

// parent checks the directory in which rel would be created, and returns where rel would be.
func (w *inside) parent(rel string) (real string, err error) {
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	if base == "" || base == "." || base == ".." {
		return "", fs.ErrNotExist
	}
	dir, err := w.look(above(rel), fs.FileMode.IsDir, false)
	return path.Join(dir, base), err
}

// real returns the path of an open file in the workspace, without links, as the kernel has
// it: it is that of the descriptor, and no name is resolved again.
func (w *inside) real(f *os.File) (string, error) {
	self, err := w.root.OpenFile(".", unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	defer self.Close()
	dir, err := pathOf(self)
	if err != nil {
		return "", err
	}
	file, err := pathOf(f)
	if err != nil {
		return "", err
	}
	if file == dir {
		return ".", nil
	}
	rest, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/")
	if !ok {
		return "", errOutside // it was moved meanwhile
	}
	return rest, nil
}

func pathOf(f *os.File) (string, error) {
	return os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
}

// repository returns the nearest directory, from a place upwards, that git may take for a
// repository; empty if there is none. Without a HEAD it takes none, and a HEAD that is there
// may be that of a repository whose other parts could be written yet. In a directory that
// folds case, any HEAD is found as git finds it.
func (w *inside) repository(real string) (string, error) {
	for dir := real; ; dir = path.Dir(dir) {
		info, err := w.root.Lstat(path.Join(dir, "HEAD"))
		switch {
		case err == nil && !info.IsDir():
			return dir, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", err
		case dir == ".":
			return "", nil
		}
	}
}

// above returns a path without its last name.
func above(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}

// errLink reports that a symbolic link was opened, instead of what it leads to.
var errLink = errors.New("it is a symbolic link")

// check checks an open file, whatever its name may lead to by now.
func (w *inside) check(f *os.File, kind func(fs.FileMode) bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return errLink
	}
	if !kind(info.Mode()) {
		return errKind
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().IsRegular() && st.Nlink != 1 {
		return errLinked
	}
	on, err := mount(f)
	if err == nil && on != w.mount {
		err = errMount
	}
	return err
}

// mount returns the id of the mount through which a file was reached. The device would
// not do: a bind mount has that of what it shows.
func mount(f *os.File) (uint64, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return 0, &fs.PathError{Op: "statx", Path: f.Name(), Err: err}
	}
	if st.Mask&unix.STATX_MNT_ID == 0 {
		return 0, errors.New("this kernel does not tell mounts apart (before Linux 5.8)")
	}
	return st.Mnt_id, nil
}
