package queue

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

const (
	head    = `"identity":{"sender":"Me@Example.com","trust":"owner_verified_email","verified":true,"stale":false,"automatic":false,"reason":"r","why":""`
	decided = `,"decision":{"action":"external_send","outcome":"require_owner_confirmation","rule":"r","reason":"needs_confirmation","why":""}}`
	message = `{"message":{"source":"s","id":"<a@b>"},` + head + `}` + decided
	effect  = `{"request":{"action":"external_send","target":"bob@x.example"},` + head + `,"via":"agent","parent":"p"}` + decided
)

func content(t *testing.T, line string) (Content, error) {
	t.Helper()
	rec, err := record.Parse([]byte(line), Members...)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return read(rec)
}

func idOf(t *testing.T, line string) string {
	t.Helper()
	c, err := content(t, line)
	if err != nil {
		t.Fatal(err)
	}
	id, err := c.ID()
	if err != nil || !task.ValidID(id) {
		t.Errorf("%s: %s, %v", line, id, err)
	}
	return id
}

func TestIDs(t *testing.T) {
	mail, prop := idOf(t, message), idOf(t, effect)
	for what, same := range map[string]string{
		mail: strings.Replace(message, "Me@Example.com", "me@EXAMPLE.com", 1),
		prop: strings.Replace(effect, `"bob@x.example"`, `["bob@x.example"]`, 1),
	} {
		if got := idOf(t, same); got != what {
			t.Errorf("%s: %s, want %s", same, got, what)
		}
	}
	if got := idOf(t, strings.Replace(effect, `"parent":"p"`, `"parent":"q","root":"p","ordinal":0`, 1)); got != prop {
		t.Error("a grandchild's effect is another one than the same effect of the root")
	}
	for _, other := range []string{
		strings.Replace(message, `"verified":true`, `"verified":false`, 1), strings.Replace(message, "<a@b>", "<a@c>", 1),
		strings.Replace(effect, "bob@", "eve@", 1), strings.Replace(effect, `"parent":"p"`, `"parent":"p","ordinal":1`, 1),
		strings.Replace(effect, `"target"`, `"bcc":"eve@x.example","target"`, 1),
	} {
		if got := idOf(t, other); got == mail || got == prop {
			t.Errorf("%s has the same id", other)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, bad := range []string{
		`{}`, `{` + head + `}}`, strings.Replace(effect, `"request":{"action":"external_send"`, `"request":{"action":"read_public"`, 1),
		strings.Replace(message, "owner_verified_email", "king", 1), strings.Replace(effect, `"parent":"p"`, `"parent":""`, 1),
	} {
		if c, err := content(t, bad); err == nil {
			t.Errorf("%s: %+v", bad, c)
		}
	}
}

// TestLogTellsNoText: what strangers write into the log is short and no text.
func TestLogTellsNoText(t *testing.T) {
	c, err := content(t, strings.Replace(message, "<a@b>", strings.Repeat("x", 1<<20), 1))
	if err != nil {
		t.Fatal(err)
	}
	c.Identity.Why, c.Decision.Why = "secret", "secret"
	l := c.describe(audit.Line{Time: time.Now()})
	if b := l.Append(nil); len(b) > 2000 || strings.Contains(string(b), "secret") {
		t.Errorf("%d bytes: %.300s", len(b), b)
	}
}

func TestVerdict(t *testing.T) {
	ask, err := content(t, message)
	if err != nil {
		t.Fatal(err)
	}
	out, err := content(t, effect)
	if err != nil {
		t.Fatal(err)
	}
	inward := out
	inward.Decision.Action = terms.ReadPublic
	limits := &policy.Default().Limits
	for _, c := range []struct {
		content        Content
		exit, attempts int
		event          task.Event
		later          bool
	}{
		{ask, 0, 1, task.Finished, false}, {ask, 75, 1, task.Retried, true}, {ask, 75, 99, task.Retried, true},
		{ask, 1, 1, task.Retried, true}, {ask, -1, 2, task.Retried, true}, {ask, 1, 3, task.GaveUp, false},
		{inward, 0, 1, task.Finished, false}, {inward, 1, 1, task.Retried, true},
		{out, 0, 1, task.Finished, false}, {out, 75, 1, task.Restored, true}, {out, 75, 99, task.Restored, true},
		{out, 64, 1, task.GaveUp, false}, {out, 69, 9, task.GaveUp, false}, {ask, 64, 1, task.Retried, true}, {ask, 69, 1, task.Retried, true}, {inward, 69, 1, task.GaveUp, false}, {inward, 64, 1, task.GaveUp, false},
		{out, 1, 1, task.Undecided, false}, {out, 65, 1, task.Undecided, false}, {out, 70, 1, task.Undecided, false}, {out, 77, 1, task.Undecided, false}, {out, -1, 9, task.Undecided, false},
	} {
		claim := &Claim{Stored: Stored{Content: c.content}}
		change := task.Change{Since: time.Now(), Attempts: c.attempts + 7, Deferred: 7} // only failures use attempts up
		event, to := verdict(claim, End{Exit: c.exit}, limits, &change)
		if event != c.event || task.Legal(event, task.Running, to) != nil || change.NotBefore.IsZero() == c.later || change.Reason == "" {
			t.Errorf("exit %d after %d attempts: %s to %s, %+v", c.exit, c.attempts, event, to, change)
		}
	}
}

func TestDied(t *testing.T) {
	limits := &policy.Default().Limits
	for line, want := range map[string][]task.Event{
		message: {task.Restarted, task.Restarted, task.Restarted, task.GaveUp},
		effect:  {task.Undecided, task.Undecided},
	} {
		c, err := content(t, line)
		if err != nil {
			t.Fatal(err)
		}
		for restarts, event := range want {
			s := Stored{Content: c, Task: task.Task{State: task.Running, Change: task.Change{Restarts: restarts}}}
			l := s.died(nil, limits, time.Now())
			if l.Event != event || task.Legal(l.Event, l.From, l.To) != nil {
				t.Errorf("after %d restarts: %s to %s", restarts, l.Event, l.To)
			}
		}
	}
}

func TestPutOff(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 24: time.Hour, 25: 2 * time.Hour,
		28: 16 * time.Hour, 29: 24 * time.Hour, 64: 24 * time.Hour, 1 << 30: 24 * time.Hour,
	} {
		if got := putOff(n); got != want {
			t.Errorf("the %d. time: %s, want %s", n, got, want)
		}
	}
}

func TestBackoff(t *testing.T) {
	const quarter, most = 15 * time.Minute, 4 * time.Hour
	for failures, want := range map[int]map[int]time.Duration{ // by max_attempts
		1:       {2: beforeLast, 3: quarter, 4: quarter, 1 << 30: quarter},
		2:       {3: beforeLast, 4: 2 * quarter},
		5:       {6: beforeLast, 7: most},
		99:      {100: beforeLast, 1000: most},
		1 << 29: {1 << 30: most},
	} {
		for attempts, want := range want {
			if got := backoff(failures, attempts); got != want {
				t.Errorf("after %d failures of %d: %s, want %s", failures, attempts, got, want)
			}
		}
	}
}

func TestParse(t *testing.T) {
	id := strings.Repeat("a", 32)
	file := effect[:len(effect)-1] + `,"task":{"id":"` + id + `","kind":"effect","created":"2026-11-21T07:00:00Z"}}` + "\n"
	s := Stored{Task: task.Task{ID: id}}
	if err := s.Parse([]byte(file)); err != nil || s.Task.Digest != task.Digest([]byte(file)) || s.Kind() != task.Effect || !s.Outward() {
		t.Errorf("%+v, %v", s.Task, err)
	}
	for _, bad := range []string{
		"", "\x00", "{}", file[:len(file)-5], strings.Replace(file, id, strings.Repeat("b", 32), 1), strings.Replace(file, `"kind":"effect"`, `"kind":"thing"`, 1),
		strings.Replace(file, `"outcome":"require_owner_confirmation"`, `"outcome":"sure"`, 1), file + file,
	} {
		s := Stored{Task: task.Task{ID: id}}
		if err := s.Parse([]byte(bad)); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}
