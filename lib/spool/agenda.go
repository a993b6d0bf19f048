package spool

import (
	"pulse/lib/audit"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// agenda is the index of the open tasks, in the order in which they were taken.
var agenda = index(agendaFile, 128)

const agendaFile = "agenda"

// Open calls fn for the open tasks of a state, or for all, oldest first, until it
// returns false.
func (v view) Open(st task.State, fn func(queue.Entry) (more bool, err error)) error {
	if st == "" {
		return v.entries(func([]byte) bool { return true }, fn)
	}
	left, letter := v.log.counts.Tasks[st], lettered[st]
	if left == 0 || letter == 0 {
		return nil
	}
	return v.entries(func(line []byte) bool { return line[0] == letter }, func(e queue.Entry) (bool, error) {
		left--
		more, err := fn(e)
		return more && left > 0, err
	})
}

func (v view) entries(want func(line []byte) bool, fn func(queue.Entry) (more bool, err error)) error {
	return agenda.Each(v.disk, func(off int64, line []byte) (bool, error) {
		if !want(line) {
			return true, nil
		}
		e, ok := parseEntry(line)
		if !ok {
			return true, nil
		}
		more, err := fn(e)
		if !more {
			v.stopped = place{e.ID, off} // whoever stops here will want to change it
		}
		return more, err
	})
}

// place is where something stands: a task in the agenda, a commit in a segment.
type place struct {
	name string
	off  int64
}

// schedule brings the agenda up to lines of the log that it does not know yet. A
// task that is new, or open again, stands at the end.
func (s *Spool) schedule(log []audit.Line) error {
	last, entered := map[string]*audit.Line{}, map[string]int{}
	for i := range log {
		l := &log[i]
		if l.Moves() {
			last[l.Task] = l
		}
		if l.To.Open() && !l.From.Open() {
			entered[l.Task] = i
		}
	}
	at := s.placed
	if s.placed = nil; at == nil {
		var err error
		if at, err = s.places(log); err != nil {
			return err
		}
	}
	for id, off := range at {
		e := queue.EntryOf(last[id])
		if _, again := entered[id]; again {
			e.State = ""
		}
		if err := s.disk.WriteAt(agendaFile, off, appendEntry(nil, &e)); err != nil {
			return err
		}
	}
	var added []byte
	for i := range log {
		id := log[i].Task
		if n, ok := entered[id]; ok && n == i && last[id].To.Open() {
			e := queue.EntryOf(last[id])
			added = appendEntry(added, &e)
		}
	}
	err := s.disk.WriteAt(agendaFile, s.log.agenda, added)
	s.log.agenda += int64(len(added))
	return err
}

// agree fails if a task that is about to leave a state is elsewhere by the log: its
// file was moved by hand. Whatever was noted of it then would be noted for good.
func (s *Spool) agree(log []audit.Line) error {
	from := map[string]task.State{}
	for i := range log {
		if l := &log[i]; l.Moves() && l.From != "" {
			if _, later := from[l.Task]; !later {
				from[l.Task] = l.From
			}
		}
	}
	at, err := s.places(log)
	if err != nil {
		return err
	}
	for id, st := range from {
		logged, err := s.entered(at, id)
		if err != nil {
			return err
		}
		if want := lettered[st]; logged != want {
			return fault.Failedf("pulse-queue verify; and move the file back: ls "+escape.Shell(s.dir)+"/*/"+id+".json",
				"task %s lies in %s, and the log has it elsewhere: somebody moved its file", id, st)
		}
	}
	s.placed = at
	return nil
}

// entered returns the first column of a task in the agenda, 0 for one that is not open.
func (s *Spool) entered(at map[string]int64, id string) (byte, error) {
	off, ok := at[id]
	if !ok {
		return 0, nil
	}
	line, err := agenda.At(s.disk, off)
	if line == nil || err != nil {
		return 0, err
	}
	return line[0], nil
}

// places finds the tasks of some lines in the agenda.
func (s *Spool) places(log []audit.Line) (map[string]int64, error) {
	at, want := map[string]int64{}, map[string]bool{}
	for i := range log {
		if l := &log[i]; l.From != "" {
			want[l.Task] = true
		}
	}
	if p := s.stopped; want[p.name] {
		line, _ := agenda.At(s.disk, p.off)
		if e, ok := parseEntry(line); ok && e.ID == p.name {
			at[p.name] = p.off
			delete(want, p.name)
		}
	}
	if len(want) == 0 {
		return at, nil
	}
	err := agenda.Each(s.disk, func(off int64, line []byte) (bool, error) {
		if id := string(line[2:34]); line[0] != closed && want[id] {
			at[id] = off
			delete(want, id)
		}
		return len(want) > 0, nil
	})
	return at, err
}

// slack is how many closed lines an agenda may hold beside as many as are open.
const slack = 1024

// compact writes the agenda anew once most of it is closed.
func (s *Spool) compact() (err error) {
	open := int64(s.log.counts.Tasks[task.Scheduled] + s.log.counts.Tasks[task.Awaiting] + s.log.counts.Tasks[task.Running])
	if all := s.log.agenda / int64(agenda.Width); all-open <= max(slack, open) {
		return nil
	}
	s.stopped = place{}
	if err := s.forget(); err != nil {
		return err
	}
	s.log.agenda, err = agenda.Rewrite(s.disk, func(line []byte) []byte {
		if _, ok := parseEntry(line); ok {
			return line
		}
		return nil
	})
	return err
}
