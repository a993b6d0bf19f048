package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// chunk is how much of the log is read at a time.
const chunk = 256 << 10

// lived is a queue with a history over three months.
func lived(t *testing.T) *Spool {
	t.Helper()
	s := made(t)
	now := epoch
	for _, op := range history {
		if err := op.Do(s, now); err != nil {
			t.Fatalf("%s: %v", op.Name, err)
		}
		now = now.Add(60 * time.Hour)
	}
	return s
}

// TestCheckpointIsOnlyAHint: whatever stands in it, the queue says the same.
func TestCheckpointIsOnlyAHint(t *testing.T) {
	s := lived(t)
	name := s.dir + "/checkpoint"
	last, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	do(t, s, brake(audit.Held))
	do(t, s, brake(audit.Released))
	want := says(t, s)
	for what, content := range map[string]string{
		"stale":           string(last),
		"empty":           "",
		"cut":             string(last[:len(last)/2]),
		"zeros":           strings.Repeat("\x00", len(last)),
		"of another kind": "[]",
		"below 0":         strings.Replace(string(last), `"size":`, `"size":-1,"was":`, 1),
		"an odd agenda":   strings.Replace(string(last), `"agenda":`, `"agenda":1,"was":`, 1),
		"wrong type":      strings.Replace(string(last), `"size":`, `"size":"x","x":`, 1),
	} {
		write(t, name, content)
		again := opened(t, s.dir)
		if got := says(t, again); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
		whole(t, again)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got := says(t, s); got != want {
		t.Errorf("absent:\n%s", got)
	}
	whole(t, s)
}

// TestCheckpointAheadOfTheLog: the log was synced before the checkpoint was written,
// so one that the log does not bear out means that the log was cut or changed.
func TestCheckpointAheadOfTheLog(t *testing.T) {
	s := lived(t)
	name := s.dir + "/checkpoint"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, content := range map[string]string{
		"another head":      strings.Replace(string(b), `"head":"sha256:`, `"head":"sha256:0`, 1),
		"longer":            strings.Replace(string(b), `"size":`, `"size":1`, 1),
		"within a line":     strings.Replace(string(b), `"size":`, `"size":1,"was":`, 1),
		"a segment no more": strings.Replace(string(b), `"segment":"20`, `"segment":"19`, 1),
	} {
		write(t, name, resummed(content))
		again := opened(t, s.dir)
		if err := again.View(func(store.View) error { return nil }); !errors.Is(err, journal.ErrBroken) {
			t.Errorf("%s: View: %v", what, err)
		}
		if err := nothing.Do(again, epoch); !errors.Is(err, journal.ErrBroken) {
			t.Errorf("%s: Update: %v", what, err)
		}
		if report, err := again.Verify(""); err == nil && len(report.Findings) == 0 {
			t.Errorf("%s: Verify finds nothing", what)
		}
	}
}

// resummed is a checkpoint with the sum of what it says.
func resummed(b string) string {
	i := strings.Index(b, `,"sum":"`)
	return b[:i] + `,"sum":"` + sum([]byte(b[:i])) + `"}` + "\n"
}

// TestEditedCheckpoint: one that was edited is as good as none, and verify says so.
func TestEditedCheckpoint(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	name := s.dir + "/checkpoint"
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(b), `"scheduled":1`, `"scheduled":0`, 1)
	write(t, name, edited)
	report, err := s.Verify("")
	if err != nil || !slices.Equal(report.Findings, []string{"checkpoint: it was edited, and is made anew"}) {
		t.Errorf("%q, %v", report.Findings, err)
	}
	write(t, name, edited)
	do(t, s, start(""))
	if got := in(t, s, task.Running); len(got) != 1 {
		t.Errorf("running: %v", got)
	}
	whole(t, s)
}

// TestTornTail: half a line, or half a commit, was never acknowledged. It is moved
// aside, and the log says so, whatever the month is.
func TestTornTail(t *testing.T) {
	for _, c := range []struct {
		name string
		tail func(whole []byte) string
	}{
		{"half a line", func(b []byte) string { return string(b[:len(b)/2]) }},
		{"one byte", func([]byte) string { return "{" }},
		{"zeros", func([]byte) string { return strings.Repeat("\x00", 5000) }},
		{"a line without its newline", func(b []byte) string { return string(b) }},
		{"half a commit", func(b []byte) string {
			return strings.Replace(string(b), `,"prev"`, `,"more":true,"prev"`, 1) + "\n"
		}},
		{"half a commit and half a line", func(b []byte) string {
			return strings.Replace(string(b), `,"prev"`, `,"more":true,"prev"`, 1) + "\n" + string(b[:9])
		}},
	} {
		for _, at := range []time.Time{epoch, epoch.AddDate(0, 1, 0)} {
			repairs(t, c.name, c.tail, at)
		}
	}
}

// repairs has the torn tail of a log repaired at a time.
func repairs(t *testing.T, name string, half func(whole []byte) string, at time.Time) {
	t.Helper()
	s := made(t)
	s.clock = func() time.Time { return at }
	do(t, s, add(mails(1, 2)...))
	want := says(t, s)
	report, err := s.Verify("")
	if err != nil {
		t.Fatal(err)
	}
	line := audit.Line{
		Time: epoch, Event: task.Added, Task: strings.Repeat("a", 32), To: task.Scheduled,
		Digest: task.Digest([]byte("{}\n")), Prev: report.Head,
	}
	tail := half(line.Append(nil))
	write(t, s.dir+"/tmp/"+line.Task+".json", "{}\n")
	log, err := os.OpenFile(segment(s.dir), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(tail); err != nil {
		t.Fatal(err)
	}
	log.Close()
	for range 2 {
		if got := says(t, s); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
		whole(t, s)
	}
	aside, _ := filepath.Glob(s.dir + "/audit/torn-*")
	if len(aside) != 1 {
		t.Fatalf("%s: aside: %v", name, aside)
	}
	if b, err := os.ReadFile(aside[0]); err != nil || string(b) != tail {
		t.Errorf("%s: aside is %q, %v", name, b, err)
	}
	if b, _ := os.ReadFile(s.dir + "/audit/" + epoch.Format("2006-01") + ".jsonl"); !strings.Contains(string(b), `"event":"repaired"`) {
		t.Errorf("%s at %s: the log does not tell", name, at.Format("2006-01"))
	}
	do(t, s, add(mails(9, 1)...))
	whole(t, s)
}

// TestBrokenLogStopsTheQueue: no command carries out a line after the checkpoint that
// was changed.
func TestBrokenLogStopsTheQueue(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	do(t, s, add(mails(2, 1)...))
	if err := errors.Join(edit(s.dir, "me@example.com", "it@example.com"), os.Remove(s.dir+"/checkpoint")); err != nil {
		t.Fatal(err)
	}
	err := nothing.Do(s, epoch)
	if !errors.Is(err, journal.ErrBroken) || fault.KindOf(err) != fault.Failed || !strings.Contains(fault.HintOf(err), "verify") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	report, err := s.Verify("")
	if err != nil || len(report.Findings) == 0 {
		t.Errorf("verify: %q, %v", report.Findings, err)
	}
}

// TestForgedLinesAreNotCarriedOut: a line that puts a task on what is no shelf of tasks
// writes no file there.
func TestForgedLinesAreNotCarriedOut(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	id := in(t, s, task.Scheduled)[0]
	for _, to := range []task.State{"meta", "audit", "drafts", "nowhere", ".."} {
		l := audit.Line{Event: task.Cancelled, Task: id, From: task.Scheduled, To: to}
		for _, fresh := range []bool{false, true} {
			if err := s.apply([]audit.Line{l}, fresh); !errors.Is(err, journal.ErrBroken) {
				t.Errorf("to %s: %v", to, err)
			}
		}
	}
	whole(t, s)
}

func TestCutLogStopsTheQueue(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	if err := os.Truncate(segment(s.dir), 10); err != nil {
		t.Fatal(err)
	}
	if err := nothing.Do(s, epoch); !errors.Is(err, journal.ErrBroken) {
		t.Error(err)
	}
}

// TestLogEditedUnderACommand: a command that has read the checkpoint before still notices
// that the line before it was changed, and what another command committed, or the loss of
// the checkpoint, is not taken for what it knows.
func TestLogEditedUnderACommand(t *testing.T) {
	s := lived(t)
	do(t, s, brake(audit.Held))
	other := opened(t, s.dir)
	do(t, other, brake(audit.Released))
	do(t, s, brake(audit.Held), brake(audit.Released))
	whole(t, s)
	if err := os.Remove(s.dir + "/checkpoint"); err != nil {
		t.Fatal(err)
	}
	want := says(t, opened(t, s.dir))
	if got := says(t, s); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	name := s.dir + "/audit/" + s.log.Segment
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-3] ^= 1
	write(t, name, string(b))
	if err := s.View(func(store.View) error { return nil }); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("got %v, want ErrBroken", err)
	}
}

// TestEmptySegment: a month whose first commit failed leaves an empty file, and
// the chain goes on across it even without a checkpoint.
func TestEmptySegment(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	write(t, s.dir+"/audit/2026-12.jsonl", "")
	if err := add(mails(2, 1)...).Do(s, epoch.AddDate(0, 2, 0)); err != nil {
		t.Fatal(err)
	}
	want := says(t, s)
	if err := os.Remove(s.dir + "/checkpoint"); err != nil {
		t.Fatal(err)
	}
	if got := says(t, s); got != want {
		t.Error(got)
	}
	whole(t, s)
}

// TestLongLines: strangers write part of a line, and it may be longer than any buffer.
func TestLongLines(t *testing.T) {
	s := made(t)
	long := func(n int) operation {
		return update("long", func(tx *queue.Tx, now time.Time) error {
			return tx.Log(audit.Line{Time: now, Event: audit.Held, By: strings.Repeat("x", n)})
		})
	}
	do(t, s, long(3*chunk), add(mails(1, 1)...), long(chunk), long(10), long(2*chunk-300))
	if err := os.Remove(s.dir + "/checkpoint"); err != nil {
		t.Fatal(err)
	}
	var events []string
	err := s.View(func(v store.View) error {
		return v.Back(func(l audit.Line) bool {
			events = append(events, string(l.Event))
			return true
		})
	})
	if got := strings.Join(events, " "); err != nil || got != "held held held added held" {
		t.Errorf("%s, %v", got, err)
	}
	whole(t, s)
}

// TestBackTo: lines of some events are told whole, and of the others the time and the event, whatever
// their text says. A line without an event is passed over by nobody.
func TestBackTo(t *testing.T) {
	s := made(t)
	say := func(e task.Event, by string) operation {
		return update("say", func(tx *queue.Tx, now time.Time) error { return tx.Log(audit.Line{Time: now, Event: e, By: by}) })
	}
	const lies = `"event":"held"`
	do(t, s, say(audit.Held, "1"), say(audit.Released, lies), say(audit.Released, `\`+lies), say(audit.Held, lies), say(audit.Released, "2"))
	read := func(events ...task.Event) (by []string, err error) {
		return by, s.View(func(v store.View) error {
			by = nil
			return v.Back(func(l audit.Line) bool {
				if l.Time.IsZero() || l.Event == "" {
					t.Errorf("%+v", l)
				}
				by = append(by, l.By)
				return l.By != "1"
			}, events...)
		})
	}
	if by, err := read(audit.Held); err != nil || !slices.Equal(by, []string{"", lies, "", "", "1"}) {
		t.Errorf("%q, %v", by, err)
	}
	if by, err := read(audit.Held, audit.Released); err != nil || !slices.Equal(by, []string{"2", lies, `\` + lies, lies, "1"}) {
		t.Errorf("%q, %v", by, err)
	}
	files, err := filepath.Glob(s.dir + "/audit/*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"event":"released"`), []byte(`"event "="released`), 1)
	if err := os.WriteFile(files[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
	if by, err := read(audit.Held); !errors.Is(err, journal.ErrBroken) {
		t.Errorf("%q, %v", by, err)
	}
}

// TestClockGoesBack: a line of an earlier month stays in the segment that is open.
func TestClockGoesBack(t *testing.T) {
	s := made(t)
	do(t, s, add(mails(1, 1)...))
	if err := add(mails(2, 1)...).Do(s, epoch.AddDate(-30, 0, 0)); err != nil {
		t.Fatal(err)
	}
	do(t, s, add(mails(3, 1)...))
	if list, _ := filepath.Glob(s.dir + "/audit/*.jsonl"); len(list) != 1 {
		t.Error(list)
	}
	whole(t, s)
}
