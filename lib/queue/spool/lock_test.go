package spool

import (
	"context"
	"errors"
	"testing"
)

// TestInterruptedWait: a signal ends the wait for a lock that another command has.
func TestInterruptedWait(t *testing.T) {
	s := made(t)
	unlock, err := s.lock.take()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	done := make(chan struct{})
	close(done)
	other := opened(t, s.dir)
	other.Interrupt(done)
	if err := nothing.Do(other, epoch); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
