package queue_test

import (
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// TestSubmittedAgain: a submitted task that a queue printed is the same task when it is
// added again, to that queue or to another. It was a new one each time, and so would have
// started again.
func TestSubmittedAgain(t *testing.T) {
	const submitted = `{"request":{"action":"read_public"},"identity":{"trust":"system","via":"submit","stale":false,"automatic":false,"verified":true},"decision":{"action":"read_public","outcome":"allow"}`
	store := queuetest.NewMemory()
	first := addedTo(t, store, submitted+"}")
	if again := addedTo(t, store, submitted+`,"task":{"id":"`+first+`","kind":"ask"}}`); again != first {
		t.Errorf("%s became %s", first, again)
	}
	if other := addedTo(t, queuetest.NewMemory(), submitted+`,"task":{"id":"`+first+`","kind":"ask"}}`); other != first {
		t.Errorf("in another queue %s became %s", first, other)
	}
	if second := addedTo(t, store, submitted+"}"); second == first {
		t.Error("what is submitted twice is one task")
	}
	b := queue.NewBatch(store, false, 1, time.Now)
	rec, err := record.Parse([]byte(submitted+`,"task":{"id":"../x","kind":"ask"}}`), queue.Members...)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Put(rec); err == nil {
		t.Error("any name is an id")
	}
}

// addedTo adds a line and returns the id in its receipt.
func addedTo(t *testing.T, s store.Store, line string) (id string) {
	t.Helper()
	rec, err := record.Parse([]byte(line), queue.Members...)
	if err != nil {
		t.Fatal(err)
	}
	b := queue.NewBatch(s, false, 1, time.Now)
	if err := b.Put(rec); err != nil {
		t.Fatal(err)
	}
	err = b.Commit(func(receipt []byte) error {
		rec, err := record.Parse(append([]byte(nil), receipt...), queue.Members...)
		if err == nil {
			id, err = task.Named(rec)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}
