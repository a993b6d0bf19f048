package spool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/entry"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// verifier reads the log, folds what its lines changed (store.Fold), and compares that with the
// files. Of a thing it keeps the digest of what its file has to hold, because there may be millions.
type verifier struct {
	*Spool
	store.Report
	fold  *store.Fold[store.ID, digest]
	names map[store.ID]string // the keys of the fold that are no ids
	want  string              // a head that should stand in the chain; empty: any

	segment string // the log was read up to this file,
	size    int64  // so many bytes of it,
	lineNo  int    // and so many lines

	sessions map[string]approval.Session
	starts   *Spool // as a queue in memory has them

	chainOnly bool // and not what the lines say

	found    map[store.Shelf]int // how many of the things on a shelf have their file
	touched  map[string]bool     // tasks of the lines that were read since the files were looked at
	files    []finding           // what is wrong with the files of tasks
	fewFiles []string            // what is wrong with all others
}

type digest [sha256.Size]byte

// digestOf returns the digest that a text of the log spells; zeros if it spells none.
func digestOf(text string) (d digest) {
	hex.Decode(d[:], []byte(audit.Bare(text)))
	return d
}

// keyed returns a key in 16 bytes, which an id needs.
func keyed(key string) (id store.ID) {
	if task.ValidID(key) {
		return store.IDOf(key)
	}
	sum := sha256.Sum256([]byte(key))
	copy(id[:], sum[:])
	return id
}

// key returns a key of the fold. The few that are no ids are kept as they are, too.
func (r *verifier) key(key string) store.ID {
	id := keyed(key)
	if !task.ValidID(key) {
		r.names[id] = key
	}
	return id
}

// nameOf returns the file of a thing of the fold.
func (r *verifier) nameOf(s store.Shelf, id store.ID) string {
	return fileOf(s, cmp.Or(r.names[id], id.String()))
}

// keep returns the digest of what a line makes of the file of a thing or, of what is a line of an
// index, of that.
func keep(l *audit.Line, c *store.Change) digest {
	switch {
	case c.Shelf == store.Agenda:
		e := store.EntryOf(l)
		return sha256.Sum256(entry.Append(nil, &e))
	case c.Shelf == store.Pruned:
		return sha256.Sum256(appendPruned(nil, c.Key, task.State(c.Bytes)))
	case c.Shelf == store.Names:
		return sha256.Sum256(appendPruned(nil, c.Key, named(string(c.Bytes))))
	case c.Bytes != nil:
		return sha256.Sum256(withNewline(c.Bytes))
	}
	return digestOf(c.Digest)
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
// its head, and every file against what the log says about it. It needs some 800 bytes of
// memory a task. It takes no lock while it reads the files of tasks: it looks again at
// what was committed meanwhile.
func (s *Spool) Verify(head string) (*store.Report, error) {
	r := s.verifier(head)
	return &r.Report, r.verify(true)
}

// VerifyChain checks the chain alone, that each line holds the hash of the one before it, and not
// what the lines say. It costs little more than to read the log.
func (s *Spool) VerifyChain() (*store.Report, error) {
	r := s.verifier("")
	r.chainOnly = true
	return &r.Report, r.verify(false)
}

func (s *Spool) verifier(head string) *verifier {
	r := &verifier{
		Spool: s, want: head, Report: store.Report{Knows: head == ""}, names: map[store.ID]string{},
		sessions: map[string]approval.Session{}, starts: derived(),
	}
	r.fold = store.NewFold(r.key, keep)
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
	return r.View(func(store.View) error { return errors.Join(r.verifyAgain(), r.verifySmall()) })
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
	r.checkRefused(l)
	if l.Moves() {
		r.checkMove(l)
	}
	for _, id := range []string{l.Task, l.KnownAs} {
		if r.touched != nil && task.ValidID(id) {
			r.touched[id] = true
		}
	}
	r.fold.Add(line, l)
	return r.starts.indexStarts([]audit.Line{*l})
}

// checkMove checks a transition. So a file moved by hand is found even after a command
// moved it on. A task file never changes, so its digest is the one that it was added with.
func (r *verifier) checkMove(l *audit.Line) {
	was, known := r.fold.Tasks[keyed(l.Task)]
	if l.From != was.State || task.Legal(l.Event, l.From, l.To) != nil {
		r.find("task %s was %s from %q, and the log had it in %q", l.Task, l.Event, l.From, was.State)
	}
	if known && l.Digest != "" && l.Digest != "sha256:"+hex.EncodeToString(was.File[:]) {
		r.find("task %s had been edited when it was %s", l.Task, l.Event)
	}
}

// checkGrant checks that a grant which ends had been given.
func (r *verifier) checkGrant(l *audit.Line) {
	if l.Grant == nil || l.Event == audit.Granted {
		return
	}
	if _, given := r.fold.Get(store.Grants, l.Grant.ID); !given {
		r.find("grant %s was %s, and nobody had given it", l.Grant.ID, l.Event)
	}
}

// checkRefused checks that a refused record is kept once, and forgotten if it was kept.
func (r *verifier) checkRefused(l *audit.Line) {
	kept, forgotten := l.Event == task.Refused && l.Digest != "", l.Event == audit.Forgotten
	if _, was := r.fold.Get(store.Refused, l.Task); !r.snapshot && (kept && was || forgotten && !was) {
		r.find("refused record %s was %s, and the log says something else of it before", l.Task, l.Event)
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

// short returns the beginning of the digest of b.
func short(b []byte) (sum [8]byte) {
	whole := sha256.Sum256(b)
	copy(sum[:], whole[:])
	return sum
}
