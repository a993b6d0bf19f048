package spool

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/audit"
	"pulse/lib/disk"
	"pulse/lib/journal"
	"pulse/lib/queue"
	"pulse/lib/record"
	"pulse/lib/task"
)

// checkpointSize is what the file is filled up to: it is written in place, and one
// sector is either old or new after a power cut.
const checkpointSize = 512

// layout is that of the agenda, of starts and of pruned. Where the checkpoint names
// another one, or none, as it did when their lines had other widths, all of them are
// made anew from the log.
const layout = 2

// progress is how far the log was carried out, and what that left. A checkpoint says it.
type progress struct {
	journal.Log
	disk   disk.Disk
	counts queue.Counts
	layout int   // of the files below
	agenda int64 // size of the agenda by then
	starts int64 // and of the starts
	lost   bool  // there was no checkpoint: everything is read again
}

// begin is the progress before the first line.
func begin(d disk.Disk) progress {
	return progress{Log: journal.New(d), disk: d, counts: queue.Counts{Tasks: map[task.State]int{}}}
}

// checkpoint says how far the log was carried out durably, and how many tasks that
// leaves in each state. It is never synced itself: an older one only means that
// more is done again, which changes nothing.
func (l *progress) checkpoint() error { return l.disk.WriteAt(checkpointFile, 0, l.bytes()) }

// bytes returns what the checkpoint holds.
func (l *progress) bytes() []byte {
	var o record.Object
	o.Str("segment", l.Segment)
	o.Int("size", l.Size)
	o.Str("head", l.Head)
	o.Int("layout", layout)
	o.Int("agenda", l.agenda)
	o.Int("starts", l.starts)
	o.StrIf("day", l.counts.Day)
	o.Int("refused", int64(l.counts.Refused))
	for _, st := range task.States {
		o.Int(string(st), int64(l.counts.Tasks[st]))
	}
	o.Str("sum", sum(o.Bytes()))
	b := o.Bytes()
	b = append(b, bytes.Repeat([]byte(" "), max(0, checkpointSize-1-len(b)))...)
	return append(b, '\n')
}

// sum is that of a checkpoint up to itself.
func sum(b []byte) string {
	s := short(bytes.TrimSuffix(b, []byte("}")))
	return hex.EncodeToString(s[:])
}

// summed reports whether a checkpoint is whole.
func summed(b []byte) bool {
	i := bytes.LastIndex(b, []byte(`,"sum":"`))
	return i >= 0 && bytes.HasPrefix(b[i:], []byte(`,"sum":"`+sum(b[:i])+`"}`))
}

// errEdited is the error of a checkpoint that is whole but for its sum: it is as good
// as none, and no crash leaves it.
var errEdited = fmt.Errorf("%w: it was edited", errNone)

// errNone is the error of a checkpoint that is not there, or torn.
var errNone = errors.New("there is no checkpoint")

// loadCheckpoint reads the checkpoint. The log was synced before it was written, so
// it names a line of the log: if not, somebody cut or changed one of them.
func (l *progress) loadCheckpoint(segments []string) error {
	b, err := l.disk.Read(checkpointFile)
	if errors.Is(err, fs.ErrNotExist) || notFile(err) {
		return errNone
	}
	if err != nil {
		return err
	}
	rec, err := record.Parse(b)
	if err == nil {
		err = rec.Value().Each(l.field)
	}
	if err != nil || l.layout != layout || l.Size < 0 || l.agenda < 0 || l.agenda%int64(agenda.Width) != 0 || l.starts < 0 || l.starts%int64(starts.Width) != 0 {
		return errNone
	}
	if !summed(b) {
		return errEdited
	}
	if l.Segment == "" && len(segments) > 0 {
		return errNone // of the time before the first line
	}
	if l.Segment != "" && !slices.Contains(segments, l.Segment) {
		return fmt.Errorf("%w: the checkpoint speaks of audit/%s, which is not there", journal.ErrBroken, l.Segment)
	}
	if l.Segment == "" {
		return nil
	}
	line, err := l.LineBefore(l.Segment, l.Size)
	if err == nil && audit.Hash(line) != l.Head {
		err = fmt.Errorf("%w: audit/%s: byte %d is not where the checkpoint says it was", journal.ErrBroken, l.Segment, l.Size)
	}
	return err
}

func (l *progress) field(name string, v record.Value) error {
	switch name {
	case "segment":
		return v.Into(&l.Segment)
	case "size":
		return v.Into(&l.Size)
	case "head":
		return v.Into(&l.Head)
	case "layout":
		return v.Into(&l.layout)
	case "agenda":
		return v.Into(&l.agenda)
	case "starts":
		return v.Into(&l.starts)
	case "day":
		return v.Into(&l.counts.Day)
	case "refused":
		return v.Into(&l.counts.Refused)
	}
	if st := task.State(name); slices.Contains(task.States, st) {
		var n int
		err := v.Into(&n)
		l.counts.Tasks[st] = n
		return err
	}
	return nil
}

// load reads the checkpoint. Where there is none, or the agenda is not what it was,
// the log is read from its beginning.
func (l *progress) load() error {
	segments, err := l.Segments()
	if err != nil {
		return err
	}
	*l = begin(l.disk)
	err = l.loadCheckpoint(segments)
	if err == nil {
		err = errors.Join(l.longEnough(agendaFile, l.agenda), l.longEnough(startsFile, l.starts))
	}
	if !errors.Is(err, errNone) {
		return err
	}
	*l = begin(l.disk)
	l.lost = len(segments) > 0
	return nil
}

// longEnough fails if a file lost what it once held, or is something else by now.
func (l *progress) longEnough(name string, size int64) error {
	st, err := l.disk.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (st.Size < size || st.Size > size+mostLarge || st.Odd) {
		return errNone
	}
	return err
}

// behind reports whether lines stand in the log that were not carried out.
func (l *progress) behind() (bool, error) {
	segments, err := l.Segments()
	if err != nil || len(segments) == 0 {
		return l.lost, err
	}
	st, err := l.disk.Stat(auditDir + "/" + segments[len(segments)-1])
	return l.lost || l.Segment != segments[len(segments)-1] || l.Size != st.Size, err
}
