package desk

import (
	"slices"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
)

// again is a store whose View calls fn twice, as it may while others write.
type again struct {
	door.Store
	memory *queuetest.Memory
}

func (s again) View(fn func(store.View) error) error {
	_ = s.memory.View(fn)
	return s.memory.View(fn)
}

func (s again) Match(prefix string) ([]string, error) { return s.memory.Match(prefix) }

// TestSplitOnce: a task is asked about once, however often the queue was read for it.
func TestSplitOnce(t *testing.T) {
	m := queuetest.NewMemory()
	if err := queuetest.Add(queuetest.Mails(0, 2)...).Do(m, time.Now()); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, l := range m.Log() {
		ids = append(ids, l.Task)
	}
	pages, err := (&Desk{Queue: again{memory: m}}).split(ids, Question{
		May:   func(*queue.Stored) error { return nil },
		Alone: func(s *queue.Stored) bool { return s.Task.ID == ids[1] },
	})
	if err != nil || len(pages) != 2 || !slices.Equal(pages[0], ids[:1]) || !slices.Equal(pages[1], ids[1:]) {
		t.Errorf("%v, %v", pages, err)
	}
}
