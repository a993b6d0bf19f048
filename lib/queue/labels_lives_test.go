package queue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// chain is what the log alone says about labels: which tasks have which root, and what each
// root has touched.
type chain struct {
	root   map[string]string
	trust  map[string]terms.Trust
	labels map[string]label.Set
	owed   map[string][]label.Label // what the lines of this commit must still give
}

// read notes a line, and returns what is wrong with it.
func (c *chain) read(l *audit.Line) (wrong string) {
	root := c.root[l.Task]
	switch l.Event {
	case task.Added:
		if c.root[l.Task] = l.Task; l.Kind == task.Effect {
			c.root[l.Task] = c.root[l.Parent]
		}
		c.trust[l.Task] = l.Trust
	case audit.Labelled:
		for _, u := range c.labels[l.Task] {
			if l.Labels.Use(u.Label) == nil || *l.Labels.Use(u.Label) != u {
				wrong = "it takes a label away, or changes what gave it"
			}
		}
		if len(l.Labels) <= len(c.labels[l.Task]) || c.root[l.Task] != l.Task {
			wrong = "it gives nothing, or to a task that is no root"
		}
		c.labels[l.Task] = l.Labels
	case task.Started:
		if wrong = c.starts(l, c.labels[root].Union(label.Of(c.trust[l.Task]))); l.Action == terms.ReadPrivate {
			c.owed[root] = append(c.owed[root], label.Private)
		}
		if l.Action == terms.ReadPublic && l.Kind == task.Effect {
			c.owed[root] = append(c.owed[root], label.Untrusted)
		}
	case task.Restarted, task.Undecided:
		c.owed[root] = append(c.owed[root], label.All...)
	case audit.Judged:
		if l.Outcome != terms.Reject && l.Action == terms.ReadPrivate {
			c.owed[root] = append(c.owed[root], label.Private)
		}
	}
	if !l.More {
		wrong += c.settle()
	}
	return wrong
}

// starts holds the start of an effect against the labels that its root had in the log.
func (c *chain) starts(l *audit.Line, had label.Set) string {
	switch {
	case l.Kind != task.Effect:
	case l.Action == terms.ReadPublic && had.Use(label.Private) != nil:
		return "it is denied after private"
	case l.Action == terms.ReadPrivate && had.Use(label.Untrusted) != nil && l.Approval == nil:
		return "it needs a yes after untrusted"
	}
	return ""
}

// settle says which labels a commit should have given.
func (c *chain) settle() (wrong string) {
	for root, list := range c.owed {
		for _, l := range list {
			if c.labels[root].Union(label.Of(c.trust[root])).Use(l) == nil {
				wrong += fmt.Sprintf("root %s lacks %s; ", root, l)
			}
		}
	}
	clear(c.owed)
	return wrong
}

// labelled is a life in which workers read.
type labelled struct {
	*desk
	*rand.Rand
	claims []*queue.Claim
	n      int
}

func (w *labelled) one(list ...string) string { return list[w.IntN(len(list))] }

func (w *labelled) ask() {
	w.n++
	line := fmt.Sprintf(ask, w.n)
	if w.IntN(3) == 0 {
		line = strings.NewReplacer("owner_verified_email", "external_verified", "me@", "friend@").Replace(line)
	}
	w.add(w.one(line, `{"request":{"action":"read_private"},`+line[1:]))
}

func (w *labelled) begin() {
	effect := []terms.Action{"", terms.ReadPublic, terms.ReadPrivate, terms.WriteLocal}[w.IntN(4)]
	if c := w.start(effect); c != nil {
		w.claims = append(w.claims, c)
	}
}

// end ends a worker, which a run may have given up meanwhile.
func (w *labelled) end() {
	if len(w.claims) == 0 {
		return
	}
	i := w.IntN(len(w.claims))
	c := w.claims[i]
	w.claims = slices.Delete(w.claims, i, i+1)
	end := queue.End{Exit: []int{0, 0, 0, 1, 75, -1}[w.IntN(6)], Unread: w.IntN(20) == 0}
	if w.IntN(4) == 0 {
		j := queuetest.Allowed("mail.read", terms.ReadPrivate)
		j.Outcome = terms.Outcomes[w.IntN(len(terms.Outcomes))]
		end.Judged = append(end.Judged, j)
	}
	w.n++
	var out []string
	for _, action := range []string{"read_public", "read_private", "write_local"} {
		if w.IntN(2) == 0 {
			out = append(out, fmt.Sprintf(`{"action":%q,"args":{"n":%d}}`, action, w.n))
		}
	}
	if end.Exit == 0 {
		list, discarded := proposal.Read([]byte(strings.Join(out, "\n")), false, nil)
		end.Proposals = &queue.Proposals{List: list, Discarded: discarded}
	}
	finish := func(tx *queue.Tx) error { _, err := queue.Finish(tx, c, end, &w.p.Limits, w.now); return err }
	if err := queue.Update(w.store, finish); errors.Is(err, store.ErrConflict) {
		w.update(func(tx *queue.Tx) error { return queue.FinishCancelled(tx, c, end, w.now) })
	} else if err != nil {
		w.t.Fatal(err)
	}
}

// takeSome adds what was proposed, some of it with the labels taken out.
func (w *labelled) takeSome() {
	for _, line := range w.outbox() {
		if i := strings.Index(line, `,"labels"`); i > 0 && w.IntN(2) == 0 {
			line = line[:i] + "}" + line[i+strings.Index(line[i:], "]}")+2:]
		}
		w.add(line)
	}
}

func (w *labelled) yes() {
	w.update(func(tx *queue.Tx) error {
		s, found, err := queuetest.First(tx, task.Awaiting)
		if !found || err != nil {
			return err
		}
		return queue.Approve(tx, &s, queue.Yes(&s, "me", "terminal", w.now), w.now)
	})
}

func (w *labelled) requeue() {
	w.update(func(tx *queue.Tx) error {
		s, found, err := queuetest.First(tx, []task.State{task.Completed, task.Rejected, task.Failed}[w.IntN(3)])
		if !found || err != nil {
			return err
		}
		return queue.Requeue(tx, &s, queue.Yes(&s, "me", "terminal", w.now), w.now)
	})
}

func (w *labelled) prune() {
	w.update(func(tx *queue.Tx) error {
		st := []task.State{task.Completed, task.Rejected, task.Failed}[w.IntN(3)]
		s, found, err := queuetest.First(tx, st)
		if !found || err != nil {
			return err
		}
		_, _, err = queue.Prune(tx, st, []store.ID{store.IDOf(s.Task.ID)}, &queue.Older{}, "me", w.now)
		return err
	})
}

func (w *labelled) reap() {
	if w.IntN(3) > 0 {
		return
	}
	w.update(func(tx *queue.Tx) error {
		_, err := queue.Reap(tx, &w.p.Limits, w.now, func(id string) bool { return w.IntN(4) == 0 })
		return err
	})
}

// again adds a record that the queue printed.
func (w *labelled) again() {
	var line string
	err := w.store.View(func(v store.View) error {
		s, found, err := queuetest.First(v, task.States[w.IntN(len(task.States))])
		if found && err == nil {
			line = string(s.Line())
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if line != "" {
		w.add(line)
	}
}

// TestLabelsOnlyGrow: whatever happens in whatever order, a root task keeps its labels, has
// each that a start or a hook gave it from that commit on, and no effect starts against them.
func TestLabelsOnlyGrow(t *testing.T) {
	starts, given := 0, 0
	for seed := range uint64(60) {
		d := reader(t, map[label.Label]policy.Flow{
			label.Private: {Deny: []string{"read_public"}}, label.Untrusted: {Confirm: []string{"read_private"}},
		})
		d.p.AllowedExternal = []string{"friend@example.com"}
		w := &labelled{desk: d, Rand: rand.New(rand.NewPCG(seed, 1))}
		deeds := []func(){w.ask, w.begin, w.begin, w.begin, w.end, w.end, w.takeSome, w.yes, w.requeue, w.prune, w.reap, w.again}
		for range 150 {
			deeds[w.IntN(len(deeds))]()
			d.now = d.now.Add(time.Duration(w.IntN(3)) * time.Hour)
		}
		c := chain{map[string]string{}, map[string]terms.Trust{}, map[string]label.Set{}, map[string][]label.Label{}}
		for i, l := range d.store.Log() {
			if wrong := c.read(&l); wrong != "" {
				t.Errorf("life %d, line %d: %s: %s", seed, i, wrong, l.Append(nil))
			}
			if l.Event == task.Started && l.Kind == task.Effect {
				starts++
			}
		}
		for id, root := range c.root {
			want := label.Of(c.trust[id]).Union(c.labels[root]).Words()
			if got := d.labelsFor(root, c.trust[id]).Words(); !slices.Equal(got, want) {
				t.Errorf("life %d: %s has %v, and by the log %v", seed, root, got, want)
			}
			given += len(c.labels[root])
		}
	}
	if starts < 100 || given < 100 {
		t.Errorf("%d starts of effects, %d labels: too few to tell", starts, given)
	}
}
