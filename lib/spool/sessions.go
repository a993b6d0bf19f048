package spool

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/queue"
	"pulse/lib/record"
)

// sessionDir keeps the sessions that something needs, a file for each.
const sessionDir = "sessions"

func sessionFile(id string) string { return sessionDir + "/" + id + ".json" }

// ReadSessions returns the sessions of the queue in dir, those that expired and were
// not looked at since among them. done ends the wait for its lock.
func ReadSessions(dir string, done <-chan struct{}) (list []approval.Session, err error) {
	s, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	s.Interrupt(done)
	err = s.View(func(v queue.View) error {
		list, err = v.Sessions()
		return err
	})
	return list, err
}

// Sessions returns all sessions, those opened first first. One that can't be read
// is good for nothing, and left out.
func (v view) Sessions() (all []approval.Session, err error) {
	names, err := disk.List(v.disk, sessionDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a snapshot has none
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var s approval.Session
		_, err := v.object(sessionDir+"/"+name, func(val record.Value) (err error) {
			s, err = approval.DecodeSession(val)
			return err
		})
		if errors.Is(err, queue.ErrCorrupt) || err == nil && sessionFile(s.ID) != sessionDir+"/"+name {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b approval.Session) int {
		return cmp.Or(a.Opened.Compare(b.Opened), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// session carries out a line about a session. One that is used up goes, unless it was
// signed: it is proven anew where what came in within it starts.
func (a *applier) session(l *audit.Line) error {
	name := sessionFile(l.Session.ID)
	if l.Event == audit.SessionEnded || l.Session.UsedUp() {
		return a.remove(name)
	}
	return a.answer(name, l, l.Session.Append(nil))
}

// session follows the sessions: each use takes one of what was left, and changes
// nothing else.
func (r *Report) session(l *audit.Line, segment string, n int) {
	if l.Session == nil {
		return
	}
	was, known := r.sessions[l.Session.ID]
	if l.Event == audit.SessionUsed {
		was.Left--
	}
	if opened := l.Event == audit.SessionOpened; opened == known || known && was != *l.Session {
		r.find("audit/%s:%d: session %s was not what it was before this %s", segment, n, l.Session.ID, l.Event)
	}
	r.sessions[l.Session.ID] = *l.Session
	if l.Event == audit.SessionEnded || l.Session.UsedUp() {
		delete(r.sessions, l.Session.ID)
	}
}
