package store_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

const (
	one   = "11111111111111111111111111111111"
	two   = "22222222222222222222222222222222"
	hash  = "sha256:f11e"
	other = "sha256:0ff0"
)

// show says what a line changes in one text: `shelf < from`, `=` bytes, `!` those of a
// person, `# ` digest, `[` lines, `- ` an effect, and `gone`. The key is left out where it
// is the task's.
func show(l *audit.Line) string {
	var all []string
	for _, c := range store.Changes(l) {
		s := string(c.Shelf)
		if c.Key != l.Task {
			s += "/" + c.Key
		}
		switch {
		case c.From != "":
			s += " < " + string(c.From)
		case c.Bytes != nil:
			s += " ="
		case c.Digest != "":
			s += " # " + c.Digest
		case c.Lines != nil:
			s += fmt.Sprintf(" [%d]", len(c.Lines))
		case c.Less != "":
			s += " - " + c.Less
		}
		if c.Gone() {
			s += " gone"
		}
		if c.Answer {
			s += "!"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

// transitions are what the line of each legal one changes, with nothing else in it.
var transitions = map[string]string{
	"added >scheduled":                        "scheduled # sha256:f11e",
	"added >awaiting_review":                  "awaiting_review # sha256:f11e",
	"refused >":                               "refused # sha256:f11e",
	"approved awaiting_review>scheduled":      "scheduled < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"denied awaiting_review>rejected":         "rejected < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"started scheduled>running":               "running < scheduled, meta =, spent < approvals",
	"finished running>completed":              "completed < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"extracted running>scheduled":             "scheduled < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"retried running>scheduled":               "scheduled < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"gave_up running>failed":                  "failed < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"restarted running>scheduled":             "scheduled < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"undecided running>awaiting_review":       "awaiting_review < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"restored running>scheduled":              "scheduled < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"parked scheduled>awaiting_review":        "awaiting_review < scheduled, meta =, approvals gone, spent gone, partly gone",
	"parked running>awaiting_review":          "awaiting_review < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"dropped scheduled>rejected":              "rejected < scheduled, meta =, approvals gone, spent gone, partly gone",
	"dropped awaiting_review>rejected":        "rejected < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"expired awaiting_review>rejected":        "rejected < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"cancelled scheduled>rejected":            "rejected < scheduled, meta =, approvals gone, spent gone, partly gone",
	"cancelled running>rejected":              "rejected < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"closed scheduled>rejected":               "rejected < scheduled, meta =, approvals gone, spent gone, partly gone",
	"closed awaiting_review>rejected":         "rejected < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"carried_out scheduled>completed":         "completed < scheduled, meta =, approvals gone, spent gone, partly gone",
	"learned scheduled>awaiting_review":       "awaiting_review < scheduled, meta =, approvals gone, spent gone, partly gone",
	"learned scheduled>completed":             "completed < scheduled, meta =, approvals gone, spent gone, partly gone",
	"learned scheduled>rejected":              "rejected < scheduled, meta =, approvals gone, spent gone, partly gone",
	"learned scheduled>failed":                "failed < scheduled, meta =, approvals gone, spent gone, partly gone",
	"learned awaiting_review>awaiting_review": "meta =, approvals gone, spent gone, partly gone",
	"learned awaiting_review>completed":       "completed < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"learned awaiting_review>rejected":        "rejected < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"learned awaiting_review>failed":          "failed < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"learned running>awaiting_review":         "awaiting_review < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"learned running>completed":               "completed < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"learned running>rejected":                "rejected < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"learned running>failed":                  "failed < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"requeued failed>scheduled":               "scheduled < failed, meta =, approvals gone, spent gone, partly gone",
	"requeued rejected>scheduled":             "scheduled < rejected, meta =, approvals gone, spent gone, partly gone",
	"requeued completed>scheduled":            "scheduled < completed, meta =, approvals gone, spent gone, partly gone",
	"continued completed>scheduled":           "scheduled < completed, meta =, approvals gone, spent gone, partly gone",
	"pruned completed>":                       "pruned =, completed gone, meta gone, results gone, extracts gone, approvals gone, spent gone, partly gone",
	"pruned rejected>":                        "pruned =, rejected gone, meta gone, results gone, extracts gone, approvals gone, spent gone, partly gone",
	"pruned failed>":                          "pruned =, failed gone, meta gone, results gone, extracts gone, approvals gone, spent gone, partly gone",
	"broke scheduled>corrupt":                 "corrupt < scheduled, meta =, approvals gone, spent gone, partly gone",
	"broke awaiting_review>corrupt":           "corrupt < awaiting_review, meta =, approvals gone, spent gone, partly gone",
	"broke running>corrupt":                   "corrupt < running, results gone, meta =, approvals gone, spent gone, partly gone",
	"broke completed>corrupt":                 "corrupt < completed, meta =, approvals gone, spent gone, partly gone",
	"broke rejected>corrupt":                  "corrupt < rejected, meta =, approvals gone, spent gone, partly gone",
	"broke failed>corrupt":                    "corrupt < failed, meta =, approvals gone, spent gone, partly gone",
}

// legal returns a line of each legal transition of a task.
func legal() (lines []audit.Line) {
	states := append([]task.State{""}, task.States...)
	for _, e := range task.Events {
		for _, from := range states {
			for _, to := range states {
				if task.Legal(e, from, to) == nil {
					lines = append(lines, audit.Line{Time: now, Event: e, Task: one, From: from, To: to, Digest: hash})
				}
			}
		}
	}
	return lines
}

// TestTransitions: each legal one, and each event of a task, changes what is said here.
func TestTransitions(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range legal() {
		name := fmt.Sprintf("%s %s>%s", l.Event, l.From, l.To)
		if seen[name] = true; show(&l) != transitions[name] {
			t.Errorf("%q: %q,", name, show(&l))
		}
	}
	for name := range transitions {
		if !seen[name] {
			t.Errorf("%q is not legal", name)
		}
	}
}

// TestTaskIsInOnePlace: a legal transition leaves its file on the shelf of the state
// that it leads to, and nowhere else; and the last state of what was pruned is known.
func TestTaskIsInOnePlace(t *testing.T) {
	for _, l := range legal() {
		lies := map[store.Shelf]string{}
		if l.From != "" {
			lies[store.On(l.From)] = "file"
		}
		for _, c := range store.Changes(&l) {
			switch {
			case c.From != "":
				lies[c.Shelf] = lies[c.From]
				delete(lies, c.From)
			case c.Gone():
				delete(lies, c.Shelf)
			case c.Digest == l.Digest:
				lies[c.Shelf] = "file"
			default:
				lies[c.Shelf] = string(c.Bytes)
			}
		}
		for _, st := range task.States {
			if want := map[bool]string{true: "file"}[st == l.To]; lies[store.On(st)] != want {
				t.Errorf("%s from %q to %q: %v", l.Event, l.From, l.To, lies)
			}
		}
		if want := map[bool]task.State{true: l.From}[l.Event == task.Pruned]; lies[store.Pruned] != string(want) {
			t.Errorf("%s from %q: %v", l.Event, l.From, lies)
		}
	}
}

// yes is an approval, made of grants or not.
func yes(grants ...approval.Grant) *approval.Approval {
	return &approval.Approval{Task: one, By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(time.Hour), Grants: grants}
}

// given, opened are a grant and a session.
func given() *approval.Grant {
	return &approval.Grant{ID: "a1", Target: "bob@partner.example", By: "me", Level: approval.Terminal, Given: now, Expires: now.Add(time.Hour)}
}

func opened(left int, level approval.Level) *approval.Session {
	return &approval.Session{ID: "b1", Sender: "me@example.com", Max: 3, Left: left, By: "me", Level: level, Opened: now, Expires: now.Add(time.Hour)}
}

// special are lines with more in them, and those of the other events.
var special = []struct {
	line audit.Line
	want string
}{
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, Change: task.Change{NotBefore: now}},
		"scheduled # sha256:f11e, meta =, approvals gone, spent gone"},
	{audit.Line{Event: task.Added, Task: one, To: task.Awaiting, Digest: hash, Change: task.Change{Reason: store.ReasonSessionSpent}},
		"awaiting_review # sha256:f11e, meta =, approvals gone, spent gone"},
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, Parent: two}, "outbox/" + two + " - " + one + ", scheduled # sha256:f11e"},
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, Parent: "somebody"}, "scheduled # sha256:f11e"},
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, KnownAs: two}, "scheduled # sha256:f11e, names/" + two + " ="},
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, KnownAs: "../x"}, "scheduled # sha256:f11e"},
	{audit.Line{Event: task.Approved, Task: one, From: task.Awaiting, To: task.Scheduled, Approval: yes(), KnownAs: two},
		"scheduled < awaiting_review, meta =, approvals =!, spent gone"},
	{audit.Line{Event: task.Refused, Task: one, Parent: two}, "outbox/" + two + " - " + one},
	{audit.Line{Event: audit.Settled, Task: one, Parent: two}, "outbox/" + two + " - " + one},
	{audit.Line{Event: audit.Noted, Task: one, Parent: two}, ""},
	{audit.Line{Event: audit.Labelled, Task: one, Labels: label.Of(terms.Unknown)}, "labels ="},
	{audit.Line{Event: task.Approved, Task: one, From: task.Awaiting, To: task.Scheduled, Approval: yes()},
		"scheduled < awaiting_review, meta =, approvals =!, spent gone"},
	{audit.Line{Event: task.Approved, Task: one, From: task.Awaiting, To: task.Scheduled, Approval: yes(*given())},
		"scheduled < awaiting_review, meta =, approvals =, spent gone"},
	{audit.Line{Event: task.Requeued, Task: one, From: task.Failed, To: task.Scheduled, Approval: yes()},
		"scheduled < failed, meta =, approvals =!, spent gone, partly gone"},
	{audit.Line{Event: task.Restored, Task: one, From: task.Running, To: task.Scheduled, Approval: yes()},
		"scheduled < running, results gone, meta =, approvals =, spent gone"},
	{audit.Line{Event: task.Started, Task: one, From: task.Scheduled, To: task.Running, Approval: yes()},
		"running < scheduled, meta =, approvals =, spent gone"},
	{audit.Line{Event: task.Finished, Task: one, From: task.Running, To: task.Completed, Result: other},
		"completed < running, results # sha256:0ff0, meta =, approvals gone, spent gone, partly gone"},
	{audit.Line{Event: task.Extracted, Task: one, From: task.Running, To: task.Scheduled, Result: other, Approval: yes()},
		"scheduled < running, extracts # sha256:0ff0, results gone, meta =, approvals =, spent gone"},
	{audit.Line{Event: task.Parked, Task: one, From: task.Running, To: task.Awaiting, Result: other},
		"awaiting_review < running, results # sha256:0ff0, meta =, approvals gone, spent gone, partly gone"},
	{audit.Line{Event: task.Finished, Task: one, From: task.Running, To: task.Completed, Proposed: []audit.Proposed{{ID: two, Digest: other}}},
		"outbox [1], completed < running, results gone, meta =, approvals gone, spent gone, partly gone"},
	{audit.Line{Event: task.Carried, Task: one, From: task.Scheduled, To: task.Completed, Result: other},
		"completed < scheduled, drafts # sha256:0ff0, meta =, approvals gone, spent gone, partly gone"},
	{audit.Line{Event: audit.Granted, Grant: given()}, "grants/a1 =!"},
	{audit.Line{Event: audit.Revoked, Grant: given()}, "grants/a1 gone"},
	{audit.Line{Event: audit.Consumed, Task: one, Grant: given()}, "grants/a1 gone"},
	{audit.Line{Event: audit.Granted}, ""},
	{audit.Line{Event: audit.Revoked}, ""},
	{audit.Line{Event: audit.Consumed}, ""},
	{audit.Line{Event: audit.SessionOpened, Session: opened(3, approval.Terminal)}, "sessions/b1 =!"},
	{audit.Line{Event: audit.SessionUsed, Task: one, Session: opened(2, approval.Terminal)}, "sessions/b1 ="},
	{audit.Line{Event: audit.SessionUsed, Task: one, Session: opened(0, approval.Terminal)}, "sessions/b1 gone"},
	{audit.Line{Event: audit.SessionUsed, Task: one, Session: opened(0, approval.Signature)}, "sessions/b1 ="},
	{audit.Line{Event: audit.SessionEnded, Session: opened(2, approval.Signature)}, "sessions/b1 gone"},
	{audit.Line{Event: audit.SessionEnded}, ""},
	{audit.Line{Event: audit.Held, By: "me"}, "hold ="},
	{audit.Line{Event: audit.Released, By: "me"}, "hold gone"},
	{audit.Line{Event: audit.Read, Positions: []audit.Position{{Source: "s"}, {Source: "r"}}},
		"positions/" + store.PositionKey("s") + " =, positions/" + store.PositionKey("r") + " ="},
	{audit.Line{Event: task.Added, Task: one, To: task.Scheduled, Digest: hash, Parent: two, Positions: []audit.Position{{Source: "s"}}},
		"outbox/" + two + " - " + one + ", positions/" + store.PositionKey("s") + " =, scheduled # sha256:f11e"},
	{audit.Line{Event: audit.ClockJumped, Before: now}, "clock ="},
	{audit.Line{Event: audit.ClockConfirmed, By: "me"}, "clock ="},
	{audit.Line{Event: audit.Discarded, Task: one, Count: 3}, ""},
	{audit.Line{Event: audit.Forgotten, Task: one, Size: 7}, "refused gone"},
	{audit.Line{Event: task.Refused, Task: one, NotKept: "full"}, ""},
	{audit.Line{Event: audit.Ended, Task: one, End: &audit.End{Exit: -1, Said: "no luck"}}, ""},
	{audit.Line{Event: audit.Judged, Task: one, Tool: "exec", Action: terms.CodeOrComputer, Outcome: terms.Reject, Count: 3}, ""},
	{audit.Line{Event: audit.Limited}, ""},
	{audit.Line{Event: audit.Partly, Task: one, Approval: yes()}, "partly =!"},
	{audit.Line{Event: audit.Partly, Task: one}, ""},
	{audit.Line{Event: audit.Resurfaced, Task: one, Change: task.Change{Since: now, Told: now}}, "meta ="},
	{audit.Line{Event: audit.Repaired}, ""},
	{audit.Line{Event: audit.Resumed, By: "me"}, ""},
	{audit.Line{Event: audit.Withheld}, ""},
	{audit.Line{Event: audit.Found, Finding: &audit.Finding{What: audit.FindingOpened, Code: "c", About: "a"}}, "findings/" + store.FindingKey("c", "a") + " ="},
	{audit.Line{Event: audit.Found, Finding: &audit.Finding{What: audit.FindingClosed, Code: "c"}}, "findings/" + store.FindingKey("c", "") + " gone"},
	{audit.Line{Event: audit.Found}, ""},
}

// TestChanges: an event that is not of a task changes what is said here.
func TestChanges(t *testing.T) {
	seen := map[task.Event]bool{}
	for _, c := range special {
		c.line.Time = now
		if seen[c.line.Event] = true; show(&c.line) != c.want {
			t.Errorf("%s\nchanges %q,\nwant    %q", c.line.Append(nil), show(&c.line), c.want)
		}
	}
	for _, e := range audit.Events {
		if !seen[e] {
			t.Errorf("%s is an event, and nothing here says what it changes", e)
		}
	}
}

// TestChangesHold what they say they do: the bytes are those of the line's own parts.
func TestChangesHold(t *testing.T) {
	back := audit.Line{Event: task.Retried, Task: one, From: task.Running, To: task.Scheduled, Approval: yes()}
	back.Change = task.Change{Attempts: 2, NotBefore: now.Add(time.Hour), Reason: "r"}
	lines := []audit.Line{back, {Event: task.Pruned, Task: one, From: task.Failed}}
	for _, c := range special {
		lines = append(lines, c.line)
	}
	for _, l := range lines {
		l.Time = now
		for _, c := range store.Changes(&l) {
			var want []byte
			switch change := l.Change; c.Shelf {
			case store.Meta:
				change.Since = now
				want = change.Append(nil)
			case store.Approvals, store.Partly:
				if l.Approval != nil {
					want = l.Approval.Append(nil)
				}
			case store.Pruned:
				want = []byte(l.From)
			case store.Names:
				want = []byte(l.Task)
			case store.Hold, store.Clocks:
				want = l.Append(nil)
			case store.Grants:
				want = l.Grant.Append(nil)
			case store.Sessions:
				want = l.Session.Append(nil)
			case store.Findings:
				want = l.Finding.Append(nil)
			case store.Labels:
				want = []byte(`{"labels":[{"label":"untrusted","by":"unknown"}]}`)
			case store.Positions:
				at := slices.IndexFunc(l.Positions, func(p audit.Position) bool { return store.PositionKey(p.Source) == c.Key })
				want = l.Positions[at].Append(nil)
			}
			if c.Bytes != nil && !bytes.Equal(c.Bytes, want) {
				t.Errorf("%s: %s, want %s", c.Shelf, c.Bytes, want)
			}
		}
	}
}

// same makes sure that a line changes the same each time, as it was committed and as it
// is read from the log, and is not changed itself.
func same(t *testing.T, l *audit.Line) []store.Change {
	t.Helper()
	raw := l.Append(nil)
	list := store.Changes(l)
	read, err := audit.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	if again := store.Changes(l); !reflect.DeepEqual(again, list) || !bytes.Equal(l.Append(nil), raw) {
		t.Errorf("%s changes %+v and then %+v", raw, list, again)
	}
	if again := store.Changes(&read); !reflect.DeepEqual(again, list) {
		t.Errorf("%s changes %+v, and once it was written %+v", raw, list, again)
	}
	return list
}

func TestChangesArePure(t *testing.T) {
	for _, l := range legal() {
		l.Approval, l.Result, l.Parent = yes(), other, two
		same(t, &l)
	}
	for _, c := range special {
		c.line.Time = now
		same(t, &c.line)
	}
	s := queuetest.NewMemory()
	for _, op := range queuetest.Life {
		if err := op.Do(s, now); err != nil {
			t.Fatal(op.Name, err)
		}
	}
	for _, l := range s.Log() {
		same(t, &l)
	}
}

// FuzzChanges: any line that can be read changes something or nothing, the same each
// time; and no two things that contradict each other, if its transition is legal.
func FuzzChanges(f *testing.F) {
	for _, l := range legal() {
		f.Add(l.Append(nil))
	}
	for _, c := range special {
		f.Add(c.line.Append(nil))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := audit.Parse(raw)
		if err != nil {
			return
		}
		list := store.Changes(&l)
		if again := store.Changes(&l); !reflect.DeepEqual(again, list) {
			t.Errorf("%+v and then %+v", list, again)
		}
		transition := l.Moves() || slices.Contains(task.Events, l.Event)
		if transition && task.Legal(l.Event, l.From, l.To) != nil {
			return
		}
		type place struct{ shelf, key string }
		said := map[place]bool{}
		for _, c := range list {
			if said[place{string(c.Shelf), c.Key}] && c.Shelf != store.Positions || c.From == c.Shelf {
				t.Errorf("%s/%s twice: %+v", c.Shelf, c.Key, list)
			}
			said[place{string(c.Shelf), c.Key}] = true
			said[place{string(c.From), c.Key}] = c.From != ""
			n := 0
			for _, is := range []bool{c.From != "", c.Bytes != nil, c.Digest != "", c.Lines != nil, c.Less != ""} {
				if is {
					n++
				}
			}
			if n > 1 || c.Gone() != (n == 0) || c.Answer && c.Bytes == nil {
				t.Errorf("%+v", c)
			}
		}
	})
}
