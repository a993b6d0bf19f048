package aside

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestMemory: minute by minute a person is told what begins, once a day what lasts, and what ends;
// what comes and goes once in twelve hours, unless it lasts an hour. Each command opens it anew.
func TestMemory(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	hostile := strings.Repeat("\x1b[2J\u202e\"}\n", 200)
	for i, c := range []struct {
		after time.Duration
		does  string // begins, ends, another
		say   bool
	}{
		{0, "ends", false},
		{time.Minute, "begins", true},
		{time.Minute, "begins", false},
		{24 * time.Hour, "begins", false}, // health reminds earlier, of what it finds
		{time.Hour, "begins", true},
		{time.Minute, "ends", true},
		{time.Minute, "ends", false},
		{time.Minute, "begins", false},
		{time.Minute, "ends", false}, // nobody knew that it was back
		{time.Minute, "begins", false},
		{time.Hour, "begins", true},
		{time.Minute, "another", true},
		{time.Minute, "another", false},
		{time.Minute, "ends", true},
		{13 * time.Hour, "begins", true},
		{-50 * time.Hour, "begins", true}, // the clock was ahead
		{time.Minute, "begins", false},
	} {
		now = now.Add(c.after)
		m := Open(dir, "/q", "queue")
		say := false
		switch c.does {
		case "begins":
			say = m.Begins("", hostile, now)
		case "another":
			say = m.Begins("x", hostile, now)
		default:
			f, ends := m.Ends(now)
			if say = ends; say && !strings.HasPrefix(f.Text, "\x1b[2J") {
				t.Errorf("%d: %q", i, f.Text)
			}
		}
		m.Close()
		if say != c.say {
			t.Errorf("%d: %s: told: %v", i, c.does, say)
		}
	}
	for _, m := range []*Memory{Open(dir, "/other", "queue"), Open(dir, "/q", "disk")} {
		if !m.Begins("", "x", now) {
			t.Error("another matter is not told")
		}
	}
}

// TestToldWhereNothingIsRemembered: what can't be read or written is told each time.
func TestToldWhereNothingIsRemembered(t *testing.T) {
	now := time.Now()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open := t.TempDir()
	if err := os.MkdirAll(filepath.Join(open, "aside"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(open, "aside"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", file, open} {
		for range 2 {
			m := Open(dir, "/q", "queue")
			if !m.Begins("", "x", now) {
				t.Errorf("%q: not told", dir)
			}
			if _, say := m.Ends(now); say {
				t.Errorf("%q: it ended", dir)
			}
			m.Close()
		}
	}
}

// FuzzMemory: whatever lies in the file, what is wrong is told or was, and the next time it is known.
func FuzzMemory(f *testing.F) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	f.Add([]byte(`{"what":"told","code":"told","text":"x","since":"2026-11-21T06:00:00Z","told":"2026-11-21T06:00:00Z"}`), "x")
	f.Add([]byte(`{"what":"closed","what":1}`), "\xff")
	f.Add([]byte("0"), strings.Repeat("\xba", 300))
	f.Add([]byte("\x00"), "")
	f.Fuzz(func(t *testing.T, b []byte, text string) {
		dir := t.TempDir()
		m := Open(dir, "/q", "queue")
		defer m.Close()
		if _, err := m.f.WriteAt(b[:min(len(b), size)], 0); err != nil {
			t.Fatal(err)
		}
		m.Begins("", text, now)
		if m.Begins("", text, now) {
			t.Error("told twice")
		}
		if info, err := m.f.Stat(); err != nil || info.Size() != size {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// TestOnce: of commands that fail at the same moment, one tells.
func TestOnce(t *testing.T) {
	dir := t.TempDir()
	var told atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			m := Open(dir, "/q", "queue")
			defer m.Close()
			if m.Begins("", "x", time.Now()) {
				told.Add(1)
			}
		})
	}
	if all.Wait(); told.Load() != 1 {
		t.Errorf("told %d times", told.Load())
	}
}
