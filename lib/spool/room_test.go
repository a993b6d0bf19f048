package spool

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"pulse/lib/fault"
)

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	for magic, refused := range map[int64]bool{0x6969: true, 0xff534d42: true, 0x65735546: true, 0xef53: false, 0x01021994: false, 0x58465342: false} {
		err := refuseType("/queue", magic)
		if (err != nil) != refused || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%#x: %v", magic, err)
		}
	}
}

func TestRoom(t *testing.T) {
	s := made(t)
	free, total, err := Free(s.dir)
	if err != nil || free <= 0 || total < free {
		t.Fatal(free, total, err)
	}
	if err := s.Room(0); err != nil {
		t.Error(err)
	}
	s.dir = filepath.Join(s.dir, "gone")
	if err := s.Room(0); err == nil {
		t.Error("there is room in nothing")
	}
}

// TestInterruptedWait: a signal ends the wait for a lock that somebody else has.
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
