package spool

import (
	"errors"
	"path/filepath"
	"time"

	"pulse/lib/queue/access"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
)

var diskOptions = access.Options(tmpDir, most)

// openDisk opens the directory of a queue.
func openDisk(dir string) (*disk.Dir, error) { return disk.Open(dir, diskOptions) }

// The bounds, in bytes, of files that are read whole: those that hold a record or targets
// of one, and all others. A record has at most 64 MiB.
const (
	mostLarge = 65 << 20
	mostSmall = 2 << 20
)

// most returns the largest size at which a file is read whole.
func most(name string) int64 {
	switch name {
	case agendaFile, startsFile: // they grow with the queue
		return mostLines
	}
	switch parentOf(name) {
	case metaDir, resultDir, grantDir, sessionDir, positionDir, refusedDir, "":
		return mostSmall
	}
	return mostLarge
}

// mostLines is the largest size of an index in bytes: for a million open tasks the agenda
// needs an eighth of it.
const mostLines = 1 << 30

// index returns a file of lines that is made from the log. It is written in place, and
// synced before the checkpoint says that the lines of the log were carried out, and how
// long the index is. So an index is never older than the checkpoint, and what is newer is
// cut off or written again. Verify compares it with what the log makes of it.
func index(name string, width int) disk.Lines {
	return disk.Lines{Name: name, Width: width, Tmp: tmpDir + "/" + filepath.Base(name), Most: mostLines}
}

// notFile reports whether something else lies where a file should be, or a file that this
// account may not read.
var notFile = disk.NotFile

// writeSynced puts a file in place durably, and never a part of it.
func writeSynced(d disk.Disk, name string, b []byte) error {
	return disk.WriteSynced(d, tmpDir+"/"+filepath.Base(name), name, b)
}

// lockTimeout is how long a command waits until another one has ended its transition.
const lockTimeout = 60 * time.Second

// flock is the lock of a queue. A transition takes it, a reader does not.
type flock struct{ *disk.Lock }

func lockOf(d *disk.Dir) flock { return flock{d.Lock(lockFile, lockTimeout)} }

func (l flock) take() (unlock func(), err error) {
	unlock, err = l.Take()
	return unlock, tooLong(err)
}

func (l flock) try() (unlock func(), err error) {
	unlock, err = l.Try()
	if errors.Is(err, disk.ErrLocked) {
		err = store.ErrLocked
	}
	return unlock, err
}

// tooLong adds to ErrLocked how long the wait was, and what to do.
func tooLong(err error) error {
	if errors.Is(err, disk.ErrLocked) {
		return errTooLong()
	}
	return err
}

func errTooLong() error {
	return fault.Temporaryf("run it again, or see who holds the lock: fuser -v QUEUE/lock",
		"%w for %s", store.ErrLocked, lockTimeout)
}
