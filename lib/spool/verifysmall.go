package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
)

// verifySmall checks all that is read in little time: what is not a file of a task. It
// may be done again.
func (s *Spool) verifySmall(r *Report) error {
	r.small = nil
	return errors.Join(
		s.verifyYes(r), s.verifyHold(r), s.verifyPositions(r), s.verifyOutbox(r),
		s.verifyAgenda(r), s.verifyStarts(r), s.verifyCheckpoint(r))
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
	return s.verifyFew(r, []string{approvalDir, grantDir, sessionDir}, want, maybe)
}

// verifyFew checks that directories hold files that say what they must, or may, and
// nothing else. A snapshot has none of these directories.
func (s *Spool) verifyFew(r *Report, dirs []string, want, maybe map[string][]byte) error {
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
				r.findSmall("%s: the log knows nothing of it, or says something else", name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name := range want {
		if !s.snapshot {
			r.findSmall("%s: it is gone", name)
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
		r.findSmall("%s: it is gone: the log has the queue held", holdFile)
	case err != nil && !notFile(err):
		return err
	case err != nil || !bytes.Equal(b, r.hold):
		r.findSmall("%s: the log says something else", holdFile)
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
			r.findSmall("%s: byte %d: the log says something else: %q", agendaFile, off, line)
		case logged.entered < last:
			r.findSmall("%s: byte %d: task %x does not stand where it was taken", agendaFile, off, id)
		}
		listed[id], last = true, max(last, logged.entered)
		return true, nil
	})
	for id, logged := range r.tasks {
		if logged.state.Open() && !listed[id] {
			r.findSmall("%s: it lacks task %x", agendaFile, id)
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
	if err == nil && st.Size != want && !r.Broken {
		r.findSmall("%s: it has %d bytes, and should have %d", name, st.Size, want)
	}
	return err
}
