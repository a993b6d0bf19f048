package spool

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/queue/disk"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// checkpointSize is the size up to which the file is filled, in bytes. It is written in
// place, and after a power cut one sector is either old or new.
const checkpointSize = 512

// layout is the version of the lines of the agenda, of starts and of pruned, and of the counts
// in the checkpoint. If the checkpoint names another one, or none, a pulse wrote it that did
// not know some of them, and all of these files are made anew from the log.
const layout = 5

// progress is how far the log was carried out, and what that left. The checkpoint holds it.
type progress struct {
	journal.Log
	disk   disk.Disk
	counts store.Counts
	layout int   // version of the index files
	agenda int64 // size of the agenda by then, in bytes
	starts int64 // and of the starts
	lost   bool  // there was no checkpoint: everything is read again

	newest string    // the log's last file
	end    disk.Stat // of that file
	read   []byte    // the checkpoint that all this is from; nil: it is from elsewhere
	proven disk.Stat // of the log's file when the checkpoint was last compared with it
}

// begin returns the progress before the first line.
func begin(d disk.Disk) progress {
	return progress{Log: journal.New(d), disk: d, counts: store.Counts{Tasks: map[task.State]int{}}}
}

// checkpoint writes down how far the log was carried out durably, and how many tasks that
// leaves in each state. It does not sync the file: an older one only means that more is
// done again, which changes nothing.
func (l *progress) checkpoint() error {
	b := l.bytes()
	err := l.disk.WriteAt(checkpointFile, 0, b)
	if err == nil {
		l.read = b
		l.proven, _ = l.disk.Stat(auditDir + "/" + l.Segment)
	}
	return err
}

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
	o.Bool("limited", l.counts.Limited)
	o.Int("kept", int64(l.counts.Kept))
	o.Int("kept_bytes", l.counts.KeptBytes)
	for _, st := range task.States {
		o.Int(string(st), int64(l.counts.Tasks[st]))
	}
	o.Str("sum", sum(o.Bytes()))
	b := o.Bytes()
	b = append(b, bytes.Repeat([]byte(" "), max(0, checkpointSize-1-len(b)))...)
	return append(b, '\n')
}

// sum returns the checksum of a checkpoint, over what stands before its member sum.
func sum(b []byte) string {
	s := short(bytes.TrimSuffix(b, []byte("}")))
	return hex.EncodeToString(s[:])
}

// summed reports whether a checkpoint is whole.
func summed(b []byte) bool {
	i := bytes.LastIndex(b, []byte(`,"sum":"`))
	return i >= 0 && bytes.HasPrefix(b[i:], []byte(`,"sum":"`+sum(b[:i])+`"}`))
}

// errEdited means that a checkpoint is whole except for its sum. It counts as none, and no
// crash leaves such a file.
var errEdited = fmt.Errorf("%w: it was edited", errNone)

// errNone means that the checkpoint is not there, or torn.
var errNone = errors.New("there is no checkpoint")

// loadCheckpoint reads the checkpoint. The log was synced before it was written, so it
// names a line of the log. If it does not, one of the two was cut or changed by hand. What is
// as it was is not taken apart again.
func (l *progress) loadCheckpoint(segments []string, end disk.Stat, was *progress) error {
	b, err := l.disk.Read(checkpointFile)
	if errors.Is(err, fs.ErrNotExist) || notFile(err) {
		return errNone
	}
	if err != nil {
		return err
	}
	if was.read != nil && bytes.Equal(b, was.read) {
		l.Mark, l.counts, l.agenda, l.starts = was.Mark, was.counts, was.agenda, was.starts
	} else if err := l.parse(b); err != nil {
		return err
	}
	if l.Segment == "" && len(segments) > 0 {
		return errNone // it was written before the first line
	}
	if l.Segment != "" && !slices.Contains(segments, l.Segment) {
		return fmt.Errorf("%w: the checkpoint speaks of audit/%s, which is not there", journal.ErrBroken, l.Segment)
	}
	if l.read, l.proven = b, end; l.Segment == "" || was.read != nil && end == was.proven {
		return nil
	}
	line, err := l.LineBefore(l.Segment, l.Size)
	if err == nil && audit.Hash(line) != l.Head {
		err = fmt.Errorf("%w: audit/%s: byte %d is not where the checkpoint says it was",
			journal.ErrBroken, l.Segment, l.Size)
	}
	return err
}

func (l *progress) parse(b []byte) error {
	c := &l.counts
	members := map[string]any{
		"segment": &l.Segment, "size": &l.Size, "head": &l.Head, "layout": &l.layout, "agenda": &l.agenda,
		"starts": &l.starts, "day": &c.Day, "refused": &c.Refused, "limited": &c.Limited, "kept": &c.Kept,
		"kept_bytes": &c.KeptBytes,
	}
	rec, err := record.Parse(b)
	if err == nil {
		err = rec.Value().Each(func(name string, v record.Value) error {
			if into, ok := members[name]; ok {
				return v.Into(into)
			}
			if st := task.State(name); slices.Contains(task.States, st) {
				var n int
				err := v.Into(&n)
				c.Tasks[st] = n
				return err
			}
			return nil
		})
	}
	if err != nil || l.layout != layout || l.Size < 0 || !agenda.Fits(l.agenda) || !starts.Fits(l.starts) {
		return errNone
	}
	if !summed(b) {
		return errEdited
	}
	return nil
}

// load reads the checkpoint. If there is none, or an index is shorter or far longer than
// it says, the log is read from its beginning.
func (l *progress) load() error {
	segments, end, err := l.Newest()
	if err != nil {
		return err
	}
	was := *l
	*l = begin(l.disk)
	if err = l.loadCheckpoint(segments, end, &was); err == nil {
		err = errors.Join(l.longEnough(agendaFile, l.agenda), l.longEnough(startsFile, l.starts))
	}
	if err != nil {
		l.read = nil
	}
	if errors.Is(err, errNone) {
		*l, err = begin(l.disk), nil
		l.lost = len(segments) > 0
	}
	if len(segments) > 0 {
		l.newest, l.end = segments[len(segments)-1], end
	}
	return err
}

// longEnough returns errNone if an index lost what it once held, or is something else by
// now.
func (l *progress) longEnough(name string, size int64) error {
	st, err := l.disk.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (st.Size < size || st.Size > size+mostLarge || st.Odd) {
		return errNone
	}
	return err
}

// behind reports whether the log had lines, when load looked, that were not carried out.
func (l *progress) behind() bool {
	return l.lost || l.newest != "" && (l.Segment != l.newest || l.Size != l.end.Size)
}
