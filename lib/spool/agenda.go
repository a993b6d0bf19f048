package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/queue"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// The agenda is a file of lines of one width, one for each open task in the order
// in which they were taken. It is what the log says and nothing else: made from the
// log's lines, written in place, and synced before the checkpoint says that the
// lines were carried out, and how long it is. So it is never older than the
// checkpoint; what is newer is cut off or written again.
const agendaFile = "agenda"

// agendaWidth is the width of its lines. It divides a disk sector, so that a power
// cut leaves a line or its predecessor.
const agendaWidth = 128

// closed is the first column of a task that is not open any more.
const closed = '-'

// lettered has the first column of all others.
var lettered = map[task.State]byte{task.Scheduled: 's', task.Awaiting: 'a', task.Running: 'r'}

// appendEntry appends the line of an entry.
func appendEntry(dst []byte, e *queue.Entry) []byte {
	state, ok := lettered[e.State]
	if !ok {
		state = closed
	}
	// What is not to start before some time does not start a fraction before it.
	return fmt.Appendf(dst, "%c %s %-32.32s %-16.16s %c %c %-16.16s %010d%c%010d\n", state, e.ID, e.Digest, queue.Short(e.Action),
		kindLetter(e.Kind), classLetter(e.External, e.Message), e.Sender, seconds(e.Since), putOffLetter(e.PutOff), seconds(e.NotBefore.Add(time.Second-1)))
}

func kindLetter(k task.Kind) byte {
	if k == task.Effect {
		return 'e'
	}
	return 'a'
}

// putOffLetter stands before the time that a person put a task off to.
func putOffLetter(putOff bool) byte {
	if putOff {
		return '+'
	}
	return ' '
}

// classLetter tells senders whose messages are limited from all others.
func classLetter(external, message bool) byte {
	switch {
	case external && message:
		return 'x'
	case external:
		return 'X'
	case message:
		return 'm'
	}
	return closed
}

// latest is the latest time that a line of fixed width holds: 2286-11-20.
const latest = 9_999_999_999

// seconds is t in whole seconds of ten digits.
func seconds(t time.Time) int64 { return min(max(t.Unix(), 0), latest) }

// parseEntry reads a line; one that is closed, or that a power cut tore, is not ok.
func parseEntry(b []byte) (e queue.Entry, ok bool) {
	if len(b) != agendaWidth || b[agendaWidth-1] != '\n' {
		return e, false
	}
	switch b[0] {
	case 's':
		e.State = task.Scheduled
	case 'a':
		e.State = task.Awaiting
	case 'r':
		e.State = task.Running
	default:
		return e, false
	}
	line := string(b) // the only allocation: there may be a hundred thousand
	e.ID = line[2:34]
	since, err1 := strconv.ParseInt(line[106:116], 10, 64)
	later, err2 := strconv.ParseInt(line[117:127], 10, 64)
	if err1 != nil || err2 != nil || !task.ValidID(e.ID) {
		return e, false
	}
	e.Digest, e.Action = strings.TrimRight(line[35:67], " "), queue.Long(terms.Action(strings.TrimRight(line[68:84], " ")))
	e.Kind = task.Ask
	if b[85] == 'e' {
		e.Kind = task.Effect
	}
	e.External, e.Message = b[87] == 'x' || b[87] == 'X', b[87] == 'x' || b[87] == 'm'
	e.PutOff = b[116] == '+'
	e.Sender, e.Since = queue.Key(strings.TrimRight(line[89:105], " ")), time.Unix(since, 0).UTC()
	if later != 0 {
		e.NotBefore = time.Unix(later, 0).UTC()
	}
	return e, true
}

// mostLines is the size of a file of lines from which on it is none: of a million tasks
// the agenda has an eighth of it.
const mostLines = 1 << 30

// lines calls fn for the lines of a file of lines of one width; what is left of one
// at the end is passed over. The slice is good until fn returns.
func lines(d disk.Disk, name string, width int, fn func(off int64, line []byte) (more bool, err error)) error {
	if st, err := d.Stat(name); err == nil && st.Size > mostLines {
		return &fs.PathError{Op: "read", Path: name, Err: disk.ErrLarge}
	}
	buf := make([]byte, 16*width)
	for off := int64(0); ; {
		n, err := d.ReadAt(name, off, buf)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i+width <= n; i += width {
			if more, err := fn(off+int64(i), buf[i:i+width]); err != nil || !more {
				return err
			}
		}
		if n < len(buf) {
			return nil
		}
		off += int64(n)
		if len(buf) < 512*width {
			buf = make([]byte, 512*width)
		}
	}
}

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
	return lines(v.disk, agendaFile, agendaWidth, func(off int64, line []byte) (bool, error) {
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
	b := make([]byte, agendaWidth)
	n, err := s.disk.ReadAt(agendaFile, off, b)
	if err != nil || n < agendaWidth {
		return 0, err
	}
	return b[0], nil
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
		b := make([]byte, agendaWidth)
		n, _ := s.disk.ReadAt(agendaFile, p.off, b)
		if e, ok := parseEntry(b[:n]); ok && e.ID == p.name {
			at[p.name] = p.off
			delete(want, p.name)
		}
	}
	if len(want) == 0 {
		return at, nil
	}
	err := lines(s.disk, agendaFile, agendaWidth, func(off int64, line []byte) (bool, error) {
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
	if all := s.log.agenda / agendaWidth; all-open <= max(slack, open) {
		return nil
	}
	s.stopped = place{}
	if err := s.forget(); err != nil {
		return err
	}
	s.log.agenda, err = rewrite(s.disk, agendaFile, agendaWidth, func(line []byte) []byte {
		if _, ok := parseEntry(line); ok {
			return line
		}
		return nil
	})
	return err
}

// rewrite replaces a file of lines of one width, durably: by what fn makes of each
// line, or without it. It returns the new size.
func rewrite(d disk.Disk, name string, width int, fn func(line []byte) []byte) (size int64, err error) {
	tmp := tmpDir + "/" + name
	if err := d.Write(tmp, nil, time.Time{}); err != nil {
		return 0, err
	}
	var b []byte
	flush := func() error {
		err := d.WriteAt(tmp, size, b)
		size += int64(len(b))
		b = b[:0]
		return err
	}
	err = lines(d, name, width, func(_ int64, line []byte) (bool, error) {
		b = append(b, fn(line)...)
		if len(b) < 64<<10 {
			return true, nil
		}
		return true, flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = d.SyncFile(tmp)
	}
	if err == nil {
		err = d.Rename(tmp, name)
	}
	if err == nil {
		err = d.SyncDir("")
	}
	return size, err
}
