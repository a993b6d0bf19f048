package spool

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"pulse/lib/audit"
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

// checkpoint says how far the log was carried out durably, and how many tasks that
// leaves in each state. It is never synced itself: an older one only means that
// more is done again, which changes nothing.
func (l *log) checkpoint() error { return l.disk.WriteAt(checkpointFile, 0, l.bytes()) }

// bytes returns what the checkpoint holds.
func (l *log) bytes() []byte {
	var o record.Object
	o.Str("segment", l.segment)
	o.Int("size", l.size)
	o.Str("head", l.head)
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
func (l *log) loadCheckpoint(segments []string) error {
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
	if err != nil || l.layout != layout || l.size < 0 || l.agenda < 0 || l.agenda%agendaWidth != 0 || l.starts < 0 || l.starts%startsWidth != 0 {
		return errNone
	}
	if !summed(b) {
		return errEdited
	}
	if l.segment == "" && len(segments) > 0 {
		return errNone // of the time before the first line
	}
	if l.segment != "" && !slices.Contains(segments, l.segment) {
		return fmt.Errorf("%w: the checkpoint speaks of audit/%s, which is not there", ErrBroken, l.segment)
	}
	if l.segment == "" {
		return nil
	}
	line, err := l.lineBefore(l.size)
	if err == nil && audit.Hash(line) != l.head {
		err = fmt.Errorf("%w: audit/%s: byte %d is not where the checkpoint says it was", ErrBroken, l.segment, l.size)
	}
	return err
}

func (l *log) field(name string, v record.Value) error {
	switch name {
	case "segment":
		return v.Into(&l.segment)
	case "size":
		return v.Into(&l.size)
	case "head":
		return v.Into(&l.head)
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

// lineBefore returns the line of the segment that ends at end, without its newline.
func (l *log) lineBefore(end int64) ([]byte, error) {
	for back := int64(4 << 10); ; back *= 4 {
		start := max(0, end-back)
		b := make([]byte, end-start)
		n, err := l.disk.ReadAt(auditDir+"/"+l.segment, start, b)
		if err != nil {
			return nil, err
		}
		line, whole := bytes.CutSuffix(b[:n], []byte("\n"))
		if n < len(b) || !whole {
			return nil, fmt.Errorf("%w: audit/%s is shorter than it was", ErrBroken, l.segment)
		}
		if i := bytes.LastIndexByte(line, '\n'); i >= 0 || start == 0 {
			return line[i+1:], nil
		}
	}
}
