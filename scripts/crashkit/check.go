package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// states are the directories that stand for states (pulse-queue(5)).
var states = []string{"scheduled", "awaiting_review", "running", "completed", "rejected", "failed", "corrupt"}

var taskFile = regexp.MustCompile(`^[0-9a-f]{32}\.json$`)

// books hold what must be true of a queue, whatever happens to it.
type books struct {
	acked map[string]string // id -> digest, of acknowledged tasks that have a file
	uids  map[int]string    // of the mailbox: uid -> id
	yes   map[string]int    // id -> how often a person approved it
	done  map[string]int    // id -> starts when it was first seen completed
	gone  map[string]int    // id -> starts, of tasks that may have been pruned
	kept  string            // id of a task that has an approval
	bare  map[string]bool   // ids of refused records that are kept
	head  string            // of the audit log, as verify printed it
}

func newBooks() *books {
	return &books{acked: map[string]string{}, uids: map[int]string{}, yes: map[string]int{}, done: map[string]int{}, gone: map[string]int{}, bare: map[string]bool{}}
}

func (b *books) clone() *books {
	c := *b
	c.acked, c.uids, c.yes, c.done, c.gone = maps.Clone(b.acked), maps.Clone(b.uids), maps.Clone(b.yes), maps.Clone(b.done), maps.Clone(b.gone)
	c.bare = maps.Clone(b.bare)
	return &c
}

// receipts enters the receipts that came out whole, and returns them.
func (b *books) receipts(out []byte) ([]shownTask, error) {
	list, err := tasks(out)
	for _, t := range list {
		if t.State != "rejected" || t.Digest != "" {
			b.acked[t.ID] = t.Digest
		} else { // a refusal has no file of a task
			b.bare[t.ID] = true
		}
	}
	return list, err
}

// laid is a task as found on the disk.
type laid struct{ state, digest string }

// findings collects what is wrong. The text before the first colon is the kind.
type findings []string

func (f *findings) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// files reads the state directories as any program could.
func (d *desk) files(f *findings) map[string]laid {
	found := map[string]laid{}
	for _, st := range states {
		entries, err := os.ReadDir(filepath.Join(d.queue, st))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				f.add("unreadable: %v", err)
			}
			continue
		}
		for _, e := range entries {
			name := filepath.Join(d.queue, st, e.Name())
			b, err := os.ReadFile(name)
			id := strings.TrimSuffix(e.Name(), ".json")
			var rec struct{ Task shownTask }
			switch {
			case !taskFile.MatchString(e.Name()):
				f.add("stray file: %s", name)
				continue
			case err != nil:
				f.add("unreadable: %v", err)
			case st != "corrupt" && (json.Unmarshal(b, &rec) != nil || !bytes.HasSuffix(b, []byte("}\n")) || rec.Task.ID != id):
				f.add("torn: %s/%s of %d bytes", st, e.Name(), len(b))
			case found[id].state != "":
				f.add("doubled: %s is in %s and in %s", id, found[id].state, st)
			}
			sum := sha256.Sum256(b)
			found[id] = laid{st, "sha256:" + hex.EncodeToString(sum[:])}
		}
	}
	return found
}

// inspect looks at everything. It changes nothing, except what list and verify repair.
func (d *desk) inspect(b *books) (listed map[string]shownTask, f findings) {
	if !d.naive {
		listed = d.listed(&f)
		d.verify(b, &f)
	}
	found := d.files(&f)
	for id, digest := range b.acked {
		switch got := found[id]; {
		case got.state == "":
			f.add("lost: %s was acknowledged and is gone", id)
		case got.state == "corrupt":
			f.add("corrupt: %s was acknowledged", id)
		case got.digest != digest:
			f.add("changed: %s was acknowledged with %s and has %s", id, digest, got.digest)
		}
	}
	for id := range b.bare {
		if _, err := os.Stat(filepath.Join(d.queue, "refused", id+".json")); err != nil && !d.naive {
			f.add("lost: the refusal of %s was acknowledged, and its record is not kept: %v", id, err)
		}
	}
	d.positions(b, found, &f)
	if d.naive {
		for id, n := range d.started() {
			if n > b.yes[id] {
				f.add("started twice: %s ran %d times on %d approvals", id, n, b.yes[id])
			}
		}
		return nil, f
	}
	compare(listed, found, &f)
	d.countStarts(b, listed, &f)
	return listed, f
}

// verify checks the audit log. The head that was printed the last time must be in it.
func (d *desk) verify(b *books, f *findings) {
	args := []string{"verify"}
	if b.head != "" {
		args = append(args, "--head", b.head)
	}
	e := d.pulse("", "pulse-queue", args...)
	if e.status != 0 || e.err != nil || len(e.stderr) > 0 {
		f.add("verify: %v", e)
		return
	}
	b.head = strings.TrimSpace(string(e.stdout))
}

// listed asks the queue itself.
func (d *desk) listed(f *findings) map[string]shownTask {
	listed := map[string]shownTask{}
	e := d.pulse("", "pulse-queue", "list", "--all", "--json")
	list, err := tasks(e.stdout)
	if e.status != 0 || e.err != nil || err != nil {
		f.add("list: %v %v", e, err)
	}
	for _, t := range list {
		if _, twice := listed[t.ID]; twice {
			f.add("listed twice: %s", t.ID)
		}
		listed[t.ID] = t
	}
	return listed
}

// compare compares what the queue says with the files that lie there.
func compare(listed map[string]shownTask, found map[string]laid, f *findings) {
	for id, t := range listed {
		if got := found[id]; got.state != t.State || got.digest != t.Digest && t.Digest != "" {
			f.add("listing: %s is %s %s and lies in %s with %s", id, t.State, t.Digest, got.state, got.digest)
		}
	}
	for id, got := range found {
		if _, ok := listed[id]; !ok {
			f.add("listing: %s lies in %s and is not listed", id, got.state)
		}
	}
}

// positions checks that no source was recorded as read further than its mail was added.
func (d *desk) positions(b *books, found map[string]laid, f *findings) {
	names, _ := filepath.Glob(filepath.Join(d.queue, "positions", "*"))
	for _, name := range names {
		var p struct{ UID int }
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			f.add("position: %s: %v", name, err)
		}
		for uid, id := range b.uids {
			if uid <= p.UID && found[id].state == "" {
				f.add("position: it is %d, and the mail with uid %d (%s) is not here", p.UID, uid, id)
			}
		}
	}
}

// started counts the starts of each task, as the workers noted them.
func (d *desk) started() map[string]int {
	n := map[string]int{}
	b, _ := os.ReadFile(d.notes)
	for id := range strings.FieldsSeq(string(b)) {
		n[id]++
	}
	return n
}

// countStarts checks how often workers were started. No worker may be running.
func (d *desk) countStarts(b *books, listed map[string]shownTask, f *findings) {
	for id, n := range d.started() {
		t, known := listed[id]
		most := t.Attempts + t.Restarts
		if t.State == "running" {
			most++
		}
		before, done := b.done[id]
		if was, pruned := b.gone[id]; pruned && !known {
			known, before, done, most = true, was, true, was
		}
		switch {
		case !known:
			f.add("started: %s is no task", id)
		case t.State == "scheduled" && t.Attempts+t.Restarts == 0, t.State == "awaiting_review" && t.Attempts+t.Restarts == 0:
			f.add("started: %s ran, and is %s as if it never had", id, t.State)
		case t.Kind == "effect" && n > b.yes[id]:
			f.add("started twice: effect %s ran %d times on %d approvals", id, n, b.yes[id])
		case n > most:
			f.add("started twice: %s ran %d times, its counters say %d", id, n, most)
		case done && n != before:
			f.add("started twice: %s was completed, and started again", id)
		}
		if t.State == "completed" {
			if _, ok := b.done[id]; !ok {
				b.done[id] = n
			}
		}
	}
	for id := range b.done {
		if _, pruned := b.gone[id]; pruned {
			continue
		}
		if listed[id].State != "completed" {
			f.add("uncompleted: %s was completed and is %s", id, listed[id].State)
		}
	}
}

// approved reports whether an approval of the task lies there.
func (d *desk) approved(id string) bool {
	_, err := os.Stat(filepath.Join(d.queue, "approvals", id+".json"))
	return err == nil
}

// ids are the keys of a map, sorted.
func ids[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
