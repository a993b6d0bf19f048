package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bothWays runs a test with inotify and without it.
func bothWays(t *testing.T, test func(*testing.T)) {
	t.Run("inotify", test)
	t.Run("clock", func(t *testing.T) {
		defer func(f func(int) (int, error), d time.Duration) { inotifyInit, lookEvery = f, d }(inotifyInit, lookEvery)
		inotifyInit = func(int) (int, error) { return -1, unix.EMFILE }
		lookEvery = time.Millisecond
		test(t)
	})
}

func TestGone(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		other := t.TempDir()
		var w Watch
		defer w.Close()
		for name, take := range map[string]func(path string) error{
			"moved":   func(path string) error { return os.Rename(path, filepath.Join(other, "x")) },
			"renamed": func(path string) error { return os.Rename(path, path+"~") },
			"removed": os.Remove,
		} {
			dir := t.TempDir()
			path := filepath.Join(dir, "task.json")
			write(t, path)
			write(t, filepath.Join(dir, "other.json"))
			c, stop := w.Gone(path)
			os.Remove(filepath.Join(dir, "other.json"))
			write(t, filepath.Join(dir, "new.json"))
			select {
			case <-c:
				t.Errorf("%s: it was gone before", name)
			default:
			}
			if err := take(path); err != nil {
				t.Fatal(err)
			}
			<-c
			stop()
			if n := watched(t, &w); n > 0 {
				t.Errorf("%s: %d watches are left", name, n)
			}
		}
	})
}

func TestGoneBefore(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var w Watch
		defer w.Close()
		c, stop := w.Gone(filepath.Join(t.TempDir(), "task.json"))
		<-c
		stop()
	})
}

// TestGoneIsStopped: nothing is left of a watch that saw nothing. A directory that can't be
// seen does not mean that its files are gone.
func TestGoneIsStopped(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		var w Watch
		path := filepath.Join(t.TempDir(), "task.json")
		write(t, path)
		for _, p := range []string{path, filepath.Join(filepath.Dir(path), "nowhere", "task.json")} {
			c, stop := w.Gone(p)
			stop()
			select {
			case <-c:
				t.Errorf("%s is gone", p)
			default:
			}
		}
		if n := watched(t, &w); n > 0 {
			t.Errorf("%d watches are left", n)
		}
		w.Close()
		if n := descriptors(t); n > 0 {
			t.Errorf("%d descriptors are left", n)
		}
	})
}

func TestWatchIsNotInherited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "task.json")
	write(t, path)
	var w Watch
	defer w.Close()
	_, stop := w.Gone(path)
	defer stop()
	if w.events == nil {
		t.Fatal("no inotify here")
	}
	if descriptors(t) != 1 || watched(t, &w) != 1 {
		t.Error("watches are not seen")
	}
	if flags, err := unix.FcntlInt(w.events.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %x, %v", flags, err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// descriptors returns how many inotify descriptors this process has.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); to == "anon_inode:inotify" {
			n++
		}
	}
	return n
}

// watched returns how many directories a Watch watches.
func watched(t *testing.T, w *Watch) int {
	t.Helper()
	if w.events == nil {
		return 0
	}
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(w.events.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "inotify wd:")
}
