package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// Report is what Verify found.
type Report struct {
	Head     string // hash of the last line
	Knows    bool   // the head that was asked for stands in the chain
	Findings []string
	Broken   bool // the log can't be carried out

	segment string          // up to where the log was read: its file,
	size    int64           // so many bytes of it,
	lineNo  int             // so many lines
	touched map[string]bool // tasks that lines read since their files were looked at speak of
	files   []finding       // what is wrong with the files of tasks
	small   []string        // and with all others

	want      string
	lines     int64 // that moved a task
	tasks     map[taskID]left
	approvals map[string]*approval.Approval // that are good, as the log has it
	spent     map[string]*approval.Approval // by the start of a task that runs
	grants    map[string]approval.Grant
	sessions  map[string]approval.Session
	pending   pending
	positions map[string]queue.Position // by the name of the file
	hold      []byte                    // what the file holds; nil: the queue is not held
	derived   *Spool                    // counts and starts, as a queue in memory has them
}

type taskID [16]byte

// left is where the log leaves a task, in a form that a million of them fit in.
type left struct {
	digest       [32]byte
	meta, result [8]byte // the beginning of the digests of these files; zeros: there is none
	entry        [8]byte // and of the line of the agenda
	entered      int64   // in which order it stands there
	state, was   task.State
	seen         uint8 // which of its files were there
}

func idOf(s string) (id taskID) {
	hex.Decode(id[:], []byte(s))
	return id
}

// finding is what is wrong with a file of a task, or of ids that were pruned.
type finding struct {
	about string // the task, or the file; empty: neither, and nothing that moves
	text  string
}

// find notes what is wrong with the log.
func (r *Report) find(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// findFile notes what is wrong with a file.
func (r *Report) findFile(about, format string, args ...any) {
	r.files = append(r.files, finding{about, fmt.Sprintf(format, args...)})
}

// findSmall notes what is wrong with a file that is no task's.
func (r *Report) findSmall(format string, args ...any) {
	r.small = append(r.small, fmt.Sprintf(format, args...))
}

func (r *Report) reached(head string) {
	r.Head = head
	r.Knows = r.Knows || audit.Bare(head) == audit.Bare(r.want)
}

// Verify checks the chain of the log from its first line, whether head, if any, was
// once its head, and every file against what the log says of it. It takes some 400
// bytes of memory a task, and keeps nobody waiting: what was committed while it read
// the files is looked at again.
func (s *Spool) Verify(head string) (*Report, error) { return s.verify(head, true) }

// VerifyChain checks the chain alone.
func (s *Spool) VerifyChain() (*Report, error) { return s.verify("", false) }

func (s *Spool) verify(head string, files bool) (*Report, error) {
	r := newReport(head)
	edited := s.editedCheckpoint()
	err := s.settle() // the repair of what a crash left comes first
	r.Broken = errors.Is(err, ErrBroken)
	if err != nil && !r.Broken {
		return r, err
	}
	broken := err
	if err := s.readOn(r); err != nil {
		return r, err
	}
	if r.Broken {
		r.find("%v", broken)
	}
	switch {
	case !files:
		err = nil
	case r.Broken: // nothing is committed any more
		err = errors.Join(s.verifyFiles(r), s.verifySmall(r))
	default:
		err = s.verifyFiles(r)
		for range 3 { // the longer it took, the more there is to look at again
			if err == nil {
				err = errors.Join(s.settle(), s.verifyAgain(r))
			}
		}
		if err == nil {
			err = s.View(func(queue.View) error { return errors.Join(s.verifyAgain(r), s.verifySmall(r)) })
		}
	}
	if edited {
		r.find("%s: it was edited, and is made anew", checkpointFile)
	}
	r.Findings = append(r.Findings, r.small...)
	for _, f := range r.files {
		r.Findings = append(r.Findings, f.text)
	}
	return r, err
}

func newReport(head string) *Report {
	r := &Report{
		want: head, Knows: head == "", tasks: map[taskID]left{},
		approvals: map[string]*approval.Approval{}, spent: map[string]*approval.Approval{}, grants: map[string]approval.Grant{},
		sessions: map[string]approval.Session{}, pending: pending{}, positions: map[string]queue.Position{},
		derived: derived(),
	}
	r.reached(audit.Origin)
	return r
}

// editedCheckpoint reports whether somebody edited the checkpoint. What two readings
// agree on is not half written.
func (s *Spool) editedCheckpoint() bool {
	first, err := s.disk.Read(checkpointFile)
	if l := startOf(s.disk); err != nil || !errors.Is(l.loadCheckpoint(nil), errEdited) {
		return false
	}
	second, err := s.disk.Read(checkpointFile)
	return err == nil && bytes.Equal(first, second)
}

// readOn reads the log on to where it was carried out; one that is broken, to its end.
func (s *Spool) readOn(r *Report) error {
	segments, err := s.log.segments()
	if err != nil {
		return err
	}
	for _, name := range segments {
		if name < r.segment || !r.Broken && name > s.log.segment {
			continue
		}
		if name != r.segment {
			r.segment, r.size, r.lineNo = name, 0, 0
		}
		end := int64(-1)
		if !r.Broken && name == s.log.segment {
			end = s.log.size
		}
		if err := s.verifySegment(r, end); err != nil {
			return err
		}
	}
	return nil
}

// verifySegment reads a segment from where the report stands to end; below 0, to where
// it ends.
func (s *Spool) verifySegment(r *Report, end int64) error {
	in := lineReader{disk: s.disk, name: auditDir + "/" + r.segment, off: r.size}
	for end < 0 || r.size < end {
		line, err := in.next()
		if err != nil {
			return err
		}
		if line == nil && len(in.buf) == 0 {
			return nil
		}
		r.lineNo++
		l, err := audit.Parse(line)
		if err != nil || line == nil {
			r.find("audit/%s:%d: not a whole line of the log", r.segment, r.lineNo)
			return nil
		}
		r.size += int64(len(line)) + 1
		if err := r.line(line, &l); err != nil {
			return err
		}
	}
	return nil
}

// line reckons a line of the log in.
func (r *Report) line(line []byte, l *audit.Line) error {
	name, n := r.segment, r.lineNo
	if l.Prev != r.Head {
		r.find("audit/%s:%d: the chain is broken: a line before this one was changed, moved or removed", name, n)
	}
	r.reached(audit.Hash(line))
	r.granted(l, name, n)
	r.session(l, name, n)
	r.pending.line(l)
	r.read(l)
	switch l.Event {
	case audit.Held:
		r.hold = append(bytes.Clone(line), '\n')
	case audit.Released:
		r.hold = nil
	}
	if err := r.derive(l); err != nil {
		return err
	}
	if l.Moves() {
		r.moved(l, name, n)
	}
	return nil
}

// moved follows a task. A file moved by hand is found even after it moved on by
// itself; and a task file never changes, so what it was when added is what holds.
func (r *Report) moved(l *audit.Line, segment string, n int) {
	was, known := r.tasks[idOf(l.Task)]
	if l.From != was.state || task.Legal(l.Event, l.From, l.To) != nil {
		r.find("audit/%s:%d: task %s was %s from %q, and the log had it in %q", segment, n, l.Task, l.Event, l.From, was.state)
	}
	now := left{digest: was.digest, state: l.To, was: l.From, entered: was.entered}
	if l.To.Open() {
		e := entryOf(l)
		now.entry = short(appendEntry(nil, &e))
	}
	if r.lines++; l.To.Open() && !l.From.Open() {
		now.entered = r.lines
	}
	if !known {
		hex.Decode(now.digest[:], []byte(audit.Bare(l.Digest)))
	} else if was := "sha256:" + hex.EncodeToString(was.digest[:]); l.Digest != "" && l.Digest != was {
		r.find("audit/%s:%d: task %s had been edited when it was %s", segment, n, l.Task, l.Event)
	}
	if meta := metaOf(l); meta != nil {
		now.meta = short(append(meta, '\n'))
	}
	if bare := audit.Bare(l.Result); len(bare) >= 16 && l.Event != task.Carried {
		hex.Decode(now.result[:], []byte(bare[:16]))
	} else if l.From != task.Running && l.To != "" {
		now.result = was.result
	}
	r.tasks[idOf(l.Task)] = now
	if r.touched != nil {
		r.touched[l.Task] = true
	}
	delete(r.spent, l.Task)
	if a := r.approvals[l.Task]; a != nil && l.Event == task.Started && l.Approval == nil {
		r.spent[l.Task] = a
	}
	delete(r.approvals, l.Task)
	if l.Approval != nil {
		r.approvals[l.Task] = l.Approval
	}
}

// short is the beginning of a digest.
func short(b []byte) (sum [8]byte) {
	whole := sha256.Sum256(b)
	copy(sum[:], whole[:])
	return sum
}

// granted follows the grants.
func (r *Report) granted(l *audit.Line, segment string, n int) {
	if l.Grant == nil {
		return
	}
	if l.Event == audit.Granted {
		r.grants[l.Grant.ID] = *l.Grant
		return
	}
	if _, ok := r.grants[l.Grant.ID]; !ok {
		r.find("audit/%s:%d: grant %s was %s, and nobody had given it", segment, n, l.Grant.ID, l.Event)
	}
	delete(r.grants, l.Grant.ID)
}
