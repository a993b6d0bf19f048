package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

	want      string
	tasks     map[taskID]left
	approvals map[string]*approval.Approval // that are good, as the log has it
	spent     map[string]*approval.Approval // by the start of a task that runs
	grants    map[string]approval.Grant
	sessions  map[string]approval.Session
	pending   pending
}

type taskID [16]byte

// left is where the log leaves a task, in a form that a million of them fit in.
type left struct {
	digest       [32]byte
	meta, result [8]byte // the beginning of the digests of these files; zeros: there is none
	state        task.State
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
		sessions: map[string]approval.Session{}, pending: pending{},
	}
	r.reached(audit.Origin)
	unlock, err := s.lock.take(true) // the repair of what a crash left comes first
	if err != nil {
		return r, err
	}
	defer func() { unlock() }()
	recovered := s.recover()
	if recovered == nil { // the files must hold still, but others may read them too
		unlock()
		if unlock, err = s.lock.take(false); err != nil {
			unlock = func() {}
			return r, err
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
	if errors.Is(recovered, ErrBroken) {
		r.find("%v", recovered)
	} else if recovered != nil {
		return r, recovered
	}
	if !files {
		return r, nil
	}
	return r, errors.Join(
		s.verifyYes(r), s.verifyAgenda(r), s.verifyPruned(r), s.verifyOutbox(r),
		s.verifyBeside(r, metaDir, ".json", func(l left) [8]byte { return l.meta }),
		s.verifyBeside(r, resultDir, "", func(l left) [8]byte { return l.result }),
		s.verifyTasks(r))
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
	now := left{digest: was.digest, state: l.To}
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

// verifyYes checks that nobody made an approval, a grant or a session but through
// the log.
func (s *Spool) verifyYes(r *Report) error {
	for dir, logged := range map[string]func(id string) []byte{
		approvalDir: func(id string) []byte {
			a := r.approvals[id]
			if task, spent := strings.CutSuffix(id, spentSuffix); spent {
				a = r.spent[task]
			}
			if a != nil {
				return a.Append(nil)
			}
			return nil
		},
		grantDir: func(id string) []byte {
			if g, ok := r.grants[id]; ok {
				return g.Append(nil)
			}
			return nil
		},
		sessionDir: func(id string) []byte {
			if s, ok := r.sessions[id]; ok {
				return s.Append(nil)
			}
			return nil
		},
	} {
		err := s.disk.Names(dir, func(name string) error {
			b, err := s.disk.Read(dir + "/" + name)
			if err != nil && !notFile(err) {
				return err
			}
			if want := logged(strings.TrimSuffix(name, ".json")); want == nil || !bytes.Equal(bytes.TrimSpace(b), want) {
				r.find("%s/%s: the log knows nothing of it, or says something else", dir, name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// verifyAgenda checks that the agenda holds what is open, and nothing else.
func (s *Spool) verifyAgenda(r *Report) error {
	listed := map[string]bool{}
	err := view{s}.Open(func(e queue.Entry) (bool, error) {
		logged := r.tasks[idOf(e.ID)]
		if logged.state != e.State || !strings.HasPrefix(hex.EncodeToString(logged.digest[:]), e.Digest) || listed[e.ID] {
			r.find("agenda: it has task %s in %s, and the log in %q", e.ID, e.State, logged.state)
		}
		listed[e.ID] = true
		return true, nil
	})
	for id, logged := range r.tasks {
		if logged.state.Open() && !listed[hex.EncodeToString(id[:])] {
			r.find("agenda: it lacks task %x", id)
		}
	}
	return err
}

// verifyBeside checks what lies beside the task files: a file that should be there
// or should not, or that holds something else.
func (s *Spool) verifyBeside(r *Report, dir, suffix string, want func(left) [8]byte) error {
	seen := map[taskID]bool{}
	err := s.disk.Names(dir, func(name string) error {
		id := strings.TrimSuffix(name, suffix)
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

// verifyPruned checks that every id that was pruned is still known.
func (s *Spool) verifyPruned(r *Report) error {
	known := map[taskID]bool{}
	err := s.disk.Names(prunedDir, func(name string) error {
		return lines(s.disk, prunedDir+"/"+name, prunedWidth, func(_ int64, line []byte) (bool, error) {
			id := string(line[:32])
			logged, ok := r.tasks[idOf(id)]
			if line[0] != 0 && (!task.ValidID(id) || !ok || logged.state != "" || !strings.HasPrefix(id, name)) {
				r.find("pruned/%s: the log knows nothing of %q", name, id)
			}
			known[idOf(id)] = true
			return true, nil
		})
	})
	for id, logged := range r.tasks {
		if logged.state == "" && !known[id] {
			r.find("pruned: it lacks task %x", id)
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
	id := strings.TrimSuffix(name, ".json")
	logged, known := r.tasks[idOf(id)]
	switch {
	case !task.ValidID(id) || !known || logged.state == "":
		r.find("%s/%s: the log knows nothing of it", st, name)
		return nil
	case logged.state != st:
		r.find("%s/%s: the log has it in %s", st, name, logged.state)
	default:
		delete(r.tasks, idOf(id)) // a second file of that name is one too many
	}
	b, err := s.disk.Read(string(st) + "/" + name)
	if notFile(err) {
		r.find("%s/%s: it is not a file any more", st, name)
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
