// Package spool keeps tasks in flat files (pulse-queue(5)): a task is one
// immutable file, and the directory that holds it is its state. It implements the
// store of package queue.
//
// Invariants. Acknowledged means durable: when Update returns nil, everything it
// changed survives a power cut. All or nothing: a crash at any instruction leaves
// the queue as before or as after, and the next command repairs it unasked.
// Visible means complete: no file appears under its name before it is whole. A
// reader never sees half a transition, and takes no lock, so that no writer waits for it.
//
// How: all changes go through the audit log. Update writes new files to tmp and
// syncs them, appends its lines to the log and syncs that (the point of no
// return), then carries the lines out: it changes the files as store.Changes says, and
// syncs them and their directories. The file checkpoint says how far the log has been
// carried out. After a crash the indexes learn of the lines that follow it, and the
// last commit, the only one that can be half done, is carried out again.
// The end of what was committed is also noted outside the queue (package seen).
//
// Open tasks also have a line in the index agenda, and recent starts one in the index
// starts, so that no command has to read closed tasks. Every change is in the log
// before a file is moved for it, and in the checkpoint after all files were. A reader
// that finds both unchanged has therefore seen a queue that stood still. A reader that
// takes long corrects what it saw by the lines that came since.
//
// Read the files in this order: spool.go, shelf.go (a thing's file), commit.go,
// carry.go (a change to a file), checkpoint.go, recover.go; agenda.go,
// starts.go, pruned.go (the indexes); view.go, listing.go, lookup.go, position.go, paths.go
// (readers); verify.go, verifyfiles.go, verifysmall.go, derived.go; create.go, disk.go,
// seen.go, snapshot.go.
//
// Caveats: one flock(2) serves the whole queue, so a queue must not lie on a network file
// system; before Linux 5.8 syncfs(2) does not report I/O errors.
package spool

import (
	"bytes"
	"time"

	"pulse/lib/queue/access"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/snapshot"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// The files and directories of a queue. agendaFile and startsFile stand beside the
// indexes that they hold.
const (
	formatFile     = access.FormatFile
	unsafeFile     = "unsafe"
	holdFile       = "hold"
	clockFile      = "clock"
	lockFile       = "lock"
	networkFile    = "network" // the queue may lie on a network file system
	checkpointFile = "checkpoint"
	tmpDir         = "tmp"
	auditDir       = journal.Dir

	workersDir = "workers"

	metaDir     = string(store.Meta)
	resultDir   = string(store.Results)
	approvalDir = string(store.Approvals)
	grantDir    = string(store.Grants)
	sessionDir  = string(store.Sessions)
	positionDir = string(store.Positions)
	prunedDir   = string(store.Pruned)
	outboxDir   = string(store.Outbox)
	draftDir    = string(store.Drafts)
	refusedDir  = string(store.Refused)
)

// format is the content of the file of that name.
const format = "pulse-queue 1\n"

func directories() []string {
	return append([]string{
		tmpDir, auditDir, metaDir, resultDir, approvalDir, grantDir, sessionDir, positionDir, prunedDir,
		outboxDir, draftDir, workersDir, refusedDir,
	}, stateDirs()...)
}

func stateDirs() (dirs []string) {
	for _, st := range task.States {
		dirs = append(dirs, string(st))
	}
	return dirs
}

// plan is what package access has to know about a queue.
var plan = access.Layout{
	Dirs: directories(), Late: []string{refusedDir}, Tmp: tmpDir, Lock: lockFile, Network: networkFile,
	Files: []string{formatFile, agendaFile, startsFile, checkpointFile},
	First: []string{unsafeFile, agendaFile, startsFile},
}

// Spool is an open queue. One process may use one Spool from one goroutine.
type Spool struct {
	dir    string
	access *access.Dir // nil: the queue is in memory, see derived
	disk   disk.Disk
	lock   locker
	log    progress

	memory seen.Memory // notes outside the queue of what was committed

	unsafe   bool // made with init --unsafe
	snapshot bool // a copy of a queue, which is only read

	committed func(*audit.Line) // is told what this Spool changed, once it is durable; may be nil

	done <-chan struct{} // closed: stop waiting

	clock func() time.Time // says when a repair was made

	found    map[string]int64 // where the agenda has the tasks of the next commit; nil: not looked for
	lastRead openLine         // where Open was ended last: findOpen looks there first,
	sifted   map[string]int64 // and where tasks stand that the last Sift was asked for
}

// locker takes the queue's lock, which a command needs to change something; unlock gives
// it back.
type locker interface {
	take() (unlock func(), err error)
	try() (unlock func(), err error) // ErrLocked if another command has it
}

// Open opens a queue.
func Open(dir string) (*Spool, error) {
	if err := access.There(dir); err != nil {
		return nil, err
	}
	look, isCopy := access.Trust, snapshot.Is(dir)
	if isCopy {
		look = access.TrustSnapshot
	}
	if err := look(dir); err != nil {
		return nil, err
	}
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.check(isCopy); err != nil {
		s.Close()
		return nil, err
	}
	if isCopy {
		if err := s.onlyRead(); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// check fails if what was opened is not a queue of this format, or can't be trusted. Open
// looked at a path, and what lies there may have been replaced since.
func (s *Spool) check(isCopy bool) error {
	if !isCopy {
		if err := s.access.Trust(); err != nil {
			return err
		}
	}
	return s.known()
}

func (s *Spool) known() error {
	b, err := s.disk.Read(formatFile)
	if err != nil || string(b) == format {
		return err
	}
	return fault.Usagef("install the pulse that made it: man pulse-deploy, Upgrade and downgrade",
		"%s: the queue's format is %s, and this pulse knows %s", s.dir, bytes.TrimSpace(b), format[:len(format)-1])
}

func open(dir string) (*Spool, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	_, err = d.Stat(unsafeFile)
	s := &Spool{unsafe: err == nil, dir: dir, access: access.Of(d, dir, &plan), disk: d, lock: lockOf(d), clock: time.Now}
	s.log = begin(d)
	return s, nil
}

// Interrupt stops waiting for the queue's lock when done is closed.
func (s *Spool) Interrupt(done <-chan struct{}) {
	s.done = done
	if l, ok := s.lock.(flock); ok {
		l.Done = done
	}
}

// TakesUnsafe reports whether the queue was made with init --unsafe.
func (s *Spool) TakesUnsafe() bool { return s.unsafe }

// OnCommit makes the Spool tell fn what it changed, line by line, once that is durable.
func (s *Spool) OnCommit(fn func(*audit.Line)) { s.committed = fn }

// Dir returns the directory of the queue, which answers who may use it and where it lies.
func (s *Spool) Dir() *access.Dir { return s.access }

// Close gives the queue's descriptors back.
func (s *Spool) Close() {
	s.memory.Close()
	if d, ok := s.disk.(*disk.Dir); ok {
		d.Close()
	}
}

// Made returns when the queue was made.
func (s *Spool) Made() (time.Time, error) {
	st, err := s.disk.Stat(formatFile)
	return st.Mtime, err
}
