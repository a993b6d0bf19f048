package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/queue"
	"pulse/lib/task"
)

// log is the audit log on disk: one file a month, the names sort by time.
type log struct {
	disk    disk.Disk
	segment string       // the last one; empty: there is none yet
	size    int64        // of it, up to which it was carried out
	head    string       // hash of the last line
	counts  queue.Counts // what these lines leave
	layout  int          // of the files below
	agenda  int64        // size of the agenda by then
	starts  int64        // and of the ledger of starts

	lost bool   // there was no checkpoint: everything is read again
	last []byte // the last commit that read found, which ends at size
}

func startOf(d disk.Disk) log {
	return log{disk: d, head: audit.Origin, counts: queue.Counts{Tasks: map[task.State]int{}}}
}

// load reads the checkpoint. Where there is none, or the agenda is not what it was,
// the log is read from its beginning.
func (l *log) load() error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	*l = startOf(l.disk)
	err = l.loadCheckpoint(segments)
	if err == nil {
		err = errors.Join(l.longEnough(agendaFile, l.agenda), l.longEnough(startsFile, l.starts))
	}
	if !errors.Is(err, errNone) {
		return err
	}
	*l = startOf(l.disk)
	l.lost = len(segments) > 0
	return nil
}

// longEnough fails if a file lost what it once held, or is something else by now.
func (l *log) longEnough(name string, size int64) error {
	st, err := l.disk.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (st.Size < size || st.Size > size+mostLarge || st.Odd) {
		return errNone
	}
	return err
}

// segments returns the names of the log's files, oldest first. An empty one is one
// whose first commit failed.
func (l *log) segments() ([]string, error) {
	names, err := disk.List(l.disk, auditDir)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		if len(n) != len("2006-01.jsonl") || n[7:] != ".jsonl" {
			return true
		}
		var st disk.Stat
		if err == nil {
			st, err = l.disk.Stat(auditDir + "/" + n)
		}
		return st.Size == 0
	})
	slices.Sort(names)
	return names, err
}

// behind reports whether lines stand in the log that were not carried out.
func (l *log) behind() (bool, error) {
	segments, err := l.segments()
	if err != nil || len(segments) == 0 {
		return l.lost, err
	}
	st, err := l.disk.Stat(auditDir + "/" + segments[len(segments)-1])
	return l.lost || l.segment != segments[len(segments)-1] || l.size != st.Size, err
}

// ErrBroken is the error of a log whose chain does not hold.
var ErrBroken = errors.New("the audit log is broken")

// read calls fn for every committed line from where the log stands, and moves it
// along. What follows the last commit is half of one, which was never acknowledged:
// its size is returned as torn.
func (l *log) read(fn func(*audit.Line) error) (torn int64, err error) {
	segments, err := l.segments()
	if err != nil {
		return 0, err
	}
	for _, name := range segments {
		if name < l.segment {
			continue
		}
		if name != l.segment {
			l.segment, l.size, l.last = name, 0, nil
		}
		if torn, err = l.readSegment(fn); err != nil {
			return 0, err
		}
		if torn > 0 && name != segments[len(segments)-1] {
			return 0, fmt.Errorf("%s: %w: it ends within a commit", name, ErrBroken)
		}
	}
	return torn, nil
}

func (l *log) readSegment(fn func(*audit.Line) error) (torn int64, err error) {
	name := auditDir + "/" + l.segment
	st, err := l.disk.Stat(name)
	if err != nil {
		return 0, err
	}
	if st.Size < l.size {
		return 0, fmt.Errorf("%s: %w: it is shorter than it was", l.segment, ErrBroken)
	}
	in := lineReader{disk: l.disk, name: name, off: l.size}
	var commit []audit.Line
	var raw []byte
	head := l.head
	for {
		line, err := in.next()
		if err != nil {
			return 0, err
		}
		if line == nil || bytes.IndexByte(line, 0) >= 0 { // a power cut leaves zeros where it comes before a sector
			return st.Size - l.size, nil
		}
		parsed, err := audit.Parse(line)
		if err == nil && parsed.Prev != head {
			err = errors.New("a line before this one was changed or removed")
		}
		if err != nil {
			return 0, fmt.Errorf("%s: byte %d: %w: %w", l.segment, l.size+int64(len(raw)), ErrBroken, err)
		}
		commit, raw = append(commit, parsed), append(append(raw, line...), '\n')
		head = audit.Hash(line)
		if parsed.More {
			continue
		}
		for i := range commit {
			if err := fn(&commit[i]); err != nil {
				return 0, err
			}
		}
		l.last, l.size, l.head = append(l.last[:0], raw...), l.size+int64(len(raw)), head
		commit, raw = commit[:0], raw[:0]
	}
}

// lineReader reads a file line by line; its memory is bounded by the longest one.
type lineReader struct {
	disk disk.Disk
	name string
	off  int64 // of the end of buf
	buf  []byte
	size int // of the last read
	eof  bool
}

// chunk is how much of the log is read at a time, at most.
const chunk = 256 << 10

// next returns the next whole line without its newline, good until it is called
// again; nil at the end, even if half a line stands there.
func (r *lineReader) next() ([]byte, error) {
	for {
		if line, rest, whole := bytes.Cut(r.buf, []byte("\n")); whole {
			r.buf = rest
			return line, nil
		}
		if r.eof {
			return nil, nil
		}
		if len(r.buf) > 2*mostLarge {
			return nil, fmt.Errorf("%s: %w: a line of more than %d bytes", r.name, ErrBroken, 2*mostLarge)
		}
		r.size = min(max(4<<10, 4*r.size), max(chunk, len(r.buf))) // a line that goes on is not copied for each chunk
		b := make([]byte, len(r.buf)+r.size)
		n, err := r.disk.ReadAt(r.name, r.off, b[copy(b, r.buf):])
		if err != nil {
			return nil, err
		}
		r.buf, r.off, r.eof = b[:len(r.buf)+n], r.off+int64(n), n < r.size
	}
}

// rewrite makes the last commit durable once more, in place. A command that was
// killed may not have come to its sync; one after it may have tried to sync and
// failed, and then the next sync would succeed without writing anything.
func (l *log) rewrite() error {
	if len(l.last) == 0 {
		return nil
	}
	name := auditDir + "/" + l.segment
	if err := l.disk.WriteAt(name, l.size-int64(len(l.last)), l.last); err != nil {
		return err
	}
	return l.disk.SyncFile(name)
}

// errUncut is the error of a failed append whose lines may come back.
var errUncut = errors.New("can't cut the audit log back")

// append commits lines: when it returns nil they are durable. On an error the log
// is cut back to what it was; should that fail too (errUncut), the next command
// finds either whole lines, which it carries out, or a torn one, which it moves
// aside.
func (l *log) append(lines []audit.Line) error {
	segment, size, head := l.segment, l.size, l.head
	if month := lines[0].Time.UTC().Format("2006-01") + ".jsonl"; month > segment {
		segment, size = month, 0
	}
	var b []byte
	for i := range lines {
		lines[i].Prev, lines[i].More = head, i < len(lines)-1
		start := len(b)
		b = lines[i].Append(b)
		head = audit.Hash(b[start:])
		b = append(b, '\n')
	}
	name := auditDir + "/" + segment
	err := l.disk.WriteAt(name, size, b)
	if err == nil {
		err = l.disk.SyncFile(name)
	}
	if err == nil && size == 0 {
		err = l.disk.SyncDir(auditDir)
	}
	if err != nil {
		return errors.Join(err, l.cut(name, size))
	}
	l.segment, l.size, l.head = segment, size+int64(len(b)), head
	for i := range lines {
		l.counts.Count(&lines[i])
	}
	return nil
}

// cut takes back what a failed append wrote. The failed sync is not tried again:
// what is synced here is that the lines are gone, or a power cut could bring them
// back after the files that they speak of were thrown away.
func (l *log) cut(name string, size int64) error {
	err := l.disk.Truncate(name, size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = l.disk.SyncFile(name)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUncut, err)
	}
	return nil
}
