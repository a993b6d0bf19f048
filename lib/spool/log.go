package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"pulse/lib/audit"
	"pulse/lib/record"
)

// log is the audit log on disk: one file a month, the names sort by time.
type log struct {
	disk    disk
	segment string // the last one; empty: there is none yet
	size    int64  // of it, up to which it was carried out
	head    string // hash of the last line
	Day     string // of the counter below
	Refused int    // policy rejections of that day, listed or only counted
	last    []byte // the last commit that read found, which ends at size
}

// checkpoint says how far the log was carried out durably. It is never synced
// itself: an older one only means that more is done again, which changes nothing.
func (l *log) checkpoint() error {
	var o record.Object
	o.Str("segment", l.segment)
	o.Int("size", l.size)
	o.Str("head", l.head)
	o.StrIf("day", l.Day)
	o.Int("refused", int64(l.Refused))
	return l.disk.Write(checkpointFile, append(o.Bytes(), '\n'), time.Time{})
}

// load reads the checkpoint. One that is absent or torn gives the beginning of
// the last segment but one: a commit never reaches further back.
func (l *log) load() error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	*l = log{disk: l.disk, head: audit.Origin}
	if err := l.loadCheckpoint(); err == nil {
		if l.segment == "" && len(segments) == 0 || slices.Contains(segments, l.segment) {
			return nil
		}
	}
	*l = log{disk: l.disk, head: audit.Origin}
	full := 0
	for _, name := range slices.Backward(segments) {
		st, err := l.disk.Stat(auditDir + "/" + name)
		if err != nil {
			return err
		}
		if st.size == 0 {
			continue // its first commit failed
		}
		l.segment = name
		if full++; full == 2 {
			break
		}
	}
	if full == 0 {
		return nil
	}
	l.head, err = l.firstPrev()
	return err
}

func (l *log) loadCheckpoint() error {
	b, err := l.disk.Read(checkpointFile)
	if err != nil {
		return err
	}
	rec, err := record.Parse(b)
	if err != nil {
		return err
	}
	return rec.Value().Each(func(name string, v record.Value) error {
		switch name {
		case "segment":
			return v.Into(&l.segment)
		case "size":
			return v.Into(&l.size)
		case "head":
			return v.Into(&l.head)
		case "day":
			return v.Into(&l.Day)
		case "refused":
			return v.Into(&l.Refused)
		}
		return nil
	})
}

// firstPrev returns what the first line of the segment says of the line before.
func (l *log) firstPrev() (string, error) {
	for size := 4 << 10; ; size *= 2 {
		b := make([]byte, size)
		n, err := l.disk.ReadAt(auditDir+"/"+l.segment, 0, b)
		if err != nil {
			return "", err
		}
		line, _, whole := bytes.Cut(b[:n], []byte("\n"))
		if whole {
			first, err := audit.Parse(line)
			return first.Prev, err
		}
		if n < size {
			return audit.Origin, nil // torn: read will say so
		}
	}
}

// segments returns the names of the log's files, oldest first.
func (l *log) segments() ([]string, error) {
	names, err := l.disk.List(auditDir)
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, ".jsonl") })
	slices.Sort(names)
	return names, err
}

// behind reports whether lines stand in the log that were not carried out.
func (l *log) behind() (bool, error) {
	segments, err := l.segments()
	if err != nil || len(segments) == 0 {
		return false, err
	}
	st, err := l.disk.Stat(auditDir + "/" + segments[len(segments)-1])
	return l.segment != segments[len(segments)-1] || l.size != st.size, err
}

// ErrBroken is the error of a log whose chain does not hold.
var ErrBroken = errors.New("the audit log is broken")

// read calls fn for every committed line behind the checkpoint and moves it along.
// What follows the last commit is half of one, which was never acknowledged: its
// size is returned as torn.
func (l *log) read(fn func(audit.Line)) (torn int64, err error) {
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

func (l *log) readSegment(fn func(audit.Line)) (torn int64, err error) {
	name := auditDir + "/" + l.segment
	st, err := l.disk.Stat(name)
	if err != nil {
		return 0, err
	}
	if st.size < l.size {
		return 0, fmt.Errorf("%s: %w: it is shorter than it was", l.segment, ErrBroken)
	}
	rest := make([]byte, st.size-l.size)
	if _, err := l.disk.ReadAt(name, l.size, rest); err != nil && len(rest) > 0 {
		return 0, err
	}
	var commit []audit.Line
	begin, size, head := rest, l.size, l.head
	for {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			return st.size - l.size, nil
		}
		parsed, err := audit.Parse(line)
		if err != nil {
			return 0, fmt.Errorf("%s: byte %d: %w: %w", l.segment, size, ErrBroken, err)
		}
		if parsed.Prev != head {
			return 0, fmt.Errorf("%s: byte %d: %w: a line before this one was changed or removed", l.segment, size, ErrBroken)
		}
		commit = append(commit, parsed)
		head = audit.Hash(line)
		size += int64(len(line)) + 1
		rest = after
		if !parsed.More {
			for _, c := range commit {
				fn(c)
			}
			l.last = begin[:size-l.size]
			begin, l.size, l.head, commit = rest, size, head, nil
		}
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
	if err := l.disk.Append(name, l.size-int64(len(l.last)), l.last); err != nil {
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
	err := l.disk.Append(name, size, b)
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
