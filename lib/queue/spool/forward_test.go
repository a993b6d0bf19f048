package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// forwards returns what Lines gives, each line as its By.
func forwards(t *testing.T, s *Spool, since time.Time, about string) string {
	t.Helper()
	var got []string
	err := s.View(func(v store.View) error {
		lines, err := v.Lines(since, store.About(about))
		if err != nil {
			return err
		}
		return lines(func(raw []byte, l *audit.Line) error {
			if parsed, err := audit.Parse(raw); err != nil || parsed.By != l.By {
				t.Errorf("%s is not the line of %s", raw, l.By)
			}
			if l.By != "" {
				got = append(got, l.By)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(got, " ")
}

// TestLines: nothing of the time is missed or given twice, whatever the clock did.
func TestLines(t *testing.T) {
	s := made(t)
	if got := forwards(t, s, time.Time{}, ""); got != "" {
		t.Errorf("an empty log has %s", got)
	}
	jan, feb, mar := epoch.AddDate(0, 2, 0), epoch.AddDate(0, 3, 0), epoch.AddDate(0, 4, 0)
	long := strings.Repeat("x", chunk)
	for i, at := range []time.Time{epoch, jan, mar, feb, epoch, mar.Add(time.Hour)} {
		do(t, s, update("believe the clock", func(tx *queue.Tx, _ time.Time) error {
			return tx.Log(audit.Line{Time: at.Add(-time.Hour), Event: audit.Released})
		}))
		for _, by := range []string{fmt.Sprintf("%da", i), fmt.Sprintf("%db", i)} {
			do(t, s, update(by, func(tx *queue.Tx, _ time.Time) error {
				return tx.Log(audit.Line{Time: at, Event: audit.Held, By: by, Sender: long[:i*chunk/6]})
			}))
		}
	}
	if names, _ := filepath.Glob(s.dir + "/audit/*"); len(names) != 3 {
		t.Errorf("segments %v", names)
	}
	for _, c := range []struct {
		since       time.Time
		about, want string
	}{
		{time.Time{}, "", "0a 0b 1a 1b 2a 2b 3a 3b 4a 4b 5a 5b"},
		{epoch, "", "0a 0b 1a 1b 2a 2b 3a 3b 4a 4b 5a 5b"},
		{epoch.Add(1), "", "1a 1b 2a 2b 3a 3b 5a 5b"},
		{feb, "", "2a 2b 3a 3b 5a 5b"},
		{mar.Add(time.Minute).In(time.FixedZone("", 13*3600)), "", "5a 5b"},
		{mar.AddDate(100, 0, 0), "", ""},
		{time.Time{}, `b","prev`, "0b 1b 2b 3b 4b 5b"},
		{feb, `a","prev`, "2a 3a 5a"},
		{time.Time{}, "nobody", ""},
	} {
		if got := forwards(t, s, c.since, c.about); got != c.want {
			t.Errorf("since %s about %q: %s, want %s", c.since, c.about, got, c.want)
		}
	}
}

// TestLinesAfterTheView: what is read later is what the log held then.
func TestLinesAfterTheView(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 3)...))
	var lines store.Lines
	err := s.View(func(v store.View) (err error) {
		lines, err = v.Lines(time.Time{}, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, add(mails(10, 3)...))
	n := 0
	count := func([]byte, *audit.Line) error {
		n++
		return nil
	}
	if err := lines(count); err != nil || n != 3 {
		t.Errorf("%d lines, %v, want 3", n, err)
	}
	stop := errors.New("stop")
	n = 0
	err = lines(func([]byte, *audit.Line) error {
		n++
		return stop
	})
	if err != stop || n != 1 {
		t.Errorf("%d lines, %v", n, err)
	}
	name, _ := filepath.Glob(s.dir + "/audit/*")
	b, err := os.ReadFile(name[0])
	if err == nil {
		err = os.WriteFile(name[0], append([]byte("x"), b[1:]...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := lines(count); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("a broken line: %v", err)
	}
}

// TestMatch: ids are found by their beginning, open ones first, and also those of
// tasks that were pruned.
func TestMatch(t *testing.T) {
	s := made(t)
	do(t, s, add(mail(1, terms.Allow)))
	open := in(t, s, task.Scheduled)[0]
	twin := open[:4] + "0"
	if open[4] == '0' {
		twin = open[:4] + "1"
	}
	pad := func(id string) string { return id + strings.Repeat("0", 32-len(id)) }
	pruned := []byte{}
	for _, f := range []struct{ id, in string }{
		{twin, "completed"}, {"bbbb0", "failed"}, {"cccc0", "completed"}, {"cccc1", "rejected"}, {"dddd0", ""}, {"dddd1", ""}, {"dddd2", "corrupt"},
	} {
		if f.in == "" {
			pruned = fmt.Appendf(pruned, "%s %-10s\n", pad(f.id), task.Completed)
		} else if err := s.disk.Write(f.in+"/"+pad(f.id)+".json", []byte("{}\n"), epoch); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.disk.Write(shardOf("dddd").Name, pruned, epoch); err != nil {
		t.Fatal(err)
	}
	for prefix, want := range map[string]string{
		open[:4]: open, open[:5]: open, open: open, twin[:5]: pad(twin), "bbbb": pad("bbbb0"), "cccc": "many", "cccc1": pad("cccc1"),
		"dddd": "many", "dddd0": pad("dddd0"), "dddd00": pad("dddd0"), "dddd2": pad("dddd2"), "ddd": "none", "": "none", "DDDD": "none",
		"dddd/": "none", pad("dddd0") + "0": "none", pad("eeee"): pad("eeee"),
	} {
		got, err := queue.Whole(s, prefix)
		switch {
		case errors.Is(err, store.ErrUnknown):
			got = "none"
		case err != nil:
			got = "many"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", prefix, got, err, want)
		}
	}
}
