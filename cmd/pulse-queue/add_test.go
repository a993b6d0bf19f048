package main

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// counting is a store that counts its commits.
type counting struct {
	store.Store
	commits int
}

func (c *counting) Update(fn func(store.View) (*store.Commit, error)) error {
	c.commits++
	return c.Store.Update(fn)
}

// roomy has a disk that is never full.
type roomy struct{ door.Store }

func (roomy) Spare(int64) int64 { return 1 << 40 }

// TestLastBatch: the last record of a full batch moves the positions in the commit of the others.
func TestLastBatch(t *testing.T) {
	for mails, want := range map[int]int{1: 1, 124: 1, 125: 1, 126: 2, 250: 2, 251: 3} {
		s := &counting{Store: queuetest.NewMemory()}
		batch := queue.NewBatch(s, false, 1000, time.Now)
		batch.Open = true
		in := &intake{
			batch: batch,
			out:   bufio.NewWriter(io.Discard),
			room:  func() error { return nil },
			keep:  &keeping{store: roomy{}, limits: &policy.Limits{}},
			lone:  func(*record.Record) bool { return false },
		}
		lines := strings.Join(queuetest.Mails(1, mails), "\n") + "\n"
		if err := in.all(record.NewReader(strings.NewReader(lines), "stdin", 1<<20, queue.Members...)); err != nil {
			t.Fatal(err)
		}
		moved, err := store.Read(s, queue.PositionsOf)
		if err != nil || s.commits != want || len(moved) != 1 || moved[0].UID != uint32(mails) {
			t.Errorf("%d mails: %d commits, want %d; %+v, %v", mails, s.commits, want, moved, err)
		}
	}
}
