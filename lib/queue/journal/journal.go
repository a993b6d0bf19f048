// Package journal is the audit log on disk (pulse-queue(5)): a file of lines for each
// month, which is appended to and never changed otherwise. A queue is repaired from it
// after a crash.
//
// Invariants: when Append returns nil, all of its lines are durable; on an error the log
// is cut back to what it was. Committed lines never change, so they are read without a
// lock. Caveat: a crash may leave a torn commit at the end of the log. Read returns its
// size, and the caller moves it aside.
package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/audit"
)

// Dir is the directory of the log.
const Dir = "audit"

// Mark is a place in the log: the end of a commit.
type Mark struct {
	Segment string // the file of its month; empty: there is none yet
	Size    int64  // of the file up to the mark, in bytes
	Head    string // hash of the last line before the mark
}

// Log is the log from its beginning up to a mark, which Read and Append move along.
type Log struct {
	Mark
	disk disk.Disk
	last []byte // the last commit that Read found, which ends at Size
}

// New returns the log before its first line.
func New(d disk.Disk) Log { return Log{disk: d, Mark: Mark{Head: audit.Origin}} }

// ErrBroken means that the log's chain does not hold.
var ErrBroken = errors.New("the audit log is broken")

// Segments returns the names of the log's files, oldest first. It leaves out empty files,
// whose first commit failed.
func (l *Log) Segments() ([]string, error) {
	names, _, err := l.Newest()
	return names, err
}

// Newest is Segments, and also returns what the directory says about the last one.
func (l *Log) Newest() (names []string, last disk.Stat, err error) {
	names, err = disk.List(l.disk, Dir)
	if err != nil {
		return nil, last, err
	}
	newest := ""
	names = slices.DeleteFunc(names, func(n string) bool {
		if len(n) != len("2006-01.jsonl") || n[7:] != ".jsonl" {
			return true
		}
		var st disk.Stat
		if err == nil {
			st, err = l.disk.Stat(Dir + "/" + n)
		}
		if st.Size > 0 && n > newest {
			newest, last = n, st
		}
		return st.Size == 0
	})
	slices.Sort(names)
	return names, last, err
}

// Read calls fn for every committed line after the mark, and moves the mark along. What
// follows the last commit is half of one, which was never acknowledged: torn is its size.
func (l *Log) Read(fn func(*audit.Line) error) (torn int64, err error) {
	segments, err := l.Segments()
	if err != nil {
		return 0, err
	}
	for _, name := range segments {
		if name < l.Segment {
			continue
		}
		if name != l.Segment {
			l.Segment, l.Size, l.last = name, 0, nil
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

func (l *Log) readSegment(fn func(*audit.Line) error) (torn int64, err error) {
	name := Dir + "/" + l.Segment
	st, err := l.disk.Stat(name)
	if err != nil {
		return 0, err
	}
	if st.Size < l.Size {
		return 0, fmt.Errorf("%s: %w: it is shorter than it was", l.Segment, ErrBroken)
	}
	in := Reader{disk: l.disk, name: name, off: l.Size}
	var commit []audit.Line
	var raw []byte
	head := l.Head
	for {
		line, err := in.Next()
		if err != nil {
			return 0, err
		}
		if line == nil || bytes.IndexByte(line, 0) >= 0 { // a power cut leaves zeros for unwritten sectors
			return st.Size - l.Size, nil
		}
		parsed, err := audit.Parse(line)
		if err == nil && parsed.Prev != head {
			err = errors.New("a line before this one was changed or removed")
		}
		if err != nil {
			return 0, fmt.Errorf("%s: byte %d: %w: %w", l.Segment, l.Size+int64(len(raw)), ErrBroken, err)
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
		l.last, l.Size, l.Head = append(l.last[:0], raw...), l.Size+int64(len(raw)), head
		commit, raw = commit[:0], raw[:0]
	}
}

// Rewrite writes the last commit again in place, and syncs it. A command that was killed
// may not have got as far as its sync. Another one after it may have tried to sync and
// failed; the next sync would then succeed without writing anything.
func (l *Log) Rewrite() error {
	if len(l.last) == 0 {
		return nil
	}
	name := Dir + "/" + l.Segment
	if err := l.disk.WriteAt(name, l.Size-int64(len(l.last)), l.last); err != nil {
		return err
	}
	return l.disk.SyncFile(name)
}

// ErrUncut means that an append failed and its lines may come back.
var ErrUncut = errors.New("can't cut the audit log back")

// Append commits lines: when it returns nil they are durable. On an error the log is cut
// back to what it was. If that fails too (ErrUncut), the next command finds either a whole
// commit, which it carries out, or a torn one, which it moves aside. unsure lines may be of any
// month, and begin no file.
func (l *Log) Append(lines []audit.Line, unsure bool) error {
	segment, size, head := l.Segment, l.Size, l.Head
	if month := lines[0].Time.UTC().Format("2006-01") + ".jsonl"; month > segment && (segment == "" || !unsure) {
		if err := l.end(); err != nil {
			return err
		}
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
	name := Dir + "/" + segment
	err := l.disk.WriteAt(name, size, b)
	if err == nil {
		err = l.disk.SyncFile(name)
	}
	if err == nil && size == 0 {
		err = l.disk.SyncDir(Dir)
	}
	if err != nil {
		return errors.Join(err, l.cut(name, size))
	}
	l.Mark = Mark{segment, size + int64(len(b)), head}
	return nil
}

// end makes the segment durable as it is before another one follows it. Half a commit may
// have been cut from its end, and only at the end of the log is half a commit no damage.
func (l *Log) end() error {
	if l.Segment == "" {
		return nil
	}
	return l.disk.SyncFile(Dir + "/" + l.Segment)
}

// cut removes what a failed append wrote. It does not try the failed sync again: it syncs
// that the lines are gone. Otherwise a power cut could bring them back after the files
// that they need were thrown away.
func (l *Log) cut(name string, size int64) error {
	err := l.disk.Truncate(name, size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = l.disk.SyncFile(name)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUncut, err)
	}
	return nil
}
