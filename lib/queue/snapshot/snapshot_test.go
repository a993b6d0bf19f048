package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulse/lib/queue/access"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/fault"
)

const segment = "2026-01.jsonl"

var layout = Layout{
	Files: []string{"format", "hold"},
	Dirs:  []string{"open", "done"},
	Grown: []string{"pruned"},
	Of:    func(id string) []string { return []string{"open/" + id, "done/" + id, "pruned/all"} },
	Fits: func(name string, size int64) error {
		if name == "done/large" {
			return disk.ErrLarge
		}
		return nil
	},
}

// moving is a queue in which tasks move while it is copied.
type moving struct {
	dir   string
	t     *testing.T
	steps []func() // what happens before the queue is looked at again
	moved map[journal.Mark]string
}

func (m *moving) end() journal.Mark {
	info, err := os.Stat(filepath.Join(m.dir, journal.Dir, segment))
	if err != nil {
		m.t.Fatal(err)
	}
	return journal.Mark{Segment: segment, Size: info.Size()}
}

func (m *moving) step() journal.Mark {
	if len(m.steps) > 0 {
		m.steps[0]()
		m.steps = m.steps[1:]
	}
	return m.end()
}

func (m *moving) Settle() (journal.Mark, error) { return m.step(), nil }

func (m *moving) Moved(from, to journal.Mark) (map[string]bool, error) {
	tasks := map[string]bool{}
	for at, id := range m.moved {
		if at.Size > from.Size && at.Size <= to.Size {
			tasks[id] = true
		}
	}
	return tasks, nil
}

// Still lets something happen after fn has run, so that it runs again.
func (m *moving) Still(fn func(journal.Mark) error) error {
	for {
		before := m.step()
		if err := fn(before); err != nil || len(m.steps) == 0 {
			return err
		}
	}
}

// move gives a task's file another name, and the log a line.
func (m *moving) move(id, from, to string) {
	if err := os.Rename(filepath.Join(m.dir, from, id), filepath.Join(m.dir, to, id)); err != nil {
		m.t.Fatal(err)
	}
	m.log(id)
}

func (m *moving) log(id string) {
	path := filepath.Join(m.dir, journal.Dir, segment)
	b, err := os.ReadFile(path)
	if err != nil {
		m.t.Fatal(err)
	}
	write(m.t, path, string(b)+id+"\n")
	m.moved[m.end()] = id
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// original is a queue with two tasks. Its snapshots are removed in the end.
func original(t *testing.T) (*Queue, *moving) {
	t.Helper()
	parent := t.TempDir()
	dir := filepath.Join(parent, "q")
	for _, name := range []string{"", "open", "done", "pruned", "secret", journal.Dir} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"format": "1\n", "open/a": "a\n", "open/b": "b\n", "secret/grant": "yes\n", journal.Dir + "/" + segment: "begin\n"} {
		write(t, filepath.Join(dir, name), text)
	}
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		err := filepath.WalkDir(parent, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				err = os.Chmod(path, 0o700)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	m := &moving{dir: dir, t: t, moved: map[journal.Mark]string{}}
	return &Queue{Path: dir, Access: access.Of(d, dir, &access.Layout{}), Disk: d, Layout: &layout, Source: m, Wait: time.Minute}, m
}

// copied makes a snapshot beside the queue and returns what is in it.
func copied(t *testing.T, q *Queue) string {
	t.Helper()
	dir := q.Path + "-copy"
	if err := q.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		b, err := os.ReadFile(path)
		list = append(list, name+"="+strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", ","))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	return strings.Join(list, " ")
}

// blind is a disk that package snapshot can't link from.
type blind struct{ disk.Disk }

// TestFollows: what moves in any step of the copying is in the copy where it is in the
// end, once, and what the layout does not name is not.
func TestFollows(t *testing.T) {
	for _, linked := range []bool{true, false} {
		q, m := original(t)
		if !linked {
			q.Disk = blind{q.Disk}
		}
		m.steps = []func(){
			func() {},
			func() { m.move("a", "open", "done") },
			func() { write(t, filepath.Join(m.dir, "open/c"), "c\n"); m.log("c") },
			func() { m.move("b", "open", "done") },
			func() {
				write(t, filepath.Join(m.dir, "hold"), "held\n")
				if err := os.Remove(filepath.Join(m.dir, "done/a")); err != nil {
					t.Error(err)
				}
				write(t, filepath.Join(m.dir, "pruned/all"), "a\n")
				m.log("a")
			},
		}
		want := "audit/" + segment + "=begin,a,c,b,a done/b=b format=1 hold=held open/c=c pruned/all=a snapshot=pulse-snapshot 1"
		if got := copied(t, q); got != want {
			t.Errorf("linked %t: %s, want %s", linked, got, want)
		}
	}
}

// TestEndsWhereTheLogDid: lines after the last step's end were not carried out.
func TestEndsWhereTheLogDid(t *testing.T) {
	q, m := original(t)
	end := m.end()
	q.Source = ended{m, end}
	m.log("later")
	if got := copied(t, q); !strings.Contains(got, segment+"=begin ") {
		t.Error(got)
	}
}

// ended is a queue whose log ends before the file does.
type ended struct {
	Source
	at journal.Mark
}

func (e ended) Settle() (journal.Mark, error)               { return e.at, nil }
func (e ended) Still(fn func(end journal.Mark) error) error { return fn(e.at) }

// TestAfterACrash: the next command removes what one that died left.
func TestAfterACrash(t *testing.T) {
	q, _ := original(t)
	left := filepath.Join(filepath.Dir(q.Path), ".q-copy.snapshot-123")
	if err := os.MkdirAll(filepath.Join(left, "audit"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(left, "audit/x"), "x")
	if err := os.Chmod(filepath.Join(left, "audit"), 0o550); err != nil {
		t.Fatal(err)
	}
	copied(t, q)
}

// TestWaits: the error of a snapshot that another command makes there says where.
func TestWaits(t *testing.T) {
	q, _ := original(t)
	q.Wait = time.Millisecond
	parent, err := os.Open(filepath.Dir(q.Path))
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	if err := syscall.Flock(int(parent.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	err = q.CopyTo(q.Path + "-copy")
	var path *fs.PathError
	if !errors.Is(err, disk.ErrLocked) || !errors.As(err, &path) || path.Op != "lock" || path.Path != parent.Name() {
		t.Error(err)
	}
}

func TestWhatNoSnapshotReplaces(t *testing.T) {
	q, _ := original(t)
	parent := filepath.Dir(q.Path)
	for name, prepare := range map[string]func(dir string) error{
		"an empty directory": func(dir string) error { return os.Mkdir(dir, 0o700) },
		"a file":             func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a dangling link":    func(dir string) error { return os.Symlink("nowhere", dir) },
		"another queue":      func(dir string) error { return os.CopyFS(dir, os.DirFS(q.Path)) },
		"a file snapshot of something else": func(dir string) error {
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, MarkerFile), []byte("mine\n"), 0o600))
		},
		"a snapshot behind a link": func(dir string) error {
			return errors.Join(q.CopyTo(dir+"2"), os.Symlink(dir+"2", dir))
		},
	} {
		dir := filepath.Join(parent, strings.ReplaceAll(name, " ", "-"))
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(dir)
		err := q.CopyTo(dir)
		after, _ := os.Lstat(dir)
		if err == nil || fault.KindOf(err) != fault.Usage || !os.SameFile(before, after) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Mkdir(filepath.Join(parent, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(parent, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{q.Path, q.Path + "/x", parent, filepath.Join(parent, "absent/x"), filepath.Join(parent, "open/x")} {
		if err := q.CopyTo(dir); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if b, err := os.ReadFile(q.Path + "/open/a"); err != nil || string(b) != "a\n" {
		t.Error(string(b), err)
	}
}

// TestOddFiles: what is no task stops nothing.
func TestOddFiles(t *testing.T) {
	q, _ := original(t)
	done := filepath.Join(q.Path, "done")
	if err := errors.Join(os.Mkdir(done+"/dir", 0o700), os.Symlink("/etc/passwd", done+"/link")); err != nil {
		t.Fatal(err)
	}
	write(t, done+"/large", "too large\n")
	if got := copied(t, q); !strings.Contains(got, "open/a=a open/b=b") || strings.Contains(got, "done") {
		t.Error(got)
	}
}

// TestCopyKeepsBytesAndTimes, whatever the size is.
func TestCopyKeepsBytesAndTimes(t *testing.T) {
	q, _ := original(t)
	for name, size := range map[string]int{"a": 0, "b": 1, "c": chunk - 1, "d": chunk, "e": chunk + 1, "f": 3 * chunk} {
		text := strings.Repeat("x", size)
		path := filepath.Join(q.Path, "done", name)
		write(t, path, text)
		made := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC) // tasks are sorted to the nanosecond
		if err := os.Chtimes(path, made, made); err != nil {
			t.Fatal(err)
		}
		c := copier{q, t.TempDir(), make([]byte, chunk)}
		if err := os.Mkdir(filepath.Join(c.root, "done"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := c.copyFile(q.Disk, "done/"+name); err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(c.root, "done", name)
		b, err := os.ReadFile(to)
		info, _ := os.Stat(to)
		if err != nil || string(b) != text || !info.ModTime().Equal(made) || info.Mode().Perm() != 0o440 {
			t.Errorf("%d bytes: %d, %v, %v", size, len(b), info, err)
		}
	}
}
