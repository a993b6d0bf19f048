package spool

import (
	"bytes"
	"errors"
	"io/fs"
	"pulse/lib/queue"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/entry"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"strings"
)

// verifySmall checks all files except those of tasks, which takes little time. It may be
// called again.
func (r *verifier) verifySmall() error {
	r.fewFiles = nil
	return errors.Join(r.verifyFew(), r.verifyHold(), r.verifyClock(), r.verifyOutboxes(),
		r.verifyAgenda(), r.verifyStarts(), r.verifyCheckpoint())
}

// few holds the shelves whose files are compared byte for byte.
var few = []queue.Shelf{queue.Approvals, queue.Grants, queue.Sessions, queue.Positions}

// verifyFew checks that the files on these shelves say what they have to, or may, and that
// there are no others. A snapshot has none of these directories.
func (r *verifier) verifyFew() error {
	seen := map[string]bool{holdFile: true, clockFile: true}
	for _, shelf := range few {
		dir := dirOf(shelf)
		err := r.disk.Names(dir, func(name string) error {
			name = dir + "/" + name
			b, err := r.disk.Read(name)
			if err != nil && !notFile(err) {
				return err
			}
			if seen[name] = true; err != nil || !r.says(name, b) {
				r.findSmall("%s: the log knows nothing of it, or says something else", name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name := range r.small {
		if !r.snapshot && !seen[name] {
			r.findSmall("%s: it is gone", name)
		}
	}
	return nil
}

// says reports whether a file holds what the log says, or allows. Older versions did not
// log positions: that of a source which was not read since need only have the form of one.
func (r *verifier) says(name string, b []byte) bool {
	logged, ok := r.small[name]
	if !ok {
		logged, ok = r.may[name]
	}
	if rec, err := record.Parse(b); !ok && err == nil && parentOf(name) == positionDir {
		p, err := audit.DecodePosition(rec.Value())
		if err == nil && fileOf(queue.Positions, queue.PositionKey(p.Source)) == name {
			logged, ok = p.Append(nil), true
		}
	}
	return ok && bytes.Equal(b, withNewline(logged))
}

// verifyHold checks that a queue on hold by the log is on hold. A hold file made by hand
// is allowed.
func (r *verifier) verifyHold() error {
	logged := r.small[holdFile]
	b, err := r.disk.Read(holdFile)
	switch {
	case logged == nil && (err == nil || errors.Is(err, fs.ErrNotExist) || notFile(err)):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		r.findSmall("%s: it is gone: the log has the queue held", holdFile)
	case err != nil && !notFile(err):
		return err
	case err != nil || !bytes.Equal(b, withNewline(logged)):
		r.findSmall("%s: the log says something else", holdFile)
	}
	return nil
}

// verifyClock checks that the queue knows the last jump of its clock, and no other.
func (r *verifier) verifyClock() error {
	logged := r.small[clockFile]
	b, err := r.disk.Read(clockFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && logged != nil:
		r.findSmall("%s: it is gone: the log has a jump of the clock", clockFile)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil && !notFile(err):
		return err
	case err != nil || logged == nil || !bytes.Equal(b, withNewline(logged)):
		r.findSmall("%s: the log says something else", clockFile)
	}
	return nil
}

// verifyAgenda checks that the agenda holds the open tasks in their order, and nothing
// else.
func (r *verifier) verifyAgenda() error {
	listed, last := map[taskID]bool{}, int64(0)
	err := agenda.Each(r.disk, func(off int64, line []byte) (bool, error) {
		id := idOf(string(line[2:34]))
		logged := r.tasks[id]
		if line[0] == entry.Closed {
			if logged.opened == 0 || entry.Torn(line) {
				r.findSmall("%s: byte %d: no task left this line: %q", agendaFile, off, line)
			}
			return true, nil
		}
		switch {
		case !logged.state.Open() || short(line) != logged.entry || listed[id]:
			r.findSmall("%s: byte %d: the log says something else: %q", agendaFile, off, line)
		case logged.opened < last:
			r.findSmall("%s: byte %d: task %x does not stand where it was taken", agendaFile, off, id)
		}
		listed[id], last = true, max(last, logged.opened)
		return true, nil
	})
	for id, logged := range r.tasks {
		if logged.state.Open() && !listed[id] {
			r.findSmall("%s: it lacks task %x", agendaFile, id)
		}
	}
	return errors.Join(err, r.verifySize(agendaFile, r.log.agenda))
}

// verifySize checks the size of an index, because parts of a line at its end are skipped
// by its readers.
func (r *verifier) verifySize(name string, want int64) error {
	st, err := r.disk.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && want == 0 {
		return nil
	}
	if err == nil && st.Size != want && !r.Broken {
		r.findSmall("%s: it has %d bytes, and should have %d", name, st.Size, want)
	}
	return err
}

// verifyOutboxes checks that the outboxes hold the effects that were proposed and not
// added yet, and nothing else.
func (r *verifier) verifyOutboxes() error {
	seen := map[string]bool{}
	err := disk.NamesIfAny(r.disk, outboxDir, func(name string) error { // a snapshot has none
		b, err := r.disk.Read(outboxDir + "/" + name)
		if err != nil && !notFile(err) {
			return err
		}
		parent, named := strings.CutSuffix(name, ".jsonl")
		logged := r.outboxes[parent]
		list, err := queue.ReadOutbox(b)
		same := named && err == nil && len(list) == len(logged) && len(list) > 0
		for _, one := range list {
			same = same && logged[one.ID] == one.Digest
		}
		if !same {
			r.findSmall("%s/%s: the log says something else of it", outboxDir, name)
		}
		seen[parent] = true
		return nil
	})
	for parent := range r.outboxes {
		if !r.snapshot && !seen[parent] {
			r.findSmall("%s/%s.jsonl: it is gone", outboxDir, parent)
		}
	}
	return err
}
