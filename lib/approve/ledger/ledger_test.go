package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

const (
	nonce = "0011223344556677"
	other = "8899aabbccddeeff"
	task  = "0123456789abcdef0123456789abcdef"
	task2 = "fedcba9876543210fedcba9876543210"
)

func use(nonce, task string, given time.Time) Use {
	return Use{Nonces: []string{nonce}, Task: task, Given: given, Expires: given.Add(24 * time.Hour)}
}

func fresh(t *testing.T) Ledger { return Ledger{filepath.Join(t.TempDir(), "nonces")} }

// TestSpend: once each, whatever comes between; a later start ends earlier yeses.
func TestSpend(t *testing.T) {
	l := fresh(t)
	for i, step := range []struct {
		do          func() error
		want        error
		description string
	}{
		{func() error { return l.Check(use(nonce, task, now)) }, nil, "no file is an empty one"},
		{func() error { return l.Spend(now.Add(time.Minute), use(nonce, task, now)) }, nil, "the first time"},
		{func() error { return l.Check(use(nonce, task, now)) }, ErrSpent, "it is spent"},
		{func() error { return l.Spend(now.Add(time.Hour), use(nonce, task, now)) }, ErrSpent, "not twice"},
		{func() error { return l.Spend(now.Add(time.Hour), use(nonce, task2, now)) }, ErrSpent, "nor for another task"},
		{func() error { return l.Spend(now.Add(time.Hour), use(other, task, now.Add(59*time.Second))) }, ErrSuperseded, "given before the start"},
		{func() error { return l.Check(use(other, task, now.Add(time.Minute))) }, nil, "given with it"},
		{func() error { return l.Check(use(other, task2, now)) }, nil, "another task"},
		{func() error { return l.Return(now.Add(2*time.Minute), use(nonce, task, now)) }, nil, "nothing happened"},
		{func() error { return l.Spend(now.Add(3*time.Minute), use(nonce, task, now)) }, nil, "again, then"},
		{func() error { return l.Check(use(nonce, task, now)) }, ErrSpent, "and spent again"},
		{func() error { return l.Spend(now.Add(5*time.Minute), use(other, task, now.Add(4*time.Minute))) }, nil, "a new yes"},
		{func() error { return l.Return(now.Add(6*time.Minute), use(nonce, task, now)) }, nil, "the first returned late"},
		{func() error { return l.Check(use(nonce, task, now)) }, ErrSuperseded, "is superseded all the same"},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Fatalf("step %d, %s: %v, want %v", i, step.description, err, step.want)
		}
	}
	b, err := os.ReadFile(l.Path)
	if err != nil || strings.Count(string(b), "\n") != 5 {
		t.Errorf("%s, %v", b, err)
	}
	if info, err := os.Stat(l.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestSpendAtOnce: of many that come at once one gets it.
func TestSpendAtOnce(t *testing.T) {
	l := fresh(t)
	if n := atOnce(t, func(int) error { return l.Spend(now, use(nonce, task, now)) }); n != 1 {
		t.Errorf("spent %d times", n)
	}
}

// atOnce calls spend 50 times at once and returns how many got what they wanted; to
// all others it must say that it is spent.
func atOnce(t *testing.T, spend func(i int) error) (spent int) {
	t.Helper()
	var group sync.WaitGroup
	got := make([]error, 50)
	for i := range got {
		group.Go(func() { got[i] = spend(i) })
	}
	group.Wait()
	for _, err := range got {
		if err == nil {
			spent++
		} else if !errors.Is(err, ErrSpent) {
			t.Error(err)
		}
	}
	return spent
}

// TestTornTail: what a command that died left is not an entry, and does not become one.
func TestTornTail(t *testing.T) {
	whole := entry{Time: now, Event: spent, Nonce: nonce, Task: task, Expires: now.Add(time.Hour)}
	line := string(whole.appendTo(nil))
	for i := range len(line) {
		for _, tail := range []string{line[:i], strings.Repeat("\x00", i), line[:i] + "\x00\n"} {
			l := fresh(t)
			if err := os.WriteFile(l.Path, []byte(line+tail), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := l.Spend(now, use(other, task2, now)); err != nil {
				t.Fatalf("%q: %v", tail, err)
			}
			b, _ := os.ReadFile(l.Path)
			if list, n, err := parse(b); err != nil || n != len(b) || len(list) != 2 || list[1].Nonce != other {
				t.Fatalf("%q: %q, %v", tail, b, err)
			}
		}
	}
}

// TestBroken: a line in the middle that can't be read may have been anything.
func TestBroken(t *testing.T) {
	line := "2026-11-21T07:00:00Z spent " + nonce + " " + task + "\n"
	for _, bad := range []string{
		"\n", "x\n", strings.ToUpper(line), strings.Replace(line, "spent", "Spent", 1), strings.Replace(line, " spent", "  spent", 1),
		strings.Replace(line, "Z", "+00:00", 1), strings.Replace(line, "07:00:00Z", "07:00:00.5Z", 1), strings.Replace(line, "2026", "26", 1),
		strings.Replace(line, nonce, "", 1), strings.TrimSuffix(line, "\n") + " \n", strings.TrimSuffix(line, "\n") + "\r\n", line[:20] + "\n", "\x00\n" + line,
	} {
		l := fresh(t)
		if err := os.WriteFile(l.Path, []byte(line+bad+line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := l.Check(use(other, task2, now)); err == nil || errors.Is(err, ErrSpent) {
			t.Errorf("%q: check: %v", bad, err)
		}
		if err := l.Spend(now, use(other, task2, now)); err == nil {
			t.Errorf("%q: spent", bad)
		}
		if b, _ := os.ReadFile(l.Path); string(b) != line+bad+line {
			t.Errorf("%q was changed to %q", bad, b)
		}
	}
}

// TestNoFile: what is not a regular file is not a ledger, and no command hangs on it.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/null", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "link"), "/dev/null", filepath.Join(dir, "none", "nonces"), "/dev/full"} {
		if err := (Ledger{path}).Spend(now, use(nonce, task, now)); err == nil {
			t.Errorf("%s: spent", path)
		}
	}
}

// FuzzParse: whatever lies there, a reader gets whole entries that say the same when
// they are written, or an error; half a line is never one.
func FuzzParse(f *testing.F) {
	e := entry{Time: now, Event: spent, Nonce: nonce, Task: task, Expires: now.Add(time.Hour)}
	line := e.appendTo(nil)
	f.Add(line)
	f.Add(append(line[:len(line):len(line)], "2026-11-21T"...))
	f.Add([]byte("2026-11-21T07:00:00Z returned 0 0\n\x00\x00"))
	f.Add([]byte("\n"))
	f.Add([]byte("\x00\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, whole, err := parse(b)
		if err != nil {
			if list != nil || whole != 0 {
				t.Error("entries beside an error")
			}
			return
		}
		var again []byte
		for i := range list {
			again = list[i].appendTo(again)
		}
		if string(again) != string(b[:whole]) {
			t.Errorf("%q became %q", b[:whole], again)
		}
	})
}
