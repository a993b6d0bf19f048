package seen

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/safefile"
)

// line returns a mark of a queue; n is the end of its line in the log.
func line(first string, n int) Mark {
	return Mark{First: first, Segment: "2026-11.jsonl", Size: int64(n), Head: "sha256:" + strings.Repeat("a", n)}
}

// log returns the find of a queue that has only its first n lines.
func log(n int) func(Mark) (Mark, error) {
	return func(m Mark) (Mark, error) {
		if m.Size > int64(n) {
			return Mark{}, nil
		}
		return m, nil
	}
}

func open(t *testing.T, dir, queue, first string, n int) *Record {
	t.Helper()
	r, err := Open(dir, queue, first, log(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func marks(t *testing.T, r *Record) []Mark {
	t.Helper()
	list, err := r.Marks()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// home returns a state directory that does not exist yet, and a place for queues.
func home(t *testing.T) (dir, place string) {
	place = t.TempDir()
	return filepath.Join(t.TempDir(), "state/pulse"), place
}

// queueAt creates what a queue is recognized by at a path.
func queueAt(t *testing.T, path string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(path, 0o700), os.WriteFile(filepath.Join(path, "format"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNote(t *testing.T) {
	dir, place := home(t)
	q := queueAt(t, filepath.Join(place, "a\nname\xff"))
	r := open(t, dir, q, "", 0)
	if got := marks(t, r); got != nil {
		t.Errorf("a new queue: %v", got)
	}
	for _, n := range []int{3, 9} {
		if err := r.Note(line("one", n)); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*Record{r, open(t, dir, q, "one", n)} {
			if got := marks(t, r); !slices.Equal(got, []Mark{line("one", n)}) {
				t.Errorf("%v", got)
			}
		}
	}
	if err := r.Writable(); err != nil {
		t.Error(err)
	}
}

// TestElsewhere: a queue that was moved takes its marks along, and a copy that has every
// marked line counts as the queue. One that lacks some is found out, whatever its path.
func TestElsewhere(t *testing.T) {
	dir, place := home(t)
	q, q2, q3 := queueAt(t, place+"/q"), queueAt(t, place+"/q2"), queueAt(t, place+"/q3")
	other := queueAt(t, place+"/other")
	for path, m := range map[string]Mark{q: line("one", 5), other: line("two", 99)} {
		if err := open(t, dir, path, m.First, 99).Note(m); err != nil {
			t.Fatal(err)
		}
	}
	if got := marks(t, open(t, dir, q2, "one", 4)); !slices.Equal(got, []Mark{line("one", 5)}) {
		t.Errorf("a copy that lacks lines: %v", got)
	}
	copied := open(t, dir, q2, "one", 7)
	if got := marks(t, copied); !slices.Equal(got, []Mark{line("one", 5)}) {
		t.Errorf("a copy that lacks nothing: %v", got)
	}
	if err := copied.Note(line("one", 7)); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, open(t, dir, q, "one", 5)); !slices.Equal(got, []Mark{line("one", 5)}) {
		t.Errorf("the queue takes over what was noted later of its copy: %v", got)
	}
	if err := os.RemoveAll(q2); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, open(t, dir, q3, "one", 6)); len(got) != 1 || got[0] != line("one", 7) {
		t.Errorf("a third one, copied earlier: %v", got)
	}
	if got := marks(t, open(t, dir, q3, "one", 7)); !slices.Equal(got, []Mark{line("one", 7)}) {
		t.Errorf("a third one: %v", got)
	}
	if got := marks(t, open(t, dir, queueAt(t, q2), "new", 0)); got != nil {
		t.Errorf("a new queue at a path that another was moved from: %v", got)
	}
}

// TestLink: a link that is changed to lead elsewhere must lead to the same queue.
func TestLink(t *testing.T) {
	dir, place := home(t)
	q, q2, link := queueAt(t, place+"/q"), queueAt(t, place+"/q2"), place+"/link"
	lead := func(to string) string {
		t.Helper()
		os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		return link
	}
	if err := open(t, dir, lead(q), "one", 3).Note(line("one", 3)); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, q, "one", 5).Note(line("one", 5)); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, q2, "two", 1).Note(line("two", 1)); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, open(t, dir, link, "one", 5)); !slices.Equal(got, []Mark{line("one", 5)}) {
		t.Errorf("by the link: %v", got)
	}
	if got := marks(t, open(t, dir, lead(q2), "two", 1)); !slices.Equal(got, []Mark{line("one", 3), line("two", 1)}) {
		t.Errorf("by the link to another queue: %v", got)
	}
}

// TestUnreadable: a file that can't be read is an error, but not for another queue.
func TestUnreadable(t *testing.T) {
	dir, place := home(t)
	q, q2 := queueAt(t, place+"/q"), queueAt(t, place+"/q2")
	r := open(t, dir, q, "one", 9)
	m := line("one", 3)
	whole := string(m.encode()) + "\"x\"\n"
	for _, text := range []string{
		"x", strings.Repeat(" ", 600), whole[:300], strings.Replace(whole, "sha256", "\x00ha256", 1),
		strings.Replace(whole, `"size":3`, `"size":0`, 1), strings.Replace(whole, "first", "worst", 1),
		strings.Repeat("x", 9<<10),
	} {
		if err := os.WriteFile(filepath.Join(dir, fileOf(q)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Marks(); !errors.Is(err, errGarbage) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if got := marks(t, open(t, dir, q2, "one", 9)); got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	if err := r.Note(m); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, r); !slices.Equal(got, []Mark{m}) {
		t.Errorf("Note does not mend the file: %v", got)
	}
	for text, want := range map[string][]Mark{whole[:sector]: {m}, whole[:sector] + "\x00\x00": {m}, "": nil, strings.Repeat("\x00", 520): nil} {
		if err := os.WriteFile(filepath.Join(dir, fileOf(q)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := marks(t, r); !slices.Equal(got, want) {
			t.Errorf("after a power cut, %q: %v", text, got)
		}
	}
}

// TestNowhere: a directory that others may write to, or that can't be made, is refused.
func TestNowhere(t *testing.T) {
	dir, place := home(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, place, "", log(0)); !errors.Is(err, safefile.ErrWritable) {
		t.Error(err)
	}
	for _, dir := range []string{"", "/dev/null/pulse"} {
		if _, err := Open(dir, place, "", log(0)); err == nil {
			t.Errorf("%q is accepted as a directory for marks", dir)
		}
	}
}

// FuzzDecode: a mark that can be read survives being written and read again.
func FuzzDecode(f *testing.F) {
	m := line("one", 3)
	f.Add(m.encode())
	f.Add([]byte(`{"first":"a","segment":"b","size":1,"head":"c","new":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(m.encode())
		if err != nil || *again != *m {
			t.Errorf("%+v, then %+v, %v", m, again, err)
		}
	})
}

// TestServer: a queue on a server has a name and no path, and what is noted under one name
// stays when it is opened by another.
func TestServer(t *testing.T) {
	dir, _ := home(t)
	const one, two = "postgres://a@h/q", "postgres://a@h,h2/q"
	if err := open(t, dir, one, "one", 3).Note(line("one", 3)); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, open(t, dir, two, "one", 3)); !slices.Equal(got, []Mark{line("one", 3)}) {
		t.Errorf("%v", got)
	}
	if got := marks(t, open(t, dir, two+"2", "one", 2)); len(got) != 2 || got[0] != line("one", 3) {
		t.Errorf("a server that lacks a line: %v", got)
	}
	if !Known(dir, one) || !Known(dir, two) {
		t.Error("it was forgotten")
	}
}
