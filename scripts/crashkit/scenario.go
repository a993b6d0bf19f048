package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// scenario is one command at work on one queue, to be ended in the middle of it.
type scenario struct {
	name    string
	control bool
	naive   bool
	prepare func(d *desk, b *books) error            // makes the queue, and fills the books
	argv    func(d *desk, bin string) []string       // the command to be ended
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

// took enters the receipts that a command printed before it ended.
func (s *scenario) took(e *ended) (b *books, f findings) {
	b = s.books.clone()
	list, err := tasks(e.stdout)
	if b.receipts(e.stdout); err != nil {
		f.add("receipt: %v", err)
	}
	if e.status == 0 && s.records != nil && len(list) != s.records() {
		f.add("receipts: exit 0, and %d for %d records", len(list), s.records())
	}
	return b, f
}

// setUp makes the template. A command this version does not have is errAbsent.
func (s *scenario) setUp(k *kit, part string) error {
	d, err := k.desk(filepath.Join(part, "template-"+strings.ReplaceAll(s.name, " ", "-")))
	if err != nil {
		return err
	}
	d.naive = s.naive
	s.books, s.template = newBooks(), d.dir
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

// errAbsent is the error of a scenario whose command does not exist.
var errAbsent = errors.New("this version has no such command")

// scenarios are all commands that change a queue.
func scenarios() []*scenario {
	first := append(mails(1, 2), mail(3, "reject"), mail(4, "allow"), effect(1))
	second := append(mails(4, 5), effect(1), effect(2), mail(9, "queue_for_review"))
	return []*scenario{
		adding("add, no queue yet", nil, first),
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
		repairing(first, second),
	}
}

// adding is pulse-queue add of a batch.
func adding(name string, before, batch []string) *scenario {
	stdin := strings.Join(batch, "")
	var reference []shownTask
	s := &scenario{name: name, stdin: stdin}
	s.prepare = func(d *desk, b *books) (err error) {
		if reference, err = d.reference(stdin); err != nil {
			return err
		}
		for i, t := range reference {
			var uid int
			if _, err := fmt.Sscanf(batch[i][strings.Index(batch[i], `"uid"`)+1:], `uid":%d`, &uid); err == nil && t.State != "rejected" {
				b.uids[uid] = t.ID
			}
		}
		if before == nil {
			return nil
		}
		out, err := d.must(strings.Join(before, ""), "pulse-queue", "add")
		return errors.Join(err, b.receipts(out))
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "add"} }
	s.records = func() int { return len(reference) }
	s.next = func(d *desk, b *books) error {
		out, err := d.must(stdin, "pulse-queue", "add")
		if err != nil {
			return err
		}
		again, err := tasks(out)
		for i := range again {
			if i >= len(reference) || again[i].ID != reference[i].ID {
				return fmt.Errorf("ids: receipt %d is for %s", i, again[i].ID)
			}
		}
		if len(again) != len(reference) {
			return fmt.Errorf("receipts: %d for %d records", len(again), len(reference))
		}
		return errors.Join(err, b.receipts(out))
	}
	s.whole = func(was, is map[string]laid) string {
		fresh, here := 0, 0
		for _, t := range reference {
			if _, old := was[t.ID]; !old && t.State != "rejected" {
				fresh++
				if is[t.ID].state != "" {
					here++
				}
			}
		}
		if here != 0 && here != fresh {
			return fmt.Sprintf("half a batch: %d of %d tasks", here, fresh)
		}
		return moved(was, is, nil)
	}
	return s
}

// reference adds a batch to a queue of its own, and returns the receipts.
func (d *desk) reference(stdin string) ([]shownTask, error) {
	ref, err := d.k.desk(filepath.Join(strings.TrimPrefix(d.dir, d.k.dir), "reference"))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(ref.dir)
	out, err := ref.must(stdin, "pulse-queue", "add")
	if err != nil {
		return nil, err
	}
	return tasks(out)
}

// moved says which task left its state for another one than it may.
func moved(was, is map[string]laid, may map[string][]string) string {
	for id := range is {
		if old := was[id].state; may != nil && old == "" {
			return fmt.Sprintf("new: %s in %s", id, is[id].state)
		}
	}
	for id, old := range was {
		now := is[id].state
		ok := now == old.state
		for _, st := range may[id] {
			ok = ok || now == st
		}
		if !ok {
			return fmt.Sprintf("moved: %s from %s to %q", id, old.state, now)
		}
	}
	return ""
}

// asking is run, on one ask.
func asking(name string, exit int, end string) *scenario {
	s := &scenario{name: name}
	s.prepare = func(d *desk, b *books) error {
		out, err := d.must(strings.Join(mails(1, 1), ""), "pulse-queue", "add")
		return errors.Join(err, b.receipts(out))
	}
	s.argv = func(d *desk, bin string) []string {
		return append([]string{bin + "/pulse-queue", "run", "--"}, d.worker(exit)...)
	}
	s.next = func(d *desk, b *books) error {
		_, err := d.must("", "pulse-queue", append([]string{"run", "--"}, d.worker(exit)...)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", end}})
	}
	s.late = func(listed map[string]shownTask) string { return only(listed, end) }
	return s
}

// only says what is not in the state it should have come to.
func only(listed map[string]shownTask, states ...string) string {
	for _, t := range listed {
		ok := false
		for _, st := range states {
			ok = ok || t.State == st
		}
		if t.Kind == "ask" && t.State == "scheduled" {
			ok = ok || t.Attempts > 0 // its worker was hit: it waits for its next attempt
		}
		if !ok {
			return fmt.Sprintf("stuck: %s is %s", t.ID, t.State)
		}
	}
	return ""
}

// sending is run --effect, on one approved effect.
func sending(name string, exit int) *scenario {
	s := &scenario{name: name}
	run := func(d *desk) []string {
		return append([]string{"run", "--effect", "external_send", "--"}, d.worker(exit)...)
	}
	s.prepare = func(d *desk, b *books) error { return approvedEffect(d, b) }
	s.argv = func(d *desk, bin string) []string { return append([]string{bin + "/pulse-queue"}, run(d)...) }
	s.next = func(d *desk, b *books) error {
		_, err := d.must("", "pulse-queue", run(d)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		return moved(was, is, map[string][]string{ids(was)[0]: {"running", "awaiting_review", "completed"}})
	}
	s.late = func(listed map[string]shownTask) string {
		if exit == 75 {
			return only(listed, "scheduled", "awaiting_review")
		}
		return only(listed, "completed", "awaiting_review")
	}
	return s
}

// approvedEffect adds an effect and approves it.
func approvedEffect(d *desk, b *books) error {
	id, err := awaitingEffect(d, b)
	if err != nil {
		return err
	}
	if e := d.person(d.k.bin+"/pulse-approve", "yes", id); e.status != 0 {
		return fmt.Errorf("pulse-approve yes: %v", e)
	}
	b.yes[id]++
	return nil
}

func awaitingEffect(d *desk, b *books) (id string, err error) {
	out, err := d.must(effect(1), "pulse-queue", "add")
	if err == nil {
		err = b.receipts(out)
	}
	if err != nil {
		return "", err
	}
	return ids(b.acked)[0], nil
}

// answering is a person's answer to one effect. What was approved is then started,
// and what was not must never be.
func answering(name, end string, argv ...string) *scenario {
	s := &scenario{name: name, person: true}
	id := ""
	s.prepare = func(d *desk, b *books) (err error) {
		id, err = awaitingEffect(d, b)
		return err
	}
	s.argv = func(_ *desk, bin string) []string {
		return append(append([]string{bin + "/" + argv[0], argv[1]}, id), argv[2:]...)
	}
	s.next = func(d *desk, b *books) error {
		var f findings
		if st := d.files(&f)[id].state; st == "scheduled" {
			if b.yes[id]++; end != "scheduled" {
				return fmt.Errorf("approved: %s, and nobody said yes", id)
			}
			b.yes[id] = 1
			if !d.approved(id) {
				return fmt.Errorf("approval: %s is scheduled without one", id)
			}
		} else if b.yes[id] == 0 && d.approved(id) {
			return fmt.Errorf("approval: %s is %s and has one", id, st)
		}
		_, err := d.must("", "pulse-queue", append([]string{"run", "--effect", "external_send", "--"}, d.worker(0)...)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {end}}) }
	s.late = func(listed map[string]shownTask) string {
		if end == "scheduled" {
			return only(listed, "awaiting_review", "completed")
		}
		return only(listed, "awaiting_review", end)
	}
	return s
}

// cancelling is pulse-queue cancel of a scheduled ask. What is cancelled is never
// started.
func cancelling() *scenario {
	s := asking("cancel", 0, "completed")
	prepare, id := s.prepare, ""
	s.prepare = func(d *desk, b *books) error {
		if err := prepare(d, b); err != nil {
			return err
		}
		id = ids(b.acked)[0]
		return d.has("cancel")
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "cancel", id} }
	s.person = true
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {"rejected"}}) }
	s.late = func(listed map[string]shownTask) string { return only(listed, "rejected", "completed") }
	return s
}

// has fails if pulse-queue has no such subcommand.
func (d *desk) has(name string) error {
	if e := d.pulse("", "pulse-queue", name, "--help"); e.status != 0 || !strings.Contains(string(e.stdout), name) {
		return fmt.Errorf("pulse-queue %s: %w", name, errAbsent)
	}
	return nil
}

// requeueing is pulse-queue requeue, at a terminal, of an ask that was cancelled.
func requeueing() *scenario {
	s := cancelling()
	s.name = "requeue"
	prepare, id := s.prepare, ""
	s.prepare = func(d *desk, b *books) error {
		err := errors.Join(prepare(d, b), d.has("requeue"))
		if err != nil {
			return err
		}
		id = ids(b.acked)[0]
		_, err = d.must("", "pulse-queue", "cancel", id)
		return err
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "requeue", id} }
	s.whole = func(was, is map[string]laid) string { return moved(was, is, map[string][]string{id: {"scheduled"}}) }
	return s
}

// pruning is pulse-queue prune. What was pruned is never taken again.
func pruning() *scenario {
	batch := strings.Join(mails(1, 4), "")
	s := &scenario{name: "prune"}
	s.prepare = func(d *desk, b *books) error {
		if err := d.has("prune"); err != nil {
			return err
		}
		out, err := d.must(batch, "pulse-queue", "add")
		if err == nil {
			_, err = d.must("", "pulse-queue", append([]string{"run", "--max", "3", "--"}, d.worker(0)...)...)
		}
		if err = errors.Join(err, b.receipts(out)); err != nil {
			return err
		}
		b.gone = d.started()
		for id := range b.gone {
			delete(b.acked, id)
		}
		return nil
	}
	s.argv = func(_ *desk, bin string) []string {
		return []string{bin + "/pulse-queue", "prune", "--older-than", "0"}
	}
	s.next = func(d *desk, b *books) error {
		if _, err := d.must(batch, "pulse-queue", "add"); err != nil {
			return err
		}
		_, err := d.must("", "pulse-queue", append([]string{"run", "--"}, d.worker(0)...)...)
		return err
	}
	s.whole = func(was, is map[string]laid) string {
		left := map[string]laid{}
		for id, l := range was {
			if l.state != "completed" || is[id].state != "" {
				left[id] = l
			}
		}
		return moved(left, is, nil)
	}
	s.late = func(listed map[string]shownTask) string { return only(listed, "completed") }
	return s
}

// repairing is the command after a crash, killed in its turn.
func repairing(before, batch []string) *scenario {
	s := adding("list, repairing what an add left", before, batch)
	prepare := s.prepare
	s.prepare = func(d *desk, b *books) error {
		if err := prepare(d, b); err != nil {
			return err
		}
		log := filepath.Join(d.dir, "trace")
		e := d.exec(s.stdin, strace(log, "renameat,renameat2", "renameat,renameat2:signal=KILL:when=2", d.k.locked+"/pulse-queue", "add")...)
		if !e.killed {
			return fmt.Errorf("an add that was to be killed in the middle: %v", e)
		}
		return nil
	}
	whole := s.whole
	s.whole = func(was, is map[string]laid) string {
		if len(is) == len(was) { // was is the middle of a batch
			return ""
		}
		return whole(map[string]laid{}, is)
	}
	s.argv = func(_ *desk, bin string) []string { return []string{bin + "/pulse-queue", "list", "--json"} }
	s.records = nil
	return s
}
