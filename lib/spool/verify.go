package spool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/task"
)

// Report is what Verify found.
type Report struct {
	Head     string // hash of the last line
	Findings []string
	heads    map[string]bool
	grants   map[string]approval.Grant // that are good, as the log has it
}

// Bare returns a digest without "sha256:", as sha256sum prints it.
func Bare(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// Knows reports whether h was a head of the log at some time.
func (r *Report) Knows(h string) bool { return r.heads[Bare(h)] }

func (r *Report) find(format string, args ...any) {
	r.Findings = append(r.Findings, fmt.Sprintf(format, args...))
}

// Verify checks the chain of the log from its first line, and every task file
// against what the log says of it. Its memory grows with the number of tasks.
func (s *Spool) Verify() (Report, error) {
	r := Report{Head: audit.Origin, heads: map[string]bool{Bare(audit.Origin): true}, grants: map[string]approval.Grant{}}
	unlock, err := s.lock.take(true) // the repair of what a crash left comes first
	if err != nil {
		return r, err
	}
	defer unlock()
	recovered := s.recover()
	segments, err := s.log.segments()
	if err != nil {
		return r, err
	}
	last := map[string]audit.Line{}
	for _, name := range segments {
		if err := s.verifySegment(&r, name, last); err != nil {
			return r, err
		}
	}
	if recovered != nil && len(r.Findings) == 0 {
		return r, recovered
	}
	if err := s.verifyYes(&r, last); err != nil {
		return r, err
	}
	return r, s.verifyTasks(&r, last)
}

// verifyYes checks that nobody made an approval or a grant but through the log.
func (s *Spool) verifyYes(r *Report, last map[string]audit.Line) error {
	for dir, logged := range map[string]func(id string) []byte{
		approvalDir: func(id string) []byte {
			if a := last[id].Approval; a != nil {
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
	} {
		names, err := s.disk.List(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			b, err := s.disk.Read(dir + "/" + name)
			if err != nil && !notFile(err) {
				return err
			}
			if want := logged(strings.TrimSuffix(name, ".json")); want == nil || !bytes.Equal(bytes.TrimSpace(b), want) {
				r.find("%s/%s: the log knows nothing of it, or says something else", dir, name)
			}
		}
	}
	return nil
}

func (s *Spool) verifySegment(r *Report, name string, last map[string]audit.Line) error {
	b, err := s.disk.Read(auditDir + "/" + name)
	if err != nil {
		return err
	}
	for n := 1; len(b) > 0; n++ {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		l, err := audit.Parse(line)
		switch {
		case err != nil || !whole:
			r.find("audit/%s:%d: not a whole line of the log", name, n)
			return nil
		case l.Prev != r.Head:
			r.find("audit/%s:%d: the chain is broken: a line before this one was changed, moved or removed", name, n)
		}
		r.Head = audit.Hash(line)
		r.heads[Bare(r.Head)] = true
		r.granted(&l, name, n)
		if l.Task != "" && l.To != "" {
			// A file moved by hand is found even after it moved on by itself.
			if l.From != last[l.Task].To || task.Legal(l.Event, l.From, l.To) != nil {
				r.find("audit/%s:%d: task %s was %s from %q, and the log had it in %q", name, n, l.Task, l.Event, l.From, last[l.Task].To)
			}
			// A task file never changes, so what it was when added is what holds.
			if first := last[l.Task].Digest; first != "" {
				if l.Digest != "" && l.Digest != first {
					r.find("audit/%s:%d: task %s had been edited when it was %s", name, n, l.Task, l.Event)
				}
				l.Digest = first
			}
			last[l.Task] = l
		}
	}
	return nil
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

func (s *Spool) verifyTasks(r *Report, last map[string]audit.Line) error {
	for _, st := range task.States {
		names, err := s.disk.List(string(st))
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			id := strings.TrimSuffix(name, ".json")
			l, known := last[id]
			switch {
			case !known:
				r.find("%s/%s: the log knows nothing of it", st, name)
				continue
			case l.To != st:
				r.find("%s/%s: the log has it in %s", st, name, l.To)
			}
			delete(last, id)
			b, err := s.disk.Read(string(st) + "/" + name)
			if notFile(err) {
				r.find("%s/%s: it is not a file any more", st, name)
				continue
			}
			if err != nil {
				return err
			}
			if got := task.Digest(b); l.Digest != "" && got != l.Digest {
				r.find("%s/%s: it was edited: its digest is %s, the log says %s", st, name, got, l.Digest)
			}
		}
	}
	for id, l := range last {
		r.find("%s/%s.json: it is gone", l.To, id)
	}
	return nil
}
