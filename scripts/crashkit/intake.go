package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
		_, err = d.add(b, before...)
		return err
	}
	s.argv = command("pulse-queue", "add")
	s.records = func() int { return len(reference) }
	s.next = func(d *desk, b *books) error {
		again, err := d.add(b, stdin)
		if err != nil {
			return err
		}
		for i := range again {
			if i >= len(reference) || again[i].ID != reference[i].ID {
				return fmt.Errorf("ids: receipt %d is for %s", i, again[i].ID)
			}
		}
		if len(again) != len(reference) {
			return fmt.Errorf("receipts: %d for %d records", len(again), len(reference))
		}
		return nil
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

// making is pulse-queue init. There is no queue until another init has finished it.
func making(batch []string) *scenario {
	s := adding("init", nil, batch)
	s.making, s.stdin, s.records, s.whole = true, "", nil, nil
	s.argv = command("pulse-queue", "init")
	return s
}

// reference adds a batch to a queue of its own, and returns the receipts.
func (d *desk) reference(stdin string) ([]shownTask, error) {
	ref, err := d.k.desk(filepath.Join(strings.TrimPrefix(d.dir, d.k.dir), "reference"))
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(ref.dir)
	if err := ref.init(); err != nil {
		return nil, err
	}
	return ref.add(newBooks(), stdin)
}

// pruning is pulse-queue prune. A pruned task is never added again.
func pruning() *scenario {
	batch := strings.Join(mails(1, 4), "")
	s := &scenario{name: "prune"}
	s.prepare = func(d *desk, b *books) error {
		_, err := d.add(b, batch)
		if err == nil {
			err = d.do(running(d.worker(0), "--max", "3")...)
		}
		if err != nil {
			return err
		}
		b.gone = d.started()
		for id := range b.gone {
			delete(b.acked, id)
		}
		return nil
	}
	s.argv = command("pulse-queue", "prune", "--older-than", "0")
	s.next = func(d *desk, b *books) error {
		if _, err := d.must(batch, "pulse-queue", "add"); err != nil {
			return err
		}
		return d.do(running(d.worker(0))...)
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

// repairing is the command after a crash, which is killed too.
func repairing(before, batch []string) *scenario {
	s := adding("list, repairing what an add left", before, batch)
	prepare := s.prepare
	s.prepare = func(d *desk, b *books) error {
		if err := prepare(d, b); err != nil {
			return err
		}
		log := filepath.Join(d.dir, "trace")
		e := d.exec(s.stdin, strace(log, "linkat", "linkat:signal=KILL:when=2", d.k.locked+"/pulse-queue", "add")...)
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
	s.argv = command("pulse-queue", "list", "--json")
	s.records = nil
	return s
}

// forgetting is an add whose policy keeps no refused records, in a queue that has some.
func forgetting(before, batch []string) *scenario {
	s := adding("add, forgetting what was refused", before, batch)
	prepare := s.prepare
	s.prepare = func(d *desk, b *books) error {
		if err := prepare(d, b); err != nil {
			return err
		}
		if len(b.bare) == 0 {
			return errors.New("no refused record is kept")
		}
		b.bare = map[string]bool{} // from here on each is kept or forgotten, as verify says
		return d.edit(func(text string) string { return strings.Replace(text, `"14d"`, `"0"`, 1) })
	}
	return s
}
