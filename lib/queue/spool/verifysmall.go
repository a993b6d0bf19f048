package spool

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
)

// verifySmall checks all files except those of tasks, which takes little time. It may be
// called again.
func (r *verifier) verifySmall() error {
	r.fewFiles = nil
	return errors.Join(r.verifyFew(), r.verifyHold(), r.verifyClock(), r.verifyOutboxes(),
		r.verifyAgenda(), r.verifyStarts(), r.verifyCheckpoint())
}

// few holds the shelves whose files are not of tasks, and are few. Only a queue that has
// approvers keeps a spent approval.
var few = []store.Shelf{store.Approvals, store.Grants, store.Sessions, store.Positions, store.Findings, store.Spent, store.Partly}

// verifyFew checks that the files on these shelves say what they have to, or may, and that
// there are no others. A snapshot has none of these directories.
func (r *verifier) verifyFew() error {
	seen := map[string]bool{}
	for _, dir := range []string{approvalDir, grantDir, sessionDir, positionDir} {
		err := r.disk.Names(dir, func(name string) error {
			b, err := r.disk.Read(dir + "/" + name)
			if err != nil && !notFile(err) {
				return err
			}
			if seen[dir+"/"+name] = true; err != nil || !r.says(dir, name, b) {
				r.findSmall("%s/%s: the log knows nothing of it, or says something else", dir, name)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, s := range few {
		for id := range r.fold.Things[s] {
			if name := r.nameOf(s, id); !r.snapshot && s != store.Spent && !seen[name] {
				r.findSmall("%s: it is gone", name)
			}
		}
	}
	return nil
}

// says reports whether a file holds what the log says, or allows. Older versions did not
// log positions: that of a source which was not read since need only have the form of one.
func (r *verifier) says(dir, name string, b []byte) bool {
	for _, s := range few {
		if key, ok := keyOf(s, name); ok && dirOf(s) == dir {
			if want, logged := r.fold.Get(s, key); logged {
				return sha256.Sum256(b) == want
			}
		}
	}
	rec, err := record.Parse(b)
	if err != nil || dir != positionDir {
		return false
	}
	p, err := audit.DecodePosition(rec.Value())
	return err == nil && fileOf(store.Positions, store.PositionKey(p.Source)) == dir+"/"+name && bytes.Equal(b, withNewline(p.Append(nil)))
}

// verifyHold checks that a queue on hold by the log is on hold. A hold file made by hand
// is allowed.
func (r *verifier) verifyHold() error {
	want, logged := r.fold.Get(store.Hold, "")
	b, err := r.disk.Read(holdFile)
	switch {
	case !logged && (err == nil || errors.Is(err, fs.ErrNotExist) || notFile(err)):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		r.findSmall("%s: it is gone: the log has the queue held", holdFile)
	case err != nil && !notFile(err):
		return err
	case err != nil || sha256.Sum256(b) != want:
		r.findSmall("%s: the log says something else", holdFile)
	}
	return nil
}

// verifyClock checks that the queue knows the last jump of its clock, and no other.
func (r *verifier) verifyClock() error {
	want, logged := r.fold.Get(store.Clocks, "")
	b, err := r.disk.Read(clockFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && logged:
		r.findSmall("%s: it is gone: the log has a jump of the clock", clockFile)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil && !notFile(err):
		return err
	case err != nil || !logged || sha256.Sum256(b) != want:
		r.findSmall("%s: the log says something else", clockFile)
	}
	return nil
}

// verifyAgenda checks that the agenda holds the open tasks in their order, and nothing
// else.
func (r *verifier) verifyAgenda() error {
	listed, last := map[store.ID]bool{}, int64(0)
	err := agenda.Each(r.disk, func(off int64, line []byte) (bool, error) {
		id := keyed(string(line[2:34]))
		logged := r.fold.Tasks[id]
		if line[0] == entry.Closed {
			if _, pruned := r.fold.Things[store.Pruned][id]; logged.Opened == 0 && !pruned || entry.Torn(line) {
				r.findSmall("%s: byte %d: no task left this line: %q", agendaFile, off, line)
			}
			return true, nil
		}
		want, open := r.fold.Things[store.Agenda][id]
		switch {
		case !open || sha256.Sum256(line) != want || listed[id]:
			r.findSmall("%s: byte %d: the log says something else: %q", agendaFile, off, line)
		case logged.Opened < last:
			r.findSmall("%s: byte %d: task %s does not stand where it was taken", agendaFile, off, id)
		}
		listed[id], last = true, max(last, logged.Opened)
		return true, nil
	})
	for id := range r.fold.Things[store.Agenda] {
		if !listed[id] {
			r.findSmall("%s: it lacks task %s", agendaFile, id)
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
		logged := r.fold.Outboxes[keyed(parent)]
		list, err := store.ReadOutbox(b)
		same := named && err == nil && len(list) == len(logged) && len(list) > 0
		for _, one := range list {
			same = same && slices.Contains(logged, one)
		}
		if !same {
			r.findSmall("%s/%s: the log says something else of it", outboxDir, name)
		}
		seen[parent] = true
		return nil
	})
	for parent := range r.fold.Outboxes {
		if !r.snapshot && !seen[parent.String()] {
			r.findSmall("%s/%s.jsonl: it is gone", outboxDir, parent)
		}
	}
	return err
}
