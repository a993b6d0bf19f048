package pull

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/https"
	"pulse/lib/fetch/source"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// box is a mailbox in memory. bad says how often, and how, a message fails.
type box struct {
	items []Item
	bad   map[string]func() error
	got   []string
}

func (b *box) Open(context.Context) error                      { return nil }
func (b *box) Newest(_ context.Context, n int) ([]Item, error) { return slices.Clone(b.items), nil }
func (b *box) Since(_ context.Context, t time.Time) (list []Item, err error) {
	for _, it := range b.items {
		if !it.Received.Before(t) {
			list = append(list, it)
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, nil
}

func (b *box) Get(_ context.Context, it *Item, m *source.Message) error {
	b.got = append(b.got, it.ID)
	if f := b.bad[it.ID]; f != nil {
		return f()
	}
	return nil
}

// queue is what a queue keeps of a source: its position, moved as queue.Tx moves it.
type queue struct {
	audit.Position
	known bool
	clock time.Time // of the runs, zero for now
}

func (q *queue) add(m *source.Message) {
	p := audit.Position{UIDValidity: m.UIDValidity, UID: m.UID, Received: m.Received}
	back := p.Received.Before(q.Received)
	if q.UIDValidity == p.UIDValidity {
		back = q.UID >= p.UID
	}
	if m.UID != 0 && (!q.known || !back) {
		q.Position, q.known = p, true
	}
}

// fetch is one run; it stops after so many messages.
func (q *queue) fetch(t *testing.T, b Box, limit, stop int) (ids []string, err error) {
	t.Helper()
	clock := q.clock
	if clock.IsZero() {
		clock = now
	}
	s := &Mailbox{Name: "test:", Client: &https.Client{}, Box: b, From: source.Start{Resume: true, Known: q.known, Position: q.Position, Limit: limit, Now: clock}}
	enough := errors.New("enough")
	err = s.Each(t.Context(), func(m *source.Message) error {
		if len(ids) == stop {
			return enough
		}
		name := m.Name
		if m.Unavailable != nil {
			name += "!"
		}
		ids = append(ids, name)
		q.add(m)
		return nil
	})
	if err == enough {
		err = nil
	}
	return ids, err
}

func at(id string, ago time.Duration) Item { return Item{ID: id, Received: now.Add(-ago)} }

func ids(list ...string) string { return strings.Join(list, " ") }

// steps: each adds and removes messages, and says what the next run gives.
func TestPositions(t *testing.T) {
	b, q := &box{}, &queue{}
	for _, step := range []struct {
		name   string
		add    []Item
		remove string
		limit  int
		want   string
	}{
		{"first run", []Item{at("old", 49*time.Hour), at("a", time.Hour), at("b", 30*time.Minute)}, "", 0, "a b"},
		{"nothing new", nil, "", 0, ""},
		{"one more", []Item{at("c", 29*time.Minute)}, "", 0, "c"},
		{"in the same second", []Item{at("b2", 29*time.Minute)}, "", 0, "b c b2"}, // b and c lie in the overlap
		{"nothing new again", nil, "", 0, ""},
		{"one removed", nil, "b", 0, "b2 c"},
		{"nothing new after that", nil, "", 0, ""},
		{"late, within the overlap", []Item{at("late", 31*time.Minute)}, "", 0, "late b2 c"},
		{"and only once", nil, "", 0, ""},
		{"later than that is missed", []Item{at("toolate", 3*time.Hour)}, "", 0, ""},
		{"limit", []Item{at("d", 20*time.Minute), at("e", 20*time.Minute), at("f", 20*time.Minute)}, "", 1, "d"},
		{"limit goes on", nil, "", 1, "e"},
		{"limit goes on", nil, "", 1, "f"},
		{"limit, nothing", nil, "", 1, ""},
		{"what is given again does not count", []Item{at("g", 19*time.Minute), at("h", 18*time.Minute)}, "e", 1, "d f g"},
		{"and then the next", nil, "", 1, "h"},
		{"from the future", []Item{at("z", -time.Hour), at("i", 10*time.Minute)}, "", 0, "i z"},
		{"only that again", nil, "", 0, "z"},
		{"and what is new", []Item{at("j", 2*time.Minute)}, "z", 0, "j"},
	} {
		b.items = slices.DeleteFunc(append(b.items, step.add...), func(it Item) bool { return it.ID == step.remove })
		got, err := q.fetch(t, b, step.limit, -1)
		slices.Sort(got)
		want := strings.Fields(step.want)
		slices.Sort(want)
		if err != nil || ids(got...) != ids(want...) {
			t.Fatalf("%s: %q, %v, want %q", step.name, got, err, want)
		}
	}
}

// TestNothingIsLost: whatever is delivered, removed, cut short and limited, every message that
// gets into the mailbox at most overlap late, and stays, is given, whatever lies ahead of the
// clock; and a quiet mailbox gives nothing again.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		b, q, seen := &box{}, &queue{}, map[string]bool{}
		clock := now.Add(-10 * time.Hour)
		for i := range 60 {
			clock = clock.Add(time.Duration(r.IntN(200)) * time.Second)
			for range r.IntN(4) {
				late := time.Duration(r.IntN(int(overlap/time.Second))) * time.Second
				if r.IntN(4) == 0 {
					late -= 2 * overlap
				}
				b.items = append(b.items, Item{ID: fmt.Sprintf("m%d-%d", i, len(b.items)), Received: clock.Add(-late)})
			}
			if len(b.items) > 0 && r.IntN(4) == 0 {
				k := r.IntN(len(b.items))
				seen[b.items[k].ID] = true // gone: nobody misses it
				b.items = slices.Delete(b.items, k, k+1)
			}
			q.clock = clock
			list, err := q.fetch(t, b, r.IntN(4), r.IntN(6)-1)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range list {
				seen[id] = true
			}
		}
		q.clock = now
		for range 2 * len(b.items) {
			list, err := q.fetch(t, b, 1, -1)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range list {
				seen[id] = true
			}
		}
		for _, it := range b.items {
			if !seen[it.ID] {
				t.Fatalf("seed %d: %s of %v was lost", seed, it.ID, it.Received)
			}
		}
		if list, _ := q.fetch(t, b, 0, -1); len(list) > 0 {
			t.Fatalf("seed %d: again %q", seed, list)
		}
	}
}

// TestFuturePosition: a position whose time is still to come is as if it were now.
func TestFuturePosition(t *testing.T) {
	b := &box{items: []Item{at("old", time.Hour), at("a", time.Minute)}}
	q := &queue{Position: audit.Position{UIDValidity: timed, UID: 9, Received: now.AddDate(10, 0, 0)}, known: true}
	if got, err := q.fetch(t, b, 0, -1); err != nil || ids(got...) != "a" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestNewest: without a queue, the newest come, oldest first.
func TestNewest(t *testing.T) {
	b := &box{}
	for i := range 15 {
		b.items = append(b.items, at(fmt.Sprintf("m%02d", i), time.Duration(15-i)*time.Hour))
	}
	for limit, want := range map[int]string{0: "m05 m06 m07 m08 m09 m10 m11 m12 m13 m14", 2: "m13 m14"} {
		var got []string
		s := &Mailbox{Name: "test:", Client: &https.Client{}, Box: b, From: source.Start{Limit: limit, Now: now}}
		if err := s.Each(t.Context(), func(m *source.Message) error { got = append(got, m.Name); return nil }); err != nil || ids(got...) != want {
			t.Errorf("limit %d: %q, %v", limit, got, err)
		}
	}
}

// TestOneMessageNeverStops: as with IMAP, a message on which the server fails twice is given up
// once it has served another; if it serves none, nothing is passed over.
func TestOneMessageNeverStops(t *testing.T) {
	always := func(err error) func() error { return func() error { return err } }
	once := func(err error) func() error {
		n := 0
		return func() error {
			if n++; n == 1 {
				return err
			}
			return nil
		}
	}
	ill := https.Broken("a message that is not as long as the server says")
	for _, tt := range []struct {
		name string
		n    int
		bad  map[string]func() error
		want string
		kind fault.Kind
	}{
		{"well", 3, nil, "m0 m1 m2", 0},
		{"once", 3, map[string]func() error{"m1": once(ill)}, "m0 m1 m2", 0},
		{"first", 3, map[string]func() error{"m0": always(ill)}, "m0! m1 m2", 0},
		{"middle", 3, map[string]func() error{"m1": always(io.ErrUnexpectedEOF)}, "m0 m1! m2", 0},
		{"last", 3, map[string]func() error{"m2": always(&https.Status{Code: 500})}, "m0 m1 m2!", 0},
		{"the only one", 1, map[string]func() error{"m0": always(ill)}, "m0!", 0},
		{"all", 2, map[string]func() error{"m0": always(ill), "m1": always(ill)}, "m0! m1!", 0}, // the mailbox has no other
		{"unauthorized", 3, map[string]func() error{"m1": always(&https.Status{Code: 401})}, "m0", fault.Failed},
		{"too many requests", 3, map[string]func() error{"m1": always(&https.Status{Code: 429, After: time.Minute})}, "m0", fault.Temporary},
		{"gone", 3, map[string]func() error{"m1": always(ErrGone)}, "m0 m2", fault.Temporary},
		{"not there", 3, map[string]func() error{"m1": always(ErrSkip)}, "m0 m2", 0},
	} {
		b, q := &box{bad: tt.bad}, &queue{}
		for i := range tt.n {
			b.items = append(b.items, at(fmt.Sprintf("m%d", i), time.Duration(10-i)*time.Minute))
		}
		got, err := q.fetch(t, b, 0, -1)
		if ids(got...) != tt.want || (err == nil) != (tt.kind == 0) || err != nil && fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
	b, q := &box{bad: map[string]func() error{}}, &queue{}
	for i := range 40 { // the last 30 fail, and so do all that could be witnesses
		b.items = append(b.items, at(fmt.Sprintf("m%02d", i), time.Duration(40-i)*time.Minute))
		b.bad[b.items[i].ID] = always(ill)
	}
	if got, err := q.fetch(t, b, 0, -1); len(got) > 0 || err == nil || fault.KindOf(err) != fault.Temporary {
		t.Errorf("all of 40: %q, %v", got, err)
	}
}
