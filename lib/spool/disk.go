package spool

import (
	"errors"
	"path/filepath"
	"time"

	"pulse/lib/access"
	"pulse/lib/disk"
	"pulse/lib/fault"
	"pulse/lib/queue"
)

var diskOptions = access.Options(tmpDir, most)

// openDisk opens the directory of a queue.
func openDisk(dir string) (*disk.Dir, error) { return disk.Open(dir, diskOptions) }

// The bounds of what is read whole: of what holds a record, or targets of one, and of
// all else. A record has 64 MiB at most.
const (
	mostLarge = 65 << 20
	mostSmall = 2 << 20
)

// most returns how large a file is at most that is read whole.
func most(name string) int64 {
	switch name {
	case agendaFile, startsFile: // they grow with the queue
		return mostLines
	}
	switch parentOf(name) {
	case metaDir, resultDir, grantDir, sessionDir, positionDir, "":
		return mostSmall
	}
	return mostLarge
}

// mostLines is the size of a file of lines from which on it is none: of a million tasks
// the agenda has an eighth of it.
const mostLines = 1 << 30

// index returns a file of lines that is made from the log: written in place, and synced
// before the checkpoint says that the lines of the log were carried out, and how long it
// is. So it is never older than the checkpoint; what is newer is cut off or written
// again. Verify makes it anew from the log and compares.
func index(name string, width int) disk.Lines {
	return disk.Lines{Name: name, Width: width, Tmp: tmpDir + "/" + filepath.Base(name), Most: mostLines}
}

// notFile reports whether something else lies where a file should, or one that is
// not ours to read.
var notFile = disk.NotFile

// writeSynced puts a whole file in place durably: never a part of it.
func writeSynced(d disk.Disk, name string, b []byte) error {
	return disk.WriteSynced(d, tmpDir+"/"+filepath.Base(name), name, b)
}

// LockTimeout is how long a command waits for another one's transition.
const LockTimeout = 60 * time.Second

// flock is the lock of a queue: it is taken for a transition, and never by a reader.
type flock struct{ *disk.Lock }

func lockOf(d *disk.Dir) flock { return flock{d.Lock(lockFile, LockTimeout)} }

func (l flock) take() (unlock func(), err error) {
	unlock, err = l.Take()
	return unlock, tooLong(err)
}

func (l flock) try() (unlock func(), err error) {
	unlock, err = l.Try()
	if errors.Is(err, disk.ErrLocked) {
		err = queue.ErrLocked
	}
	return unlock, err
}

// tooLong says what to do about a lock that was waited for in vain.
func tooLong(err error) error {
	if errors.Is(err, disk.ErrLocked) {
		return errTooLong()
	}
	return err
}

func errTooLong() error {
	return fault.Temporaryf("run it again, or see who holds the lock: fuser -v QUEUE/lock", "%w for %s", queue.ErrLocked, LockTimeout)
}
