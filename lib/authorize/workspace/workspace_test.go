package workspace

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// place creates a workspace "in", and beside it files that are outside.
func place(t *testing.T) (dir string, at func(string) string) {
	t.Helper()
	top := t.TempDir()
	at = func(name string) string { return filepath.Join(top, name) }
	for _, d := range []string{"in/sub/deep", "in2", "out"} {
		must(t, os.MkdirAll(at(d), 0o700))
	}
	for name, text := range map[string]string{"in/file": "inside", "in/sub/file": "inside", "in2/file": "outside", "out/secret": "outside", "in/twice": "inside"} {
		must(t, os.WriteFile(at(name), []byte(text), 0o600))
	}
	must(t, os.Link(at("in/twice"), at("in/linked")))
	must(t, os.Link(at("out/secret"), at("in/hard")))
	must(t, syscall.Mkfifo(at("in/fifo"), 0o600))
	for name, to := range map[string]string{
		"in/link": "sub/file", "in/up": "../out/secret", "in/abs": at("out/secret"), "in/home": at("in/file"), "in/dirlink": "sub",
		"in/outdir": "../out", "in/loop": "loop", "in/dangling": "sub/new", "in/dangling-out": "../out/new", "in/chain": "link",
		"in/sub/back": "../file", "in/sub/backout": "../../out/secret", "in/tofifo": "fifo", "in/proc": "/proc/self/root/etc/passwd",
	} {
		must(t, os.Symlink(to, at(name)))
	}
	return at("in"), at
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNames: every kind of name is taken for what it is: a file that can be opened, a
// directory, or a name that could be created.
func TestNames(t *testing.T) {
	dir, at := place(t)
	l, err := net.Listen("unix", at("in/socket"))
	must(t, err)
	defer l.Close()
	const file, directory, new, no = "file", "dir", "new", "no"
	for name, want := range map[string]string{
		"file": file, "sub/file": file, "./file": file, "sub/../file": file, "sub//file": file, "link": file, "chain": file, "dirlink/file": file,
		"sub/back": file, "dirlink/back": file, at("in/file"): file, at("in") + "//sub/../file": file, "sub/deep/../../file": file,
		".": directory, "sub": directory, "sub/": directory, "dirlink": directory, "dirlink/": directory, at("in"): directory, at("in") + "/": directory,
		"new": new, "sub/new": new, "dirlink/new": new, "dangling": new, "sub/deep/../new": new, at("in/new"): new,
		"..": no, "../out/secret": no, "sub/../../out/secret": no, "up": no, "abs": no, "home": no, "outdir": no, "outdir/": no, "outdir/secret": no, "outdir/new": no,
		"loop": no, "dangling-out": no, "sub/backout": no, "proc": no, "no/new": no, "new/..": no, "new/.": no, "file/new": no, "file/": no, "file/..": no,
		"fifo": no, "tofifo": no, "socket": no, "linked": no, "twice": no, "hard": no, "": no, "a\x00b": no, "/": no, "/etc/passwd": no,
		at("in2/file"): no, at("out/secret"): no, at("in") + "/../out/secret": no, at("in") + "2/file": no, "/proc/self/cwd/x": no, "~/x": no,
	} {
		_, err := checkPath(dir, name)
		if (err == nil) != (want != no) {
			t.Errorf("checkPath(%q): %v, want %s", name, err, want)
		}
		if err := checkDir(dir, name); (err == nil) != (want == directory) {
			t.Errorf("checkDir(%q): %v, want %s", name, err, want)
		}
		f, err := Open(dir, name)
		if (err == nil) != (want == file) {
			t.Errorf("Open(%q): %v, want %s", name, err, want)
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(f); err != nil || string(b) != "inside" {
			t.Errorf("%q: %q, %v", name, b, err)
		}
		f.Close()
	}
}

func TestClasses(t *testing.T) {
	dir, at := place(t)
	for name, want := range map[string]error{
		"linked": errLinked, "hard": errLinked, "fifo": errKind, "tofifo": errKind, at("out/secret"): errOutside, "abs": errOutside,
		"loop": syscall.ELOOP, "no/new": fs.ErrNotExist, "file/new": syscall.ENOTDIR,
	} {
		if _, err := checkPath(dir, name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	for _, dir := range []string{"", at("none"), at("in/file")} {
		if _, err := checkPath(dir, "x"); err == nil {
			t.Errorf("%q is a workspace", dir)
		}
	}
}

// TestParentOfLink: a .. after a link is refused if a program that takes both out of the path,
// as agents' clients do, gets elsewhere.
func TestParentOfLink(t *testing.T) {
	dir, at := place(t)
	must(t, os.Symlink("sub/deep", at("in/into")))
	must(t, os.Symlink("../out/new", at("in/report")))
	for name, good := range map[string]bool{
		"into/../../new": false, "into/../../../out/new": false, "into/../x": false, "into/../report": false, "sub/../into/../../file": false,
		"dirlink/../file": true, "sub/deep/../../file": true, "into/new": true, at("in/into/../../out/new"): false, "sub/../dirlink/new": true,
	} {
		if _, err := checkPath(dir, name); (err == nil) != good {
			t.Errorf("checkPath(%q): %v", name, err)
		}
	}
}

// TestWorkspaceByAnotherName: the workspace itself may be reached through a link, and its
// name may end in a slash.
func TestWorkspaceByAnotherName(t *testing.T) {
	dir, at := place(t)
	must(t, os.Symlink(dir, at("alias")))
	for _, dir := range []string{at("alias"), dir + "/"} {
		for _, name := range []string{"file", dir + "/file"} {
			if _, err := checkPath(dir, name); err != nil {
				t.Errorf("%s: %v", dir, err)
			}
		}
	}
}

// TestMounts: what is mounted into the workspace is not in it, even on the same device.
func TestMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: what is mounted into a workspace was not tried")
	}
	dir, at := place(t)
	bind := func(from, to string) {
		if err := syscall.Mount(at(from), at(to), "", syscall.MS_BIND, ""); err != nil {
			if errors.Is(err, syscall.EPERM) {
				t.Skip("root may not mount here, as in a container without CAP_SYS_ADMIN: what is mounted into a workspace was not tried: ", err)
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(at(to), syscall.MNT_DETACH) })
	}
	for _, name := range []string{"sub/file", "sub/deep", "sub"} {
		_, err := checkPath(dir, name)
		must(t, err)
	}
	must(t, os.WriteFile(at("out/single"), []byte("outside"), 0o600))
	bind("out/single", "in/sub/file")
	bind("out", "in/sub/deep")
	for _, name := range []string{"sub/file", "link", "sub/deep", "sub/deep/single", "sub/deep/new"} {
		if _, err := checkPath(dir, name); !errors.Is(err, errMount) {
			t.Errorf("%s: %v", name, err)
		}
		if f, err := Open(dir, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	_, err := checkPath(dir, "sub")
	must(t, err)
}

// rounds is how often the race is run: enough that a resolver which checks a path
// and then opens it loses many times.
const rounds = 20000

// TestRace: while links, directories and files are swapped, nothing outside is ever
// opened. A naive reader is fooled all the time, which proves that there is a race.
func TestRace(t *testing.T) {
	dir, at := place(t)
	must(t, os.Mkdir(at("in/race"), 0o700))
	must(t, os.WriteFile(at("in/race/secret"), []byte("inside"), 0o600))
	must(t, os.Symlink("../out", at("in/to-out")))
	var stop atomic.Bool
	done := make(chan error)
	go func() { done <- swap(dir, &stop) }()
	defer func() {
		stop.Store(true)
		must(t, <-done)
	}()
	opened, escaped, fooled := 0, 0, 0
	for range rounds {
		f, err := Open(dir, "race/secret")
		if err == nil {
			opened++
			if b, _ := io.ReadAll(f); string(b) != "inside" {
				escaped++
			}
			f.Close()
		}
		fooled += naive(dir)
	}
	t.Logf("%d of %d opened, %d outside; by who checks first, %d outside", opened, rounds, escaped, fooled)
	if escaped > 0 || opened == 0 || fooled == 0 {
		t.Error("a race that proves nothing, or an escape")
	}
}

// swap makes dir/race by turns a directory with a file in it, and a link that leads out.
func swap(dir string, stop *atomic.Bool) error {
	race, link := filepath.Join(dir, "race"), filepath.Join(dir, "to-out")
	for !stop.Load() {
		if err := unix.Renameat2(unix.AT_FDCWD, race, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
	}
	return nil
}

// naive reads a file after it found that its path leads inside. It returns 1 if what it
// read lies outside.
func naive(dir string) int {
	path := filepath.Join(dir, "race/secret")
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, dir+"/") {
		return 0
	}
	if b, err := os.ReadFile(path); err == nil && string(b) == "outside" {
		return 1
	}
	return 0
}
