package queue_test

import (
	"testing"

	"pulse/lib/queue/queuetest"
)

// TestFair: no batch delays another sender's first task by more than one start a sender.
func TestFair(t *testing.T) {
	if err := queuetest.Burst(queuetest.NewMemory(), now); err != nil {
		t.Error(err)
	}
	seeds := uint64(300)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		if err := queuetest.Turns(queuetest.NewMemory(), seed, now); err != nil {
			t.Error(err)
		}
	}
}
