package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"pulse/lib/queue"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/entry"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// verifier reads the log, keeps what its lines changed (queue.Changes), and compares
// that with the files.
type verifier struct {
	*Spool
	queue.Report
	want string // a head that should stand in the chain; empty: any

	segment string // the log was read up to this file,
	size    int64  // so many bytes of it,
	lineNo  int    // and so many lines

	tasks    map[taskID]outcome
	moves    int64                        // lines that moved a task
	small    map[string][]byte            // what other files have to hold, by name
	may      map[string][]byte            // what files may hold that need not be there
	outboxes map[string]map[string]string // parent, effect, digest of the line
	sessions map[string]approval.Session
	derived  *Spool // counts and starts, as a queue in memory has them

	chainOnly bool // and not what the lines say

	touched  map[string]bool // tasks of the lines that were read since the files were looked at
	files    []finding       // what is wrong with the files of tasks
	fewFiles []string        // what is wrong with all others
}

type taskID [16]byte

// outcome is what the log makes of a task. It is small, because there may be a million.
type outcome struct {
	digest     [32]byte
	entry      [8]byte               // the beginning of the digest of the line of the agenda,
	besides    [len(besides)][8]byte // and of these files; zeros: there is none
	opened     int64                 // the line that opened it, counted in moves: the order of the agenda
	state, was task.State
	seen       uint8 // which of its files were there
}

func idOf(s string) (id taskID) {
	hex.Decode(id[:], []byte(s))
	return id
}

// finding is what is wrong with a file of a task, or of ids that were pruned.
type finding struct {
	about string // the task, or the file; empty: looking again can't change it
	text  string
}

// find notes what is wrong with the line of the log that was read last.
func (r *verifier) find(format string, args ...any) {
	at := fmt.Sprintf("audit/%s:%d: ", r.segment, r.lineNo)
	r.Findings = append(r.Findings, at+fmt.Sprintf(format, args...))
}

// findFile notes what is wrong with a file.
func (r *verifier) findFile(about, format string, args ...any) {
	r.files = append(r.files, finding{about, fmt.Sprintf(format, args...)})
}

// findSmall notes what is wrong with a file that is not one of a task.
func (r *verifier) findSmall(format string, args ...any) {
	r.fewFiles = append(r.fewFiles, fmt.Sprintf(format, args...))
}

func (r *verifier) reached(head string) {
	r.Head = head
	r.Knows = r.Knows || audit.Bare(head) == audit.Bare(r.want)
}

// Verify checks the chain of the log from its first line, whether head, if any, was once
// its head, and every file against what the log says about it. It needs some 400 bytes of
// memory a task. It takes no lock while it reads the files of tasks: it looks again at
// what was committed meanwhile.
func (s *Spool) Verify(head string) (*queue.Report, error) {
	r := s.verifier(head)
	return &r.Report, r.verify(true)
}

// VerifyChain checks the chain alone, that each line holds the hash of the one before it, and not
// what the lines say. It costs little more than to read the log.
func (s *Spool) VerifyChain() (*queue.Report, error) {
	r := s.verifier("")
	r.chainOnly = true
	return &r.Report, r.verify(false)
}

func (s *Spool) verifier(head string) *verifier {
	r := &verifier{
		Spool: s, want: head, Report: queue.Report{Knows: head == ""}, tasks: map[taskID]outcome{},
		small: map[string][]byte{}, may: map[string][]byte{}, outboxes: map[string]map[string]string{},
		sessions: map[string]approval.Session{}, derived: derived(),
	}
	r.reached(audit.Origin)
	return r
}

func (r *verifier) verify(files bool) error {
	edited := r.editedCheckpoint()
	broken := r.settle() // repairs first what a crash left
	r.Broken = errors.Is(broken, journal.ErrBroken)
	if broken != nil && !r.Broken {
		return broken
	}
	if err := r.readOn(); err != nil {
		return err
	}
	if r.Broken {
		r.Findings = append(r.Findings, broken.Error())
	}
	var err error
	if files {
		err = r.verifyFiles()
	}
	if edited {
		r.Findings = append(r.Findings, checkpointFile+": it was edited, and is made anew")
	}
	r.Findings = append(r.Findings, r.fewFiles...)
	for _, f := range r.files {
		r.Findings = append(r.Findings, f.text)
	}
	return err
}

// verifyFiles checks the files, and again what was committed meanwhile.
func (r *verifier) verifyFiles() error {
	err := r.verifyTasks()
	if r.Broken { // nothing is committed any more
		return errors.Join(err, r.verifySmall())
	}
	for range 3 { // each pass is shorter, and so leaves less to look at again
		if err == nil {
			err = errors.Join(r.settle(), r.verifyAgain())
		}
	}
	if err != nil {
		return err
	}
	return r.View(func(queue.View) error { return errors.Join(r.verifyAgain(), r.verifySmall()) })
}

// editedCheckpoint reports whether the checkpoint was edited by hand. A file that reads
// the same twice is not half written.
func (s *Spool) editedCheckpoint() bool {
	first, err := s.disk.Read(checkpointFile)
	if l := begin(s.disk); err != nil || !errors.Is(l.loadCheckpoint(nil, disk.Stat{}, &progress{}), errEdited) {
		return false
	}
	second, err := s.disk.Read(checkpointFile)
	return err == nil && bytes.Equal(first, second)
}

// readOn reads the log up to where it was carried out; a broken one, to its end.
func (r *verifier) readOn() error {
	segments, err := r.log.Segments()
	if err != nil {
		return err
	}
	for _, name := range segments {
		if name < r.segment || !r.Broken && name > r.log.Segment {
			continue
		}
		if name != r.segment {
			r.segment, r.size, r.lineNo = name, 0, 0
		}
		end := int64(-1)
		if !r.Broken && name == r.log.Segment {
			end = r.log.Size
		}
		if err := r.readSegment(end); err != nil {
			return err
		}
	}
	return nil
}

// readSegment reads the segment from where the verifier stands up to a size, or all of it
// if end is below 0.
func (r *verifier) readSegment(end int64) error {
	in := r.log.NewReader(r.segment, r.size)
	for end < 0 || r.size < end {
		line, err := in.Next()
		if err != nil {
			return err
		}
		if line == nil && !in.Torn() {
			return nil
		}
		r.lineNo++
		if r.chainOnly && line != nil {
			r.size += int64(len(line)) + 1
			if !r.link(line) {
				return nil
			}
			continue
		}
		l, err := audit.Parse(line)
		if err != nil || line == nil {
			r.find("not a whole line of the log")
			return nil
		}
		r.size += int64(len(line)) + 1
		if err := r.line(line, &l); err != nil {
			return err
		}
	}
	return nil
}

// link checks that a line holds the hash of the one before it, and reports whether it is a line.
func (r *verifier) link(line []byte) (whole bool) {
	prev := audit.PrevOf(line)
	switch prev {
	case "":
		r.find("not a whole line of the log")
		return false
	case r.Head:
	default:
		r.find("the chain is broken: a line before this one was changed, moved or removed")
	}
	r.reached(audit.Hash(line))
	return true
}

// line checks a line of the log, and keeps what the line changes.
func (r *verifier) line(line []byte, l *audit.Line) error {
	if l.Prev != r.Head {
		r.find("the chain is broken: a line before this one was changed, moved or removed")
	}
	r.reached(audit.Hash(line))
	r.checkGrant(l)
	r.checkSession(l)
	if l.Moves() {
		r.checkMove(l)
	}
	for _, c := range queue.Changes(l) {
		r.change(l, &c)
	}
	return r.derive(l)
}

// checkMove checks a transition. So a file moved by hand is found even after a command
// moved it on. A task file never changes, so its digest is the one that it was added with.
func (r *verifier) checkMove(l *audit.Line) {
	was := r.tasks[idOf(l.Task)]
	if l.From != was.state || task.Legal(l.Event, l.From, l.To) != nil {
		r.find("task %s was %s from %q, and the log had it in %q", l.Task, l.Event, l.From, was.state)
	}
	added := was.digest != [32]byte{}
	if digest := "sha256:" + hex.EncodeToString(was.digest[:]); added && l.Digest != "" && l.Digest != digest {
		r.find("task %s had been edited when it was %s", l.Task, l.Event)
	}
	r.moves++
}

// checkGrant checks that a grant which ends had been given.
func (r *verifier) checkGrant(l *audit.Line) {
	if l.Grant == nil || l.Event == audit.Granted {
		return
	}
	if _, given := r.small[fileOf(queue.Grants, l.Grant.ID)]; !given {
		r.find("grant %s was %s, and nobody had given it", l.Grant.ID, l.Event)
	}
}

// checkSession checks that each use of a session takes one use off, and changes nothing
// else.
func (r *verifier) checkSession(l *audit.Line) {
	if l.Session == nil {
		return
	}
	was, known := r.sessions[l.Session.ID]
	if l.Event == audit.SessionUsed {
		was.Left--
	}
	if opened := l.Event == audit.SessionOpened; opened == known || known && was != *l.Session {
		r.find("session %s was not what it was before this %s", l.Session.ID, l.Event)
	}
	r.sessions[l.Session.ID] = *l.Session
	if l.Event == audit.SessionEnded || l.Session.UsedUp() {
		delete(r.sessions, l.Session.ID)
	}
}

// change keeps what a change makes of a file, so that it can be compared with the file.
func (r *verifier) change(l *audit.Line, c *queue.Change) {
	name := fileOf(c.Shelf, c.Key)
	switch {
	case c.Shelf == queue.Drafts || c.Shelf == queue.Refused && r.snapshot: // people edit drafts, and it has no refused
	case c.Shelf == queue.Outbox:
		r.outbox(c)
	case byTask(c.Shelf) && c.Shelf != queue.Approvals && c.Shelf != queue.Partly && c.Shelf != queue.Spent:
		if r.touched != nil {
			r.touched[c.Key] = true
		}
		t := r.tasks[idOf(c.Key)]
		r.task(&t, l, c)
		r.tasks[idOf(c.Key)] = t
	case c.From != "":
		if yes := fileOf(c.From, c.Key); r.small[yes] != nil {
			r.may[name] = r.small[yes] // only a queue that has approvers keeps a spent approval
			delete(r.small, yes)
		}
	case c.Gone():
		delete(r.small, name)
		delete(r.may, name)
	default:
		r.small[name] = c.Bytes
	}
}

// task keeps what a change makes of a task.
func (r *verifier) task(t *outcome, l *audit.Line, c *queue.Change) {
	if c.Shelf == queue.On(l.To) || l.Event == audit.Resurfaced || l.Event == task.Learned {
		e := queue.EntryOf(l)
		t.entry = short(entry.Append(nil, &e))
	}
	switch {
	case c.Shelf == queue.Pruned:
		t.was = task.State(c.Bytes)
	case c.Shelf == queue.Names:
		t.was = named(string(c.Bytes))
	case slices.Contains(besides[:], c.Shelf):
		sum := &t.besides[slices.Index(besides[:], c.Shelf)]
		if was := *sum != [8]byte{}; c.Shelf == queue.Refused && was != c.Gone() {
			r.find("refused record %s was %s, and the log says something else of it before", c.Key, l.Event)
		}
		if *sum = begins(c.Digest); c.Bytes != nil {
			*sum = short(withNewline(c.Bytes))
		}
	case c.Gone():
		t.state = ""
	default:
		t.state = task.State(c.Shelf)
		if c.From == "" && t.digest == [32]byte{} {
			hex.Decode(t.digest[:], []byte(audit.Bare(c.Digest)))
		}
		if l.To.Open() && !l.From.Open() {
			t.opened = r.moves
		}
	}
}

// outbox keeps what a change makes of an outbox.
func (r *verifier) outbox(c *queue.Change) {
	if c.Less != "" {
		if delete(r.outboxes[c.Key], c.Less); len(r.outboxes[c.Key]) == 0 {
			delete(r.outboxes, c.Key)
		}
		return
	}
	all := map[string]string{}
	for _, one := range c.Lines {
		all[one.ID] = one.Digest
	}
	r.outboxes[c.Key] = all
}

// short returns the beginning of the digest of b.
func short(b []byte) (sum [8]byte) {
	whole := sha256.Sum256(b)
	copy(sum[:], whole[:])
	return sum
}

// begins returns the beginning of a digest that the log has; zeros: it has none.
func begins(digest string) (sum [8]byte) {
	hex.Decode(sum[:], fmt.Appendf(nil, "%.16s", audit.Bare(digest)))
	return sum
}
