package spool

import (
	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// agenda is the index of the open tasks, in the order in which they became open.
var agenda = index(agendaFile, entry.Width)

const agendaFile = "agenda"

// Open calls fn for the open tasks of a state, or of all states if st is empty, oldest
// first, until fn returns false.
func (v view) Open(st task.State, fn func(store.Entry) (more bool, err error)) error {
	if st == "" {
		return v.entries(func([]byte) bool { return true }, fn)
	}
	left, letter := v.log.counts.Tasks[st], entry.Letter(st)
	if left == 0 || letter == 0 {
		return nil
	}
	return v.entries(func(line []byte) bool { return line[0] == letter }, func(e store.Entry) (bool, error) {
		left--
		more, err := fn(e)
		return more && left > 0, err
	})
}

// Sift implements store.View. Lines that are passed over are not parsed: there may be a hundred
// thousand.
func (v view) Sift(st task.State, fn func(store.Entry) (rest bool, err error)) error {
	left, letter := v.log.counts.Tasks[st], entry.Letter(st)
	if left == 0 || letter == 0 {
		return nil
	}
	passed, last := map[string]bool{}, "" // last is in passed: most lines are like the one before
	v.sifted = map[string]int64{}
	return agenda.Each(v.disk, func(off int64, line []byte) (bool, error) {
		if line[0] != letter {
			return true, nil
		}
		left--
		alike := entry.Alike(line)
		if string(alike) == last || passed[string(alike)] {
			return left > 0, nil
		}
		e, ok := entry.Parse(line)
		if !ok {
			return true, nil
		}
		rest, err := fn(e)
		if rest {
			v.sifted[e.ID] = off // one of these is the next that changes
		} else {
			last = string(alike)
			passed[last] = true
		}
		return left > 0, err
	})
}

// Pending implements store.View. No line is parsed, because each batch that is added asks.
func (v view) Pending(of map[store.Key]int) error {
	return agenda.Each(v.disk, func(_ int64, line []byte) (bool, error) {
		if sender, ok := entry.Messenger(line); ok {
			if n, asked := of[store.Key(sender)]; asked {
				of[store.Key(sender)] = n + 1
			}
		}
		return true, nil
	})
}

func (v view) entries(want func(line []byte) bool, fn func(store.Entry) (more bool, err error)) error {
	return agenda.Each(v.disk, func(off int64, line []byte) (bool, error) {
		if !want(line) {
			return true, nil
		}
		e, ok := entry.Parse(line)
		if !ok {
			return true, nil
		}
		more, err := fn(e)
		if !more {
			v.lastRead = openLine{e.ID, off} // most likely the next commit changes this task
		}
		return more, err
	})
}

// openLine is where the line of an open task stands in the agenda.
type openLine struct {
	id  string
	off int64
}

// indexOpen adds to the agenda lines of the log that it does not know yet. A task that is
// new, or open again, gets a line at the end.
func (s *Spool) indexOpen(lines []audit.Line) error {
	last, opened := map[string]*audit.Line{}, map[string]int{}
	for i := range lines {
		l := &lines[i]
		if l.Moves() || l.Event == audit.Resurfaced {
			last[l.Task] = l
		}
		if l.To.Open() && !l.From.Open() {
			opened[l.Task] = i
		}
	}
	at := s.found
	if s.found = nil; at == nil {
		var err error
		if at, err = s.findOpen(lines); err != nil {
			return err
		}
	}
	for id, off := range at {
		e := store.EntryOf(last[id])
		if _, again := opened[id]; again {
			e.State = ""
		}
		if err := s.disk.WriteAt(agendaFile, off, entry.Append(nil, &e)); err != nil {
			return err
		}
	}
	var added []byte
	for i := range lines {
		id := lines[i].Task
		if n, ok := opened[id]; ok && n == i {
			if e := store.EntryOf(last[id]); e.State.Open() {
				added = entry.Append(added, &e)
			}
		}
	}
	err := s.disk.WriteAt(agendaFile, s.log.agenda, added)
	s.log.agenda += int64(len(added))
	return err
}

// agree fails if a task that is about to leave a state is in another one by the log: its
// file was moved by hand. A line written on top of that would stay in the log for good.
func (s *Spool) agree(lines []audit.Line) error {
	from := map[string]task.State{}
	for i := range lines {
		if l := &lines[i]; l.Moves() && l.From != "" {
			if _, later := from[l.Task]; !later {
				from[l.Task] = l.From
			}
		}
	}
	at, err := s.findOpen(lines)
	if err != nil {
		return err
	}
	for id, st := range from {
		letter, err := s.letterOf(at, id)
		if err != nil {
			return err
		}
		if letter != entry.Letter(st) {
			files := escape.Shell(s.dir) + "/*/" + id + ".json"
			return fault.Failedf("pulse-queue verify; and move the file back: ls "+files,
				"task %s lies in %s, and the log has it elsewhere: somebody moved its file", id, st)
		}
	}
	s.found = at
	return nil
}

// letterOf returns the first column of a task's line, or 0 if the task is not open.
func (s *Spool) letterOf(at map[string]int64, id string) (byte, error) {
	off, ok := at[id]
	if !ok {
		return 0, nil
	}
	line, err := agenda.At(s.disk, off)
	if line == nil || line[0] == entry.Closed || err != nil {
		return 0, err
	}
	return line[0], nil
}

// findOpen returns where the lines of the tasks of some lines of the log stand in the
// agenda.
func (s *Spool) findOpen(lines []audit.Line) (map[string]int64, error) {
	at, want := map[string]int64{}, map[string]bool{}
	for i := range lines {
		if l := &lines[i]; l.From != "" {
			want[l.Task] = true
		}
	}
	for id := range want {
		off, known := s.sifted[id]
		if s.lastRead.id == id {
			off, known = s.lastRead.off, true
		}
		if !known {
			continue
		}
		line, _ := agenda.At(s.disk, off)
		if e, ok := entry.Parse(line); ok && e.ID == id {
			at[id] = off
			delete(want, id)
		}
	}
	if len(want) == 0 {
		return at, nil
	}
	err := agenda.Each(s.disk, func(off int64, line []byte) (bool, error) {
		if id := string(line[2:34]); want[id] && (line[0] != entry.Closed || entry.Torn(line)) {
			at[id] = off
			delete(want, id)
		}
		return len(want) > 0, nil
	})
	return at, err
}

// slack is how many closed lines an agenda may always hold, however few are open.
const slack = 1024

// compact drops the closed lines of the agenda when there are more of them than open ones.
func (s *Spool) compact() (err error) {
	tasks := s.log.counts.Tasks
	open := int64(tasks[task.Scheduled] + tasks[task.Awaiting] + tasks[task.Running])
	if all := s.log.agenda / int64(agenda.Width); all-open <= max(slack, open) {
		return nil
	}
	s.lastRead, s.sifted = openLine{}, nil
	if err := s.forget(); err != nil {
		return err
	}
	s.log.agenda, err = agenda.Rewrite(s.disk, func(line []byte) []byte {
		if _, ok := entry.Parse(line); ok {
			return line
		}
		return nil
	})
	return err
}
