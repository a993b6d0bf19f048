package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newReplacement makes one for parent/name that has a directory with a file of this text.
func newReplacement(t *testing.T, parent, text string) *Replacement {
	t.Helper()
	r, err := NewReplacement(parent, ".name.new-", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Remove)
	if err := errors.Join(os.Mkdir(filepath.Join(r.Path, "sub"), 0o700), os.WriteFile(filepath.Join(r.Path, "sub/text"), []byte(text), 0o400)); err != nil {
		t.Fatal(err)
	}
	return r
}

// replace puts a directory of this text in place of parent/name.
func replace(t *testing.T, parent, text string) {
	t.Helper()
	r := newReplacement(t, parent, text)
	defer r.Remove()
	if err := errors.Join(r.Seal(0o550), r.Swap(filepath.Join(parent, "name"), func(string) error { return nil })); err != nil {
		t.Fatal(err)
	}
}

// replaceable returns a directory for replacements, which can be removed in the end.
func replaceable(t *testing.T) string {
	parent := t.TempDir()
	t.Cleanup(func() {
		entries, _ := os.ReadDir(parent)
		for _, e := range entries {
			eachDir(filepath.Join(parent, e.Name()), func(dir string) error { return os.Chmod(dir, 0o700) })
		}
	})
	return parent
}

// left returns the directories under a temporary name.
func left(t *testing.T, parent string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(parent, ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestReplacement(t *testing.T) {
	parent := replaceable(t)
	for _, text := range []string{"one", "two"} {
		replace(t, parent, text)
		b, err := os.ReadFile(filepath.Join(parent, "name/sub/text"))
		info, _ := os.Stat(filepath.Join(parent, "name/sub"))
		if err != nil || string(b) != text || info.Mode().Perm() != 0o550 {
			t.Errorf("%q, %v, %v, want %q", b, info, err, text)
		}
		if names := left(t, parent); len(names) > 0 {
			t.Errorf("%v is left", names)
		}
	}
}

// TestReplacementIsRefused: what may not be replaced stands there, and nothing else is left.
func TestReplacementIsRefused(t *testing.T) {
	parent := replaceable(t)
	if err := os.Mkdir(filepath.Join(parent, "name"), 0o700); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	r := newReplacement(t, parent, "text")
	if err := r.Swap(filepath.Join(parent, "name"), func(string) error { return no }); err != no {
		t.Error(err)
	}
	r.Remove()
	if entries, err := os.ReadDir(filepath.Join(parent, "name")); len(entries) > 0 || err != nil {
		t.Error(entries, err)
	}
	if names := left(t, parent); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

// TestReplacedWhileRead: a reader keeps what it reads, and it is removed after the last one;
// but readers can't fill the disk.
func TestReplacedWhileRead(t *testing.T) {
	parent := replaceable(t)
	var readers []*Dir
	for i := range 6 {
		replace(t, parent, "text")
		d, err := Open(filepath.Join(parent, "name"), Options{Most: func(string) int64 { return 10 }})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Pin(time.Second); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, d)
		if b, err := readers[0].Read("sub/text"); i <= maxRead && (string(b) != "text" || err != nil) {
			t.Errorf("after %d: %q, %v", i, b, err)
		}
	}
	replace(t, parent, "text")
	if names := left(t, parent); len(names) == 0 || len(names) > maxRead+1 {
		t.Errorf("%v is left", names)
	}
	for _, d := range readers {
		d.Close()
	}
	replace(t, parent, "text")
	if names := left(t, parent); len(names) > 0 {
		t.Errorf("%v is left for nobody", names)
	}
}

// TestReplacementsOfTheDead: what a command that died left is removed by the next one, and
// what is being made is not.
func TestReplacementsOfTheDead(t *testing.T) {
	parent := replaceable(t)
	dead := filepath.Join(parent, ".name.new-1")
	if err := errors.Join(os.MkdirAll(dead+"/sub", 0o700), os.WriteFile(dead+"/sub/text", nil, 0o400), os.Chmod(dead+"/sub", 0o550)); err != nil {
		t.Fatal(err)
	}
	r, other := newReplacement(t, parent, "text"), newReplacement(t, parent, "text")
	if names := left(t, parent); len(names) != 2 {
		t.Errorf("%v", names)
	}
	r.Remove()
	other.Remove()
	if names := left(t, parent); len(names) > 0 {
		t.Errorf("%v is left", names)
	}
}

// TestReplacementWaits: one command at a time looks for what is left.
func TestReplacementWaits(t *testing.T) {
	parent := replaceable(t)
	fd, err := unix.Open(parent, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := NewReplacement(parent, ".name.new-", time.Millisecond); !errors.Is(err, ErrLocked) {
		t.Error(err)
	}
}

func TestHandTo(t *testing.T) {
	parent := replaceable(t)
	r := newReplacement(t, parent, "text")
	if err := r.HandTo(os.Getegid()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(r.Path); err != nil || info.Mode() != fs.ModeDir|fs.ModeSetgid|0o700 {
		t.Error(info, err)
	}
}
