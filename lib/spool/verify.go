package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

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
}

func idOf(s string) (id taskID) {
	hex.Decode(id[:], []byte(s))
	return id
}

func (r *Report) find(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

func (r *Report) reached(head string) {
	r.Head = head
	r.Knows = r.Knows || audit.Bare(head) == audit.Bare(r.want)
}

// Verify checks the chain of the log from its first line, whether head, if any, was
// once its head, and every task file against what the log says of it. It takes some
// 400 bytes of memory a task.
func (s *Spool) Verify(head string) (*Report, error) { return s.verify(head, true) }

// VerifyChain checks the chain alone.
func (s *Spool) VerifyChain() (*Report, error) { return s.verify("", false) }

func (s *Spool) verify(head string, files bool) (*Report, error) {
	r := &Report{
		want: head, Knows: head == "", tasks: map[taskID]left{},
		approvals: map[string]*approval.Approval{}, spent: map[string]*approval.Approval{}, grants: map[string]approval.Grant{},
		sessions: map[string]approval.Session{}, pending: pending{}, positions: map[string]queue.Position{},
		derived: derived(),
	}
	r.reached(audit.Origin)
	unlock, err := s.lock.take(true) // the repair of what a crash left comes first
	if err != nil {
		return r, err
	}
	defer func() { unlock() }()
	if l := startOf(s.disk); errors.Is(l.loadCheckpoint(nil), errEdited) {
		r.find("%s: it was edited, and is made anew", checkpointFile)
	}
	recovered := s.recover()
	for behind := true; recovered == nil && behind; { // the files must hold still, but others may read them too
		unlock()
		if unlock, err = s.lock.take(false); err != nil {
			unlock = func() {}
			return r, err
		}
		if behind, recovered = s.reload(); behind { // somebody died meanwhile
			unlock()
			if unlock, err = s.lock.take(true); err != nil {
				unlock = func() {}
				return r, err
			}
			recovered = s.recover()
		}
	}
	segments, err := s.log.segments()
	if err != nil {
		return r, err
	}
	for _, name := range segments {
		if err := s.verifySegment(r, name); err != nil {
			return r, err
		}
	}
	if r.Broken = errors.Is(recovered, ErrBroken); r.Broken {
		r.find("%v", recovered)
	} else if recovered != nil {
		return r, recovered
	}
	if !files {
		return r, nil
	}
	return r, errors.Join(
		s.verifyYes(r), s.verifyHold(r), s.verifyPositions(r), s.verifyOutbox(r),
		s.verifyAgenda(r), s.verifyStarts(r), s.verifyCheckpoint(r), s.verifyPruned(r),
		s.verifyBeside(r, metaDir, ".json", func(l left) [8]byte { return l.meta }),
		s.verifyBeside(r, resultDir, "", func(l left) [8]byte { return l.result }),
		s.verifyTasks(r))
}

// reload finds out how far the log was carried out by others.
func (s *Spool) reload() (behind bool, err error) {
	if err := s.load(); err != nil {
		return false, err
	}
	return s.log.behind()
}

func (s *Spool) verifySegment(r *Report, name string) error {
	in := lineReader{disk: s.disk, name: auditDir + "/" + name}
	for n := 1; ; n++ {
		line, err := in.next()
		if err != nil {
			return err
		}
		if line == nil {
			if len(in.buf) > 0 {
				r.find("audit/%s:%d: not a whole line of the log", name, n)
			}
			return nil
		}
		l, err := audit.Parse(line)
		if err != nil {
			r.find("audit/%s:%d: not a whole line of the log", name, n)
			return nil
		}
		if l.Prev != r.Head {
			r.find("audit/%s:%d: the chain is broken: a line before this one was changed, moved or removed", name, n)
		}
		r.reached(audit.Hash(line))
		r.granted(&l, name, n)
		r.session(&l, name, n)
		r.pending.line(&l)
		r.read(&l)
		switch l.Event {
		case audit.Held:
			r.hold = append(bytes.Clone(line), '\n')
		case audit.Released:
			r.hold = nil
		}
		if err := r.derive(&l); err != nil {
			return err
		}
		if l.Moves() {
			r.moved(&l, name, n)
		}
	}
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

// verifyYes checks that approvals, grants and sessions are those of the log: none that
// nobody gave, and none gone.
func (s *Spool) verifyYes(r *Report) error {
	want, maybe := map[string][]byte{}, map[string][]byte{}
	for id, a := range r.approvals {
		want[approvalFile(id)] = a.Append(nil)
	}
	for id, a := range r.spent { // only a queue that has approvers keeps it
		maybe[spentFile(id)] = a.Append(nil)
	}
	for id, g := range r.grants {
		want[grantFile(id)] = g.Append(nil)
	}
	for id, session := range r.sessions {
		want[sessionFile(id)] = session.Append(nil)
	}
	return s.verifySmall(r, []string{approvalDir, grantDir, sessionDir}, want, maybe)
}

// verifySmall checks that directories hold files that say what they must, or may, and
// nothing else. A snapshot has none of these directories.
func (s *Spool) verifySmall(r *Report, dirs []string, want, maybe map[string][]byte) error {
	for _, dir := range dirs {
		err := s.disk.Names(dir, func(name string) error {
			name = dir + "/" + name
			b, err := s.disk.Read(name)
			if err != nil && !notFile(err) {
				return err
			}
			logged, ok := want[name]
			if !ok {
				logged = maybe[name]
			}
			if delete(want, name); err != nil || logged == nil || !bytes.Equal(b, append(slices.Clip(logged), '\n')) {
				r.find("%s: the log knows nothing of it, or says something else", name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name := range want {
		if !s.snapshot {
			r.find("%s: it is gone", name)
		}
	}
	return nil
}

// verifyHold checks that a queue that the log has held is. A file made by hand holds
// one, too.
func (s *Spool) verifyHold(r *Report) error {
	b, err := s.disk.Read(holdFile)
	switch {
	case r.hold == nil && (err == nil || errors.Is(err, fs.ErrNotExist) || notFile(err)):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		r.find("%s: it is gone: the log has the queue held", holdFile)
	case err != nil && !notFile(err):
		return err
	case err != nil || !bytes.Equal(b, r.hold):
		r.find("%s: the log says something else", holdFile)
	}
	return nil
}

// verifyAgenda checks that the agenda holds what is open, in its order, and nothing else.
func (s *Spool) verifyAgenda(r *Report) error {
	listed, last := map[taskID]bool{}, int64(0)
	err := lines(s.disk, agendaFile, agendaWidth, func(off int64, line []byte) (bool, error) {
		if line[0] == closed {
			return true, nil
		}
		id := idOf(string(line[2:34]))
		logged := r.tasks[id]
		switch {
		case !logged.state.Open() || short(line) != logged.entry || listed[id]:
			r.find("%s: byte %d: the log says something else: %q", agendaFile, off, line)
		case logged.entered < last:
			r.find("%s: byte %d: task %x does not stand where it was taken", agendaFile, off, id)
		}
		listed[id], last = true, max(last, logged.entered)
		return true, nil
	})
	for id, logged := range r.tasks {
		if logged.state.Open() && !listed[id] {
			r.find("%s: it lacks task %x", agendaFile, id)
		}
	}
	return errors.Join(err, s.verifySize(r, agendaFile, s.log.agenda))
}

// verifySize checks the size of a file: what stands behind it counts, too.
func (s *Spool) verifySize(r *Report, name string, want int64) error {
	st, err := s.disk.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && want == 0 {
		return nil
	}
	if err == nil && st.size != want && !r.Broken {
		r.find("%s: it has %d bytes, and should have %d", name, st.size, want)
	}
	return err
}

// verifyBeside checks what lies beside the task files: a file that should be there
// or should not, or that holds something else.
func (s *Spool) verifyBeside(r *Report, dir, suffix string, want func(left) [8]byte) error {
	seen := map[taskID]bool{}
	err := s.disk.Names(dir, func(name string) error {
		id := strings.TrimSuffix(name, suffix)
		if id+suffix != name {
			id = ""
		}
		b, err := s.disk.Read(dir + "/" + name)
		if err != nil && !notFile(err) {
			return err
		}
		if logged := want(r.tasks[idOf(id)]); !task.ValidID(id) || err != nil || logged == [8]byte{} || short(b) != logged {
			r.find("%s/%s: the log knows nothing of it, or says something else", dir, name)
		}
		seen[idOf(id)] = true
		return nil
	})
	for id, logged := range r.tasks {
		if want(logged) != [8]byte{} && !seen[id] {
			r.find("%s/%x%s: it is gone", dir, id, suffix)
		}
	}
	return err
}

// verifyTasks checks every file of every state.
func (s *Spool) verifyTasks(r *Report) error {
	for _, st := range task.States {
		err := s.disk.Names(string(st), func(name string) error {
			return s.verifyTask(r, st, name)
		})
		if err != nil {
			return err
		}
	}
	for id, logged := range r.tasks {
		if logged.state != "" {
			r.find("%s/%x.json: it is gone", logged.state, id)
		}
	}
	return nil
}

func (s *Spool) verifyTask(r *Report, st task.State, name string) error {
	id, named := strings.CutSuffix(name, ".json")
	logged, known := r.tasks[idOf(id)]
	switch {
	case !named || !task.ValidID(id) || !known || logged.state == "":
		r.find("%s/%s: the log knows nothing of it", st, name)
		return nil
	case logged.state != st:
		r.find("%s/%s: the log has it in %s", st, name, logged.state)
	default:
		delete(r.tasks, idOf(id)) // a second file of that name is one too many
	}
	b, err := s.disk.Read(string(st) + "/" + name)
	if notFile(err) {
		r.find("%s/%s: it is not a file any more, or not one that can be read: %v", st, name, err)
		return nil
	}
	if err != nil {
		return err
	}
	if got := task.Digest(b); audit.Bare(got) != hex.EncodeToString(logged.digest[:]) {
		r.find("%s/%s: it was edited: its digest is %s, the log says sha256:%x", st, name, got, logged.digest)
	}
	return nil
}
