// Package transfer moves a queue from a directory to a server and back, and makes snapshots of
// one on a server.
//
// Invariant: the log stays what it was byte for byte, so the head does too. Caveat: who may
// answer is not moved. A yes of level user is that of an account, or of a login, that the other
// queue does not know, and its task waits for a person again.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/spool"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// ToServer copies a queue into one on a server that has no line yet. Nothing may be running, and
// the queue must be on hold, so that nobody goes on with both.
func ToServer(ctx context.Context, from store.Store, name string) error {
	lines, err := store.Read(from, func(v store.View) (store.Lines, error) {
		if err := Still(v); err != nil {
			return nil, err
		}
		return v.Lines(time.Time{}, nil)
	})
	if err != nil {
		return err
	}
	return pgstore.Import(ctx, name, lines, func(s store.Shelf, key string) ([]byte, error) {
		item, err := store.Read(from, func(v store.View) (store.Item, error) { return v.Get(s, key) })
		return item.Bytes, err
	})
}

// Still fails unless a queue is on hold and nothing runs.
func Still(v store.View) error {
	held, err := queue.Held(v)
	if n := v.Counts().Tasks[task.Running]; err == nil && (held == "" || n > 0) {
		err = fault.Usagef("pulse-queue hold, and wait until pulse-queue list shows nothing in running",
			"the queue must be on hold, and nothing may run")
	}
	return err
}

// ToDirectory carries out in a queue in a directory what the log of one on a server has besides.
// The directory's log is the beginning of the other one.
func ToDirectory(from *pgstore.Store, to *spool.Spool) error {
	have, head := 0, ""
	var lines store.Lines
	err := to.View(func(v store.View) (err error) {
		have, head = 0, v.Counts().Head
		lines, err = v.Lines(time.Time{}, func([]byte) bool { have++; return false })
		return err
	})
	if err == nil {
		err = lines(nil)
	}
	if err == nil {
		err = from.View(func(v store.View) (err error) {
			lines, err = v.Lines(time.Time{}, nil)
			return err
		})
	}
	if err != nil {
		return err
	}
	r := replay{from: from, to: to, head: audit.Origin}
	err = lines(func(raw []byte, l *audit.Line) error {
		if r.seen++; r.seen <= have {
			r.head = audit.Hash(raw)
			return nil
		}
		if r.seen == have+1 && r.head != head {
			return errors.New("the directory holds another queue")
		}
		return r.line(raw, l)
	})
	if err == nil && r.seen < have {
		err = errors.New("the directory holds lines that the server lacks")
	}
	return err
}

// replay commits the lines of one queue in another.
type replay struct {
	from   *pgstore.Store
	to     *spool.Spool
	seen   int
	head   string
	commit store.Commit
}

// line takes a line, and commits those that belong together with the last of them.
func (r *replay) line(raw []byte, l *audit.Line) error {
	if again := l.Append(nil); string(again) != string(raw) {
		return fmt.Errorf("line %d of the log: another pulse wrote it, and this one would write it in another way", r.seen)
	}
	for _, c := range store.Changes(l) {
		if c.Digest == "" && c.Lines == nil {
			continue
		}
		b, err := r.from.Staged(c.Shelf, c.Key)
		if err != nil {
			return err
		}
		if b != nil { // of a result that was replaced since, the store takes no notice
			r.commit.Blobs = append(r.commit.Blobs, store.Blob{Shelf: c.Shelf, Key: c.Key, Bytes: b, Made: l.Time.Add(time.Duration(len(r.commit.Lines)))})
		}
	}
	if r.commit.Lines = append(r.commit.Lines, *l); l.More {
		return nil
	}
	commit := r.commit
	r.commit = store.Commit{}
	return r.to.Update(func(store.View) (*store.Commit, error) { return &commit, nil })
}
