// Package spool keeps tasks in flat files (pulse-queue(5)): a task is one
// immutable file, and the directory it lies in is its state. It is the store
// behind package queue.
//
// Invariants. Acknowledged means durable: when Update returns nil, everything it
// changed survives a power cut. All or nothing: a crash at any instruction leaves
// the queue as before or as after, and the next command repairs it unasked.
// Visible means complete: no file appears under its name before it is whole. A
// reader sees no transition half done, and keeps nobody waiting: it takes no lock.
//
// How: all changes go through the audit log. Update writes new files to tmp and
// syncs them, appends its lines to the log and syncs that (the point of no
// return), then moves the files and syncs the directories. The file checkpoint
// says how far the log has been carried out; what lies behind it is done again.
// What was committed is noted outside the queue, too (package seen).
// What is open also stands in the agenda, and what was started lately in the ledger
// of starts, so that no command has to read what is closed. As every change stands in
// the log before any file is moved for it, and in the checkpoint after all were, a
// reader that finds both unchanged has seen a queue that stood still; what reads for
// long goes on from what it saw with the lines that came since.
//
// Caveats: one flock(2) serves the whole queue, so network file systems must not
// hold it; before Linux 5.8 syncfs(2) does not report I/O errors.
package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/journal"
	"pulse/lib/queue"
	"pulse/lib/safefile"
	"pulse/lib/task"
)

// The files and directories of a queue besides the shelves of package queue, and
// besides agendaFile and startsFile, which stand where they are kept.
const (
	formatFile     = "format"
	unsafeFile     = "unsafe"
	holdFile       = "hold"
	lockFile       = "lock"
	checkpointFile = "checkpoint"
	tmpDir         = "tmp"
	auditDir       = journal.Dir

	workersDir = "workers"

	metaDir     = string(queue.Meta)
	resultDir   = string(queue.Results)
	approvalDir = string(queue.Approvals)
	grantDir    = string(queue.Grants)
	sessionDir  = string(queue.Sessions)
	positionDir = string(queue.Positions)
	prunedDir   = string(queue.Pruned)
	outboxDir   = string(queue.Outbox)
	draftDir    = string(queue.Drafts)
)

// format is the content of the file of that name.
const format = "pulse-queue 1\n"

func directories() []string {
	list := []string{tmpDir, auditDir, metaDir, resultDir, approvalDir, grantDir, sessionDir, positionDir, prunedDir, outboxDir, draftDir, workersDir}
	for _, s := range task.States {
		list = append(list, string(s))
	}
	return list
}

// Spool is an open queue. One process may use one Spool from one goroutine.
type Spool struct {
	Unsafe bool // made with init --unsafe

	Committed func(*audit.Line) // is told what this Spool changed, once it is durable; may be nil

	dir  string
	disk disk.Disk
	lock locker
	log  progress

	memory memory // of what was committed, outside the queue

	snapshot bool // a copy of a queue, which is only read

	done <-chan struct{} // closed: nobody wants to wait any more

	placed  map[string]int64 // where the tasks of the next commit stand in the agenda; nil: not looked at
	stopped place            // where Open was ended last: a place to look first
}

// locker takes the queue's lock, which is for whoever changes something; unlock gives
// it back.
type locker interface {
	take() (unlock func(), err error)
	try() (unlock func(), err error) // ErrLocked where another command has it
}

// Open opens a queue.
func Open(dir string) (*Spool, error) {
	if err := There(dir); err != nil {
		return nil, err
	}
	look, snapshot := Trust, isSnapshot(dir)
	if snapshot {
		look = trustSnapshot
	}
	if err := look(dir); err != nil {
		return nil, err
	}
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	if err := s.check(snapshot); err != nil {
		s.Close()
		return nil, err
	}
	if snapshot {
		if err := s.onlyRead(); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// There fails if a path holds no queue: only Create makes one. A mistyped path, or a
// volume that is not mounted, must not look like an empty queue.
func There(dir string) error {
	hint := "pulse-queue init --queue " + escape.Shell(dir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || err == nil && !info.IsDir():
		return fault.Usagef(hint, "%s: there is no queue", dir)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG):
		return fault.Usagef("ls -ld "+escape.Shell(dir), "queue: %w", err)
	case err != nil:
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, formatFile)); errors.Is(err, fs.ErrNotExist) {
		return fault.Usagef(hint, "%s: not a queue: it has no file %s", dir, formatFile)
	}
	return nil // or it is another account's, as Trust says
}

// check fails if what was opened is no queue of this format, or not to be trusted.
func (s *Spool) check(snapshot bool) error {
	dir := s.dir
	if d, ok := s.disk.(*disk.Dir); ok && !snapshot { // it may be another one than before
		if err := trust(dir, uint32(d.UID), uint32(d.GID), d.Shared()); err != nil {
			return err
		}
	}
	b, err := s.disk.Read(formatFile)
	switch {
	case err != nil:
		return err
	case string(b) != format:
		return fault.Usagef("use the pulse that made it", "%s: the queue's format is %s, this is %s", dir, bytes.TrimSpace(b), format)
	}
	if _, err := s.disk.Stat(networkFile); err != nil && !snapshot {
		return refuseNetwork(dir)
	}
	return nil
}

// Trust fails if others may write a queue, or put another one in its place. Root
// may use the queue of somebody else, if he and root alone can change any directory
// on the way to it; so may the members of a group that it was made for.
func Trust(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	return trust(dir, st.Uid, st.Gid, info.Mode().Perm()&0o020 != 0)
}

// trust is Trust, of a directory of uid and gid; shared: the group may write it.
func trust(dir string, uid, gid uint32, shared bool) (err error) {
	if shared {
		err = trustShared(dir, uid, gid)
	} else if uid != 0 && os.Geteuid() == 0 {
		err = safefile.Guarded(dir, uid)
	} else {
		if err = safefile.Own(dir); err == nil {
			err = safefile.Directory(filepath.Dir(dir))
		}
	}
	if errors.Is(err, safefile.ErrFUSE) {
		return fault.Usagef("findmnt -T "+escape.Shell(dir), "queue can't be trusted: %w", err)
	}
	if !errors.Is(err, safefile.ErrWritable) && !errors.Is(err, safefile.ErrOwner) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	hint := "chmod 700 " + escape.Shell(dir) + " (or run this as its owner)"
	if shared && marked(dir) {
		hint = hintShared(dir, gid)
	} else if safefile.Own(dir) == nil {
		hint = "chmod go-w " + escape.Shell(filepath.Dir(dir)) + ", or put the queue elsewhere"
	}
	return fault.Usagef(hint, "queue can't be trusted: %w", err)
}

func open(dir string) (*Spool, error) {
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	_, err = d.Stat(unsafeFile)
	s := &Spool{Unsafe: err == nil, dir: dir, disk: d, lock: lockOf(d)}
	s.log = begin(d)
	return s, nil
}

// Interrupt makes an end of waiting for the queue's lock when done is closed.
func (s *Spool) Interrupt(done <-chan struct{}) {
	s.done = done
	if l, ok := s.lock.(flock); ok {
		l.Done = done
	}
}

// Close gives the queue's descriptors back.
func (s *Spool) Close() {
	if r := s.memory.record; r != nil {
		r.Close()
	}
	if d, ok := s.disk.(*disk.Dir); ok {
		d.Close()
	}
}

// HasLog reports whether a directory holds lines of a log, or may: one that lost its file
// format is not a new queue once it has that again.
func HasLog(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(dir, auditDir))
	return len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR)
}

// Options are what a queue is made for.
type Options struct {
	Unsafe  bool // it takes what --unsafe-allow-all let through
	Network bool // it may lie on a network file system
	Groups
}

// Create makes a queue, or finishes one whose making was interrupted. The parent
// must exist, and dir must be absent or empty.
func Create(dir string, opt Options) error {
	if !opt.Network {
		if err := refuseNetwork(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fault.Usagef("mkdir -p "+escape.Shell(filepath.Dir(dir)), "can't make the queue: %w", err)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fault.Usagef("name a directory that does not exist yet", "%s: not a directory", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, formatFile)); err == nil {
		if err := sameGroups(dir, &opt); err != nil {
			return err
		}
		return refill(dir, &opt) // it is made
	}
	if err := onlyOurs(dir); err != nil {
		return err
	}
	if err := sameGroups(dir, &opt); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
		return fault.Usagef("pulse-queue init --queue "+escape.Shell(dir)+", as its owner", "%s: somebody else's directory is no queue yet", dir)
	}
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := lockOf(d).take()
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, formatFile)); err == nil {
		return sameGroups(dir, &opt) // another command was faster
	}
	return build(dir, opt)
}

// refill makes the directories that a queue of this account lacks: a copy may have left
// out those that were empty.
func refill(dir string, opt *Options) error {
	info, err := os.Stat(dir)
	if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() || isSnapshot(dir) || Trust(dir) != nil {
		return err // Open says what is wrong
	}
	made := false
	for _, name := range directories() {
		path := filepath.Join(dir, name)
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && opt.Approvers.Name != "" {
			err = give(path, opt.Approvers.ID, sharedDirMode)
		}
		if err != nil {
			return err
		}
		made = true
	}
	if !made {
		return nil
	}
	return disk.Sync(dir)
}

// build makes the directories, and the file format last.
func build(dir string, opt Options) error {
	for _, name := range directories() {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := opt.Groups.write(dir); err != nil {
		return err
	}
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	empty := []string{agendaFile, startsFile}
	if opt.Unsafe {
		empty = append(empty, unsafeFile)
	}
	if opt.Network {
		empty = append(empty, networkFile)
	}
	for _, name := range empty {
		if err := d.Write(name, nil, time.Time{}); err != nil {
			return err
		}
	}
	// Without a journal a directory that was never synced may hold, after a power cut, what
	// another one held whose place it took.
	if err := d.SyncAll(); err != nil {
		return err
	}
	if err := writeSynced(d, formatFile, []byte(format)); err != nil {
		return err
	}
	return disk.Sync(filepath.Dir(filepath.Clean(dir)))
}

// onlyOurs refuses to make a queue among other people's files.
func onlyOurs(dir string) error {
	if err := Trust(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := append(directories(), lockFile, unsafeFile, networkFile, formatFile, agendaFile, startsFile, groupsFile)
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fault.Usagef("name a directory that does not exist yet", "%s: not a queue and not empty: it holds %s", dir, e.Name())
		}
	}
	return nil
}

// Made returns when the queue was made.
func (s *Spool) Made() (time.Time, error) {
	st, err := s.disk.Stat(formatFile)
	return st.Mtime, err
}
