package entry_test

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

var epoch = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

func FuzzEntry(f *testing.F) {
	e := store.Entry{
		ID: "0123456789abcdef0123456789abcdef", State: task.Running, Digest: "fedcba9876543210fedcba9876543210",
		Action: terms.CodeOrComputer, Kind: task.Effect, Sender: store.KeyOf("me@example.com"), Since: epoch, NotBefore: epoch.Add(time.Hour),
	}
	f.Add(entry.Append(nil, &e))
	e.Kind, e.External, e.Message, e.NotBefore, e.State = task.Ask, true, true, time.Time{}, task.Scheduled
	f.Add(entry.Append(nil, &e))
	e.State, e.Told = task.Awaiting, epoch.Add(72*time.Hour)
	f.Add(entry.Append(nil, &e))
	f.Add([]byte("a 0123456789abcdef0123456789abcdef fedcb876543210 code_or_computer\xd9 O\x8c\ueffae5k\xe4.=\x9b\xfa\xa1\xc5\x03   a x 8c2a47d3bdb8d309 1795244400!1795503600\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := entry.Parse(b)
		if !ok {
			return
		}
		line := entry.Append(nil, &e)
		if len(line) != entry.Width {
			t.Fatalf("%d bytes: %q", len(line), line)
		}
		if again, ok := entry.Parse(line); !ok || again != e {
			t.Fatalf("%+v came back as %+v", e, again)
		}
	})
}

// TestEntryFits: whatever stands in the log, a line has its width.
func TestEntryFits(t *testing.T) {
	long := string(make([]byte, 300))
	l := audit.Line{
		Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), Task: "0123456789abcdef0123456789abcdef", To: task.Scheduled,
		Digest: "sha256:" + long, Action: terms.Action(long), Sender: long, Source: long,
		Change: task.Change{NotBefore: time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC)},
	}
	e := store.EntryOf(&l)
	if line := entry.Append(nil, &e); len(line) != entry.Width || line[entry.Width-1] != '\n' {
		t.Errorf("%d bytes: %q", len(line), line)
	}
}

// TestActionOfAnyLength: a line tells every action from all others,
// however long they are and however alike they begin.
func TestActionOfAnyLength(t *testing.T) {
	words := append([]terms.Action{
		"code_or_computers", "code_or_computer_use", "code_or_computer_see", "c", terms.Action(strings.Repeat("long_", 40)),
	}, terms.Actions...)
	for _, word := range words {
		l := audit.Line{Time: epoch, Task: "0123456789abcdef0123456789abcdef", To: task.Scheduled, Action: word, Sender: "me@example.com"}
		e := store.EntryOf(&l)
		line := entry.Append(nil, &e)
		read, ok := entry.Parse(line)
		if !ok || len(line) != entry.Width || read.Sender != e.Sender || word.Valid() && read.Action != word {
			t.Errorf("%s: %q is %+v", word, line, read)
		}
		for _, other := range words {
			if read.Is(other) != (other == word) {
				t.Errorf("%s is %s: %t", word, other, read.Is(other))
			}
		}
	}
}
