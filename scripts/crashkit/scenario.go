package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// scenario is one command at work on one queue, to be ended in the middle of it.
type scenario struct {
	name    string
	control bool
	naive   bool
	making  bool                                     // it makes the queue: there is none before
	prepare func(d *desk, b *books) error            // fills the queue and the books
	argv    func(d *desk) []string                   // the command to be ended, by its name
	stdin   string                                   // for it
	records func() int                               // how many receipts there are if it ends well
	person  bool                                     // it runs at a terminal
	next    func(d *desk, b *books) error            // what one would do after it
	whole   func(was, is map[string]laid) string     // says what is neither old nor new
	late    func(listed map[string]shownTask) string // says what is wrong in the end

	template string // a desk with the queue as it was before
	books    *books
	was      map[string]laid
}

// took enters into the books the receipts that a command printed before it ended.
func (s *scenario) took(e *ended) (b *books, f findings) {
	b = s.books.clone()
	list, err := b.receipts(e.stdout)
	if err != nil {
		f.add("receipt: %v", err)
	}
	if e.status == 0 && s.records != nil && len(list) != s.records() {
		f.add("receipts: exit 0, and %d for %d records", len(list), s.records())
	}
	return b, f
}

// line is the command to be ended, of the commands in a directory.
func (s *scenario) line(d *desk, bin string) []string {
	argv := s.argv(d)
	return append([]string{bin + "/" + argv[0]}, argv[1:]...)
}

// command is an argv that is the same at every desk.
func command(argv ...string) func(*desk) []string { return func(*desk) []string { return argv } }

// setUp makes the template.
func (s *scenario) setUp(k *kit, part string) error {
	d, err := k.desk(filepath.Join(part, "template-"+strings.ReplaceAll(s.name, " ", "-")))
	if err != nil {
		return err
	}
	d.naive = s.naive
	s.books, s.template = newBooks(), d.dir
	if !s.naive && !s.making {
		if err := d.init(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if s.prepare != nil {
		if err := s.prepare(d, s.books); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	var f findings
	s.was = d.files(&f)
	if len(f) > 0 {
		return fmt.Errorf("%s: before anything was done: %v", s.name, f)
	}
	return nil
}

// scenarios are all commands that change a queue.
func scenarios() []*scenario {
	first := append(mails(1, 2), mail(3, "reject"), mail(4, "allow"), effect(1))
	second := append(mails(4, 5), effect(1), effect(2), mail(9, "queue_for_review"))
	return []*scenario{
		making(first),
		adding("add, to a new queue", nil, first),
		adding("add, to a queue", first, second),
		adding("add, one record", first, mails(20, 1)),
		asking("run, an ask completed", 0, "completed"),
		asking("run, an ask failing", 1, "scheduled"),
		sending("run --effect, sent", 0),
		sending("run --effect, unknown end", 1),
		sending("run --effect, nothing happened", 75),
		answering("yes", "scheduled", "pulse-approve", "yes"),
		answering("no", "rejected", "pulse-approve", "no", "--reason", "not wanted"),
		cancelling(),
		requeueing(),
		pruning(),
		reading(),
		proposing(),
		taking(),
		repairing(first, second),
		forgetting(first, second),
	}
}

// moved returns which task left its state for one that is not allowed.
func moved(was, is map[string]laid, may map[string][]string) string {
	for id := range is {
		if old := was[id].state; may != nil && old == "" {
			return fmt.Sprintf("new: %s in %s", id, is[id].state)
		}
	}
	for id, old := range was {
		now := is[id].state
		if now != old.state && !slices.Contains(may[id], now) {
			return fmt.Sprintf("moved: %s from %s to %q", id, old.state, now)
		}
	}
	return ""
}

// only returns the tasks that are not in a state they should have come to.
func only(listed map[string]shownTask, states ...string) string {
	for _, t := range listed {
		// An ask whose worker was hit waits for its next attempt.
		again := t.Kind == "ask" && t.State == "scheduled" && t.Attempts > 0
		if !again && !slices.Contains(states, t.State) {
			return fmt.Sprintf("stuck: %s is %s", t.ID, t.State)
		}
	}
	return ""
}
