package files_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/files"
	"pulse/lib/shared/task"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree is a place with a few files.
func tree(t testing.TB, list map[string]string) (files.Places, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for name, text := range list {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return files.Of(dir), dir
}

func TestOf(t *testing.T) {
	_, dir := tree(t, map[string]string{"a/b/c": "x"})
	must(t, os.Symlink("a", filepath.Join(dir, "link")))
	for _, c := range []struct {
		dirs []string
		want string
	}{
		{[]string{""}, "[]"},
		{[]string{dir + "/absent"}, "[]"},
		{[]string{dir + "/a/b", dir + "/a"}, "[DIR/a]"},
		{[]string{dir + "/a", dir + "/a/b", dir + "/link/b"}, "[DIR/a]"},
		{[]string{dir + "/link"}, "[DIR/a]"},
	} {
		got := strings.ReplaceAll(fmt.Sprint([]string(files.Of(c.dirs...))), dir, "DIR")
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.dirs, got, c.want)
		}
	}
}

// TestChanged: whatever a worker does to a file leaves the path, and the content.
func TestChanged(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	for name, do := range map[string]func(path string) error{
		"edited": func(p string) error { return os.WriteFile(p, []byte("new"), 0o600) },
		"same size and time": func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("tex2"), 0o600), os.Chtimes(p, old, old))
		},
		"replaced by the same": func(p string) error {
			return errors.Join(os.Rename(p, p+".old"), os.WriteFile(p, []byte("text"), 0o600), os.Remove(p+".old"))
		},
		"linked":  func(p string) error { return os.Link(p, p+".2") },
		"renamed": func(p string) error { return errors.Join(os.Rename(p, p+".2"), os.Symlink("file.2", p)) },
	} {
		p, dir := tree(t, map[string]string{"file": "text", "beside": "text"})
		file := filepath.Join(dir, "file")
		must(t, os.Chtimes(file, old, old))
		before := p.Look()
		must(t, do(file))
		wrote, lost := before.Changed(p.Look())
		if !slices.Contains(wrote, files.Path(file)) || slices.Contains(wrote, files.Path(dir+"/beside")) || len(lost) > 0 {
			t.Errorf("%s: %q, %q", name, wrote, lost)
		}
		r := p.Read(dir, []string{"file"})
		if n := common(r.Things, wrote); n < 2 { // by path, and by content
			t.Errorf("%s: of %q only %d are found", name, wrote, n)
		}
	}
}

func common(a, b []string) (n int) {
	for _, one := range a {
		if slices.Contains(b, one) {
			n++
		}
	}
	return n
}

// TestUnknown: what can't be looked at is known by what is above it.
func TestUnknown(t *testing.T) {
	p, dir := tree(t, map[string]string{"here/file": "x"})
	before := p.Look()
	must(t, os.MkdirAll(dir+"/new/deep", 0o700))
	for i := range 300 {
		must(t, os.WriteFile(fmt.Sprintf("%s/new/deep/%d", dir, i), []byte{byte(i), 1}, 0o600))
	}
	wrote, lost := before.Changed(p.Look())
	if len(wrote) != 510 || !slices.Equal(lost, []string{files.Path(dir + "/new")}) {
		t.Errorf("%d, %q", len(wrote), lost)
	}
	for i := range 300 {
		r := p.Read(dir, []string{fmt.Sprintf("new/deep/%d", i)})
		if !slices.Contains(r.Things, lost[0]) || r.Lost {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if os.Geteuid() == 0 {
		unprivileged(t, dir)
	}
	must(t, os.Chmod(dir+"/here/file", 0))
	must(t, os.Chmod(dir+"/new", 0))
	_, lost = before.Changed(p.Look())
	for _, path := range []string{"/here/file", "/new"} {
		if !slices.Contains(lost, files.Path(dir+path)) {
			t.Errorf("%s: %q", path, lost)
		}
	}
	for _, names := range [][]string{nil, {"here"}, {"here/file"}, {"new/deep/1"}} {
		if r := p.Read(dir, names); !r.Lost {
			t.Errorf("%q: %+v", names, r)
		}
	}
	must(t, os.Chmod(dir+"/new", 0o700))
}

// unprivileged has the test go on as another account where files are concerned, which owns dir: root
// can read everything.
func unprivileged(t *testing.T, dir string) {
	const nobody = 65534
	must(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	}))
	must(t, os.Chmod(filepath.Dir(dir), 0o711))
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	must(t, unix.Setfsuid(nobody))
	t.Cleanup(func() { must(t, unix.Setfsuid(0)) })
}

// TestRead: a use gets what its names lead to, and all that lies below.
func TestRead(t *testing.T) {
	p, dir := tree(t, map[string]string{"a/one": "1", "a/two": "2", "b": "3", "empty": ""})
	must(t, os.Symlink("a/one", dir+"/link"))
	must(t, os.Symlink("/etc/passwd", dir+"/out"))
	for _, c := range []struct {
		names []string
		n     int
		lost  bool
	}{
		{[]string{"a/one"}, 4, false}, {[]string{dir + "/link"}, 4, false}, {[]string{"a"}, 7, false},
		{[]string{"absent"}, 0, false}, {[]string{"empty"}, 2, false}, {[]string{"b", "b"}, 6, false},
		{[]string{"out"}, 0, true}, {[]string{"../x/y"}, 0, false}, {[]string{".."}, 0, true}, {nil, 15, false},
		{[]string{"absent/../b"}, 3, false}, {[]string{"a/../b"}, 6, false}, {[]string{"out/../b"}, 3, true},
	} {
		if r := p.Read(dir, c.names); len(r.Things) != c.n || r.Lost != c.lost {
			t.Errorf("%q: %d, %v", c.names, len(r.Things), r.Lost)
		}
	}
}

// TestFrom: a name is from the workspace, also if it lies in another place.
func TestFrom(t *testing.T) {
	_, dir := tree(t, map[string]string{"ws/one": "1"})
	r := files.Of(dir+"/ws", dir).Read(dir+"/ws", []string{"one"})
	if !slices.Contains(r.Things, files.Path(dir+"/ws/one")) {
		t.Errorf("%+v", r)
	}
}

// TestFromNowhere: a name that is from no directory may mean any file.
func TestFromNowhere(t *testing.T) {
	dir := t.TempDir()
	if r := files.Of(dir).Read("", []string{"one"}); !r.Lost {
		t.Error(r)
	}
}

// TestMemory: what is changed through memory on a tmpfs has no time of that. It is found by what it holds,
// and what is not read whole is unknown.
func TestMemory(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "files")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"file", "beside", "large"} {
		must(t, os.WriteFile(dir+"/"+name, []byte("text"), 0o600))
	}
	must(t, os.Truncate(dir+"/large", 2<<20))
	p := files.Of(dir)
	before := p.Look()
	f, err := os.OpenFile(dir+"/file", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	if was := m[0]; was == 't' { // a page that was read first can be written without the kernel's help
		copy(m, "evil")
	}
	must(t, unix.Munmap(m))
	wrote, lost := before.Changed(p.Look())
	if len(wrote) != 2 || wrote[0] != files.Path(dir+"/file") || !slices.Equal(lost, []string{files.Path(dir + "/large")}) {
		t.Errorf("%q, %q", wrote, lost)
	}
}

// TestPipe: nobody knows what comes out of a pipe.
func TestPipe(t *testing.T) {
	p, dir := tree(t, map[string]string{"a/one": "1"})
	must(t, syscall.Mkfifo(dir+"/a/pipe", 0o600))
	if !p.Read(dir, nil).Lost || !p.Read(dir, []string{"a/pipe"}).Lost || p.Read(dir, []string{"a/one"}).Lost {
		t.Error("what comes out of a pipe is known")
	}
}

// TestSince: what changed since a time is found without a look before it, also if the clock went back.
func TestSince(t *testing.T) {
	p, dir := tree(t, map[string]string{"file": "x"})
	one, now := files.Path(dir+"/file"), time.Now()
	for d, want := range map[time.Duration]bool{0: true, -time.Hour: true, 2 * time.Hour: true} {
		if got := slices.Contains(p.Look().Since(now.Add(d)), one); got != want {
			t.Errorf("%s: %v", d, got)
		}
	}
	for _, c := range []struct {
		changed, t time.Duration
		want       bool
	}{{-2 * time.Minute, 0, true}, {-30 * time.Second, 0, false}, {time.Hour, 0, false}, {-time.Hour, time.Hour, false}} {
		if got := files.Before(now.Add(c.changed), now.Add(c.t)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSinceRenamed: what lay in a directory that was renamed is found, though no file in it changed.
func TestSinceRenamed(t *testing.T) {
	p, dir := tree(t, map[string]string{"was/deep/file": "x", "beside/file": "x"})
	look := p.Look()
	for _, path := range []string{"was/deep", "was/deep/file", "beside", "beside/file"} {
		look.Touch(filepath.Join(dir, path), time.Now().Add(-time.Hour))
	}
	got := look.Since(time.Now())
	if !slices.Contains(got, files.Path(dir+"/was/deep/file")) || slices.Contains(got, files.Path(dir+"/beside/file")) {
		t.Errorf("%q", got)
	}
}

// FuzzRead: whatever a worker calls its files, and whatever name is read, nothing is followed out of
// the place without being said, and what changed is found again where it is read.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"a", "a/b", "../x", "/etc/passwd", "a\x00b", "", ".", "a//b/", "\xff\n", "-", strings.Repeat("a", 300)} {
		f.Add(s, s, "text")
	}
	f.Add("x", "none/../x", "text")
	f.Fuzz(func(t *testing.T, name, read, text string) {
		p, dir := tree(t, nil)
		before := p.Look()
		path := filepath.Join(dir, filepath.Join("/", name))
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil || os.WriteFile(path, []byte(text), 0o600) != nil {
			path = ""
		}
		wrote, lost := before.Changed(p.Look())
		if path == "" {
			wrote = nil
		} else if len(lost) > 0 || !slices.Contains(wrote, files.Path(path)) {
			t.Fatalf("%q: %q, %q", name, wrote, lost)
		}
		if r := p.Read(dir, nil); r.Lost || common(wrote, r.Things) != len(wrote) {
			t.Errorf("%q: %q of %q", name, r.Things, wrote)
		}
		r := p.Read(dir, []string{read})
		for _, id := range r.Things {
			if !task.ValidID(id) {
				t.Errorf("%q", id)
			}
		}
		if at := filepath.Join(dir, read); !filepath.IsAbs(read) && at == path && !slices.Contains(r.Things, files.Path(path)) && !r.Lost {
			t.Errorf("%q: %q of %q", read, r.Things, wrote)
		}
	})
}
