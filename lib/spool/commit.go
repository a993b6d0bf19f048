package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// manyFiles is from how many new files on one syncfs is cheaper than an fsync for
// each of them.
const manyFiles = disk.Many

// tx is what an Update has staged.
type tx struct {
	view
	lines     []audit.Line
	states    map[string]task.State // of the tasks looked at or staged
	tmp       []disk.File
	shards    map[string]bool // files of pruned ids; nil: not looked at yet
	positions []queue.Position
	now       time.Time // of the positions
	refused   int       // in all
	unlisted  int       // of these without a line
}

// Update runs fn under the exclusive lock and then carries out what it staged:
// all of it, durably, or nothing if fn or the commit fails.
func (s *Spool) Update(fn func(queue.Tx) error) error {
	if err := s.Writable(); err != nil {
		return err
	}
	unlock, err := s.lock.take()
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.recover(); err != nil {
		return err
	}
	t := &tx{view: view{s}, states: map[string]task.State{}}
	if err = fn(t); err == nil {
		err = t.commit()
	}
	if err != nil {
		t.discard()
	}
	return err
}

// State returns the task's state, staged changes included.
func (t *tx) State(id string) (st task.State, err error) {
	st, ok := t.states[id]
	if !ok {
		if st, err = t.view.State(id); err == nil && st != "" {
			err = t.single(id, st)
		}
		if err == nil {
			t.states[id] = st // nobody else can change it now
		}
	}
	return st, err
}

// stage notes a file that the commit will write to tmp.
func (t *tx) stage(name string, b []byte, mtime time.Time) {
	t.tmp = append(t.tmp, disk.File{Name: tmpDir + "/" + name, Data: b, Mtime: mtime})
}

// Add stages a new task file in the state the line leads to.
func (t *tx) Add(file []byte, line audit.Line) error {
	st, err := t.State(line.Task)
	if err != nil {
		return err
	}
	if st != "" {
		return conflict(line, st)
	}
	if err := task.Legal(line.Event, "", line.To); err != nil {
		return err
	}
	// A file's mtime is when the task was made; a nanosecond apart keeps the order.
	mtime := line.Time.Add(time.Duration(len(t.lines)))
	t.stage(line.Task+".json", file, mtime)
	return t.log(line)
}

// Move stages a transition. It is a compare-and-swap: the task must be in the
// state that the line names.
func (t *tx) Move(line audit.Line) error {
	st, err := t.State(line.Task)
	if err != nil {
		return err
	}
	if st != line.From {
		return conflict(line, st)
	}
	if err := task.Legal(line.Event, line.From, line.To); err != nil {
		return err
	}
	return t.log(line)
}

// Keep stages what a worker printed, for the transition staged next.
func (t *tx) Keep(id string, b []byte) error {
	t.stage(id+".result", b, time.Time{})
	return nil
}

// Log stages a line that moves no task.
func (t *tx) Log(line audit.Line) error {
	if line.Moves() {
		return fmt.Errorf("spool: %s moves a task", line.Event)
	}
	return t.log(line)
}

// Refuse counts a refusal of the day, and stages its line unless the day has had
// its share of them.
func (t *tx) Refuse(line audit.Line) error {
	day := line.Time.UTC().Format(time.DateOnly)
	if t.Spool.log.Day != day {
		t.Spool.log.Day, t.Spool.log.Refused, t.refused, t.unlisted = day, 0, 0, 0
	}
	t.refused++
	switch n := t.Spool.log.Refused + t.refused; {
	case n <= queue.MaxRefusals:
		return t.log(line)
	case n == queue.MaxRefusals+1:
		t.unlisted++
		return t.log(audit.Line{Time: line.Time, Event: audit.Limited})
	}
	t.unlisted++
	return nil
}

// Position stages how far a source was read.
func (t *tx) Position(p queue.Position, now time.Time) {
	t.positions, t.now = append(t.positions, p), now
}

func (t *tx) log(line audit.Line) error {
	if line.Moves() {
		t.states[line.Task] = line.To
	}
	t.lines = append(t.lines, line)
	return nil
}

func conflict(line audit.Line, st task.State) error {
	return fmt.Errorf("%w: %s is in %q, not in %q", queue.ErrConflict, line.Task, st, line.From)
}

func (t *tx) commit() error {
	if err := t.further(); err != nil {
		return err
	}
	if len(t.lines) > 0 {
		if err := t.agree(t.lines); err != nil {
			return err
		}
		if err := t.writeTmp(); err != nil {
			return err
		}
		err := t.Spool.log.append(t.lines)
		if err == nil || errors.Is(err, errUncut) {
			t.tmp = nil // committed, or perhaps: from here on nothing is taken back
		}
		if err != nil {
			return err
		}
		if err := t.apply(t.lines); err != nil {
			return err
		}
		t.note()
		t.tell()
	}
	t.Spool.log.Refused += t.unlisted
	if len(t.lines) > 0 || t.unlisted > 0 {
		if err := t.compact(); err != nil {
			return err
		}
		return t.Spool.log.checkpoint()
	}
	return nil
}

// tell tells whoever listens what was committed.
func (t *tx) tell() {
	for i := range t.lines {
		if t.Committed != nil {
			t.Committed(&t.lines[i])
		}
	}
}

// writeTmp writes the new files, durably.
func (t *tx) writeTmp() error {
	if len(t.tmp) == 0 {
		return nil
	}
	if err := t.disk.WriteAll(t.tmp); err != nil {
		return err
	}
	if len(t.tmp) >= manyFiles {
		return t.disk.SyncAll()
	}
	for _, f := range t.tmp {
		if err := t.disk.SyncFile(f.Name); err != nil {
			return err
		}
	}
	return t.disk.SyncDir(tmpDir)
}

// discard removes what was staged and not committed. What it can't remove, the
// next command does.
func (t *tx) discard() {
	for _, f := range t.tmp {
		_ = t.disk.Remove(f.Name)
	}
}

// apply carries lines out and syncs every directory it touched.
func (s *Spool) apply(lines []audit.Line) error {
	a := newApplier(s.disk)
	a.shared, a.first = s.disk.Shared(), true
	for i := range lines {
		if err := a.line(&lines[i]); err != nil {
			return err
		}
	}
	if err := s.schedule(lines); err != nil {
		return err
	}
	if err := a.settle(); err != nil {
		return err
	}
	started, err := s.record(lines)
	if err != nil {
		return err
	}
	if started {
		a.wet = append(a.wet, startsFile)
	}
	if a.moved {
		a.wet = append(a.wet, agendaFile)
	}
	return a.sync()
}

// applier makes the directories say what the log says. Each step may have been
// taken already, by a command that died.
type applier struct {
	disk  disk.Disk
	dirs  map[string]bool
	wet   []string // files written and not synced
	moved bool     // a task

	old map[string]bool // names that go once the new ones of their files are durable

	settled map[string][]string // proposals that have a receipt, by who made them

	unsynced bool // it is all synced at once in the end: nothing need be noted

	shared bool // the queue has approvers
	first  bool // who carries the lines out wrote them

	// Results that a line says are gone, where later lines may say otherwise: they
	// are removed in the end. nil: at once.
	stale map[string]bool
}

func newApplier(d disk.Disk) *applier {
	return &applier{disk: d, dirs: map[string]bool{}, old: map[string]bool{}}
}

func (a *applier) line(l *audit.Line) error {
	if err := errors.Join(a.outbox(l), a.read(l)); err != nil {
		return err
	}
	switch {
	case l.Event == task.Pruned:
		a.moved = true
		return a.prune(l)
	case l.Moves():
		a.moved = true
		return a.task(l)
	case l.Event == audit.Granted:
		return a.answer(grantDir+"/"+l.Grant.ID+".json", l, l.Grant.Append(nil))
	case l.Event == audit.Revoked, l.Event == audit.Consumed:
		return a.remove(grantDir + "/" + l.Grant.ID + ".json")
	case l.Session != nil:
		return a.session(l)
	case l.Event == audit.Held:
		return a.write(holdFile, l.Append(nil))
	case l.Event == audit.Released:
		return a.remove(holdFile)
	}
	return nil
}

func (a *applier) task(l *audit.Line) error {
	if err := a.move(l); err != nil {
		return err
	}
	if err := a.result(l); err != nil {
		return err
	}
	meta := metaOf(l)
	if meta == nil {
		return nil // and there is no approval
	}
	if err := a.write(metaDir+"/"+l.Task+".json", meta); err != nil {
		return err
	}
	if a.shared {
		return a.kept(l)
	}
	approval := approvalFile(l.Task)
	if l.Approval == nil {
		return a.remove(approval)
	}
	return a.write(approval, l.Approval.Append(nil))
}

// metaOf returns what meta holds of a task after a line; nil where there is no such
// file: the task was added, and the decision says why it is where it is.
func metaOf(l *audit.Line) []byte {
	if l.To == "" || l.Event == task.Added && l.Change.NotBefore.IsZero() && l.Change.Reason != queue.ReasonSessionSpent {
		return nil
	}
	change := l.Change
	change.Since = l.Time
	return change.Append(nil)
}

// result keeps what the last worker printed, and nothing that one before it did.
// What lies in tmp may be of an attempt that was never committed, and torn.
func (a *applier) result(l *audit.Line) error {
	switch {
	case l.Result != "":
		delete(a.stale, l.Task)
		staged := l.Task + ".result"
		b, err := a.disk.Read(tmpDir + "/" + staged)
		if errors.Is(err, fs.ErrNotExist) || err == nil && task.Digest(b) != l.Result {
			a.dirs[resultDir] = true
			return nil // it was kept before
		}
		if err != nil {
			return err
		}
		if l.Event == task.Carried {
			return a.carry(tmpDir+"/"+staged, draftDir+"/"+l.Task+".json")
		}
		return a.carry(tmpDir+"/"+staged, resultDir+"/"+l.Task)
	case l.From == task.Running && a.stale != nil:
		a.stale[l.Task] = true
	case l.From == task.Running:
		return a.remove(resultDir + "/" + l.Task)
	}
	return nil
}

func (a *applier) write(name string, b []byte) error {
	tmp := tmpDir + "/applied"
	if err := a.disk.Write(tmp, append(b, '\n'), time.Time{}); err != nil {
		return err
	}
	if err := a.disk.Rename(tmp, name); err != nil {
		return err
	}
	a.wrote(name)
	return nil
}

// wrote notes a file that has to be synced, and its directory.
func (a *applier) wrote(name string) {
	if a.unsynced {
		return
	}
	a.wet = append(a.wet, name)
	a.dirs[dirOf(name)] = true
}

func (a *applier) remove(name string) error {
	err := a.disk.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	a.dirs[dirOf(name)] = true
	return err
}
