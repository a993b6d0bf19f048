package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// noteRoom is how much of the disk has to be free before a finding is noted, in bytes. Where a
// line has room and what it changes has not, every command would fail until there is room.
const noteRoom = 256 << 10

func roomToNote(s door.Store) error {
	if s.Room(noteRoom) != nil {
		return fault.Temporaryf("make room", "less than %d KiB of the disk are free", noteRoom>>10)
	}
	return nil
}

// roomToAdd fails if too little of the disk is free for what is to be accepted. A person is told of
// that once, and once a day as long as it lasts; between, only the exit status says it, because cron
// starts add every few minutes. Without any room that can't be noted, and is told each time.
func roomToAdd(c *cli.Context, s door.Store, reserve int64) error {
	full := s.Room(reserve)
	if full == nil || roomToNote(s) != nil {
		return full
	}
	told := true
	err := queue.Update(s, func(tx *queue.Tx) (err error) {
		told, err = queue.Open(tx, &audit.Finding{Code: string(health.DiskLow), Text: full.Error()}, time.Now())
		return err
	})
	if told || err != nil {
		return full
	}
	return cmdline.Standing(c, full)
}
