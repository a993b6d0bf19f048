package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/record"
)

// TestTable checks what must be true of any table of transitions.
func TestTable(t *testing.T) {
	all := append([]State{none}, States...)
	for e := range table {
		for _, from := range all {
			for _, to := range all {
				legal := Legal(e, from, to) == nil
				switch {
				case !legal:
				case from == none && e != Added && e != Refused:
					t.Errorf("%s makes a task out of nothing", e)
				case to == none && e != Refused && e != Pruned:
					t.Errorf("%s makes a task vanish", e)
				case to == Running && (from != Scheduled || e != Started):
					t.Errorf("%s starts a task from %s", e, from)
				case from == Completed && e != Broke && e != Requeued && e != Continued && e != Pruned:
					t.Errorf("%s moves a completed task to %s", e, to)
				case from == Corrupt:
					t.Errorf("%s moves a corrupt task", e)
				case from == to && from != none && e != Learned: // which says why it waits
					t.Errorf("%s moves nothing", e)
				}
			}
		}
	}
	for _, e := range []Event{"", "moved", "Added"} {
		if Legal(e, none, Scheduled) == nil {
			t.Errorf("%q is an event", e)
		}
	}
}

// TestEveryStateHasAWayInAndOut: no task is stuck in a state, except a corrupt one.
func TestEveryStateHasAWayInAndOut(t *testing.T) {
	for _, st := range States {
		in, out := false, false
		for _, row := range table {
			in = in || slices.Contains(row.to, st)
			out = out || slices.Contains(row.from, st)
		}
		if !in || !out && st != Corrupt {
			t.Errorf("%s: in %v, out %v", st, in, out)
		}
	}
}

// TestCompletedIsNeverStarted: a completed task can start again only after a person
// requeues it, or by continued, which is for asks (queue.Tx).
func TestCompletedIsNeverStarted(t *testing.T) {
	reached := map[State]bool{Completed: true}
	for range States {
		for e, row := range table {
			for _, from := range row.from {
				if reached[from] && e != Requeued && e != Continued && e != Pruned { // a pruned id stays taken for ever
					for _, to := range row.to {
						reached[to] = true
					}
				}
			}
		}
	}
	if reached[Running] || reached[Scheduled] {
		t.Errorf("reached from completed: %v", reached)
	}
}

func TestIDs(t *testing.T) {
	sum := sha256.Sum256([]byte("4:mail,8:verified,14:me@example.com,5:<a@b>,"))
	if got, want := MailID(true, "me@example.com", "<a@b>"), hex.EncodeToString(sum[:])[:32]; got != want {
		t.Errorf("%s, want the netstrings' %s", got, want)
	}
	// Different lists of fields give different ids, and no kind passes for another.
	seen := map[string]string{}
	for _, fields := range [][]string{
		{"mail", "verified", "a", "b"}, {"mail", "unverified", "a", "b"}, {"mail", "verified", "ab", ""},
		{"mail", "verified", "", "ab"}, {"mail", "verified", "1:a", "b"}, {"mail", "verified", "a,1:b", ""},
		{"effect", "verified", "a", "b"}, {"mail", "verifieda", "b"}, {"mail,8:verified", "a", "b"}, {}, {""}, {"", ""},
		{"mail", "verified", "a\x00", "b"}, {"mail", "verified", "a", "\x00b"},
	} {
		name := fmt.Sprintf("%q", fields)
		h := id(fields...)
		if !ValidID(h) || seen[h] != "" {
			t.Errorf("%s and %s are both %s", name, seen[h], h)
		}
		seen[h] = name
	}
	if EffectID("r", []byte("{}"), 1) == EffectID("r", []byte("{}"), 11) || EffectID("r1", []byte("{}"), 1) == EffectID("r", []byte("1{}"), 1) {
		t.Error("effects run together")
	}
	if a := RandomID(); !ValidID(a) || a == RandomID() {
		t.Error(a)
	}
}

func TestValidID(t *testing.T) {
	for s, want := range map[string]bool{
		strings.Repeat("a", 32): true, strings.Repeat("0", 31): false, strings.Repeat("A", 32): false,
		strings.Repeat("g", 32): false, "": false, "../" + strings.Repeat("a", 29): false, strings.Repeat("a", 31) + "\n": false,
	} {
		if ValidID(s) != want {
			t.Errorf("ValidID(%q) = %v", s, !want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	now := time.Date(2026, 11, 21, 7, 0, 0, 123456789, time.UTC)
	link := Link{Answers: strings.Repeat("b", 32), Thread: strings.Repeat("c", 32)}
	tk := Task{ID: strings.Repeat("a", 32), Kind: Effect, State: Running, Digest: Digest(nil), Created: now, Link: link,
		Change: Change{Since: now, Attempts: 2, Deferred: 1, Restarts: 1, NotBefore: now.Add(time.Hour), Reason: "why \"not\"\n", Told: now.Add(time.Minute)}}
	fixed, err := DecodeFixed(record.Value(tk.AppendFixed(nil)))
	if err != nil || fixed.ID != tk.ID || fixed.Kind != tk.Kind || fixed.Link != link || !fixed.Created.Equal(now) {
		t.Errorf("%+v, %v", fixed, err)
	}
	if change, err := DecodeChange(record.Value(tk.Change.Append(nil))); err != nil || change != tk.Change {
		t.Errorf("%+v, %v", change, err)
	}
	if bytes.Contains(tk.AppendFixed(nil), []byte("state")) {
		t.Error("a task file tells its state")
	}
	half := `{"id":"` + tk.ID + `","kind":"ask","answers":"` + tk.ID + `"`
	for _, bad := range []string{half + `}`, half + `,"thread":"x"}`, half + `,"thread":1}`, `{}`, `{"id":"x","kind":"ask"}`, `{"id":"` + tk.ID + `","kind":"Ask"}`, `{"id":1}`, `[]`} {
		if _, err := DecodeFixed(record.Value(bad)); err == nil {
			t.Errorf("%s is a task", bad)
		}
	}
}
