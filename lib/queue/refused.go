package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// A record that the policy rejected may be kept for a while, so that people can try another
// policy on it. It never becomes a task: it lies on a shelf that no run reads, and without the
// text that a worker would need.

// The bounds of the refused records that are kept. What does not fit is not kept, and its line
// of the log says so: strangers decide how much is refused.
const (
	maxKeptRecord = 64 << 10 // bytes of one record
	MaxKept       = 20_000   // records
	maxKeptBytes  = 64 << 20 // bytes of all
)

// The words of Line.NotKept.
const (
	notKeptLarge   = "too_large"    // the record has more than maxKeptRecord bytes
	notKeptFull    = "full"         // MaxKept or maxKeptBytes is reached
	notKeptDisk    = "disk_low"     // the room is needed for what is accepted
	NotKeptNowhere = "no_directory" // an older pulse made the queue, and this account can't add to it
)

// reasonWasRefused is the reason of a refusal because the record was refused before and comes from
// where it was kept, whatever the stages say of it now. A worker would get a message without
// its text, and the message itself would be known when it comes again. It stands in the
// receipt alone: nothing new was refused, and the log has a line of when it was.
const reasonWasRefused = "was_refused"

// ErrRefused means that a record was refused, and is kept. It wraps ErrUnknown: it is no task.
var ErrRefused = fmt.Errorf("%w: the record was refused when it came, and was never accepted", store.ErrUnknown)

// RefusedOf loads a refused record that is kept. Its errors are those of Load.
func RefusedOf(v store.View, id string) (Stored, error) {
	s := Stored{Task: task.Task{ID: id, State: task.Rejected, Refused: true}}
	item, err := v.Get(store.Refused, id)
	if err == nil {
		err = s.Parse(item.Bytes)
	}
	if err == nil {
		s.Task.Change = s.First()
	}
	return s, err
}

// wasRefused reports whether a record is what RefusedOf loaded, what lies in its file, or a
// receipt of one of these.
func wasRefused(rec *record.Record) (was bool) {
	_ = rec.Decode(task.Member, func(v record.Value) error { // what else the member says is not read
		return v.Each(func(name string, v record.Value) error {
			if name == "refused" {
				was = v == "true"
			}
			return nil
		})
	})
	return was
}

// keep returns what is kept of a record that the policy rejected, and puts the digest, or why
// nothing is kept, into the line. A record is kept once: one that comes again does not renew it.
func (in *intake) keep(it *item, line *audit.Line) ([]byte, error) {
	if in.Keep <= 0 || it.receipt.Reason == Quota {
		return nil, nil
	}
	if there, err := in.keeps(it.id); there || err != nil {
		return nil, err
	}
	b, err := it.bare()
	if err != nil {
		return nil, err
	}
	if line.NotKept = in.unkept(len(b)); line.NotKept != "" {
		return nil, nil
	}
	line.Digest, line.Size = task.Digest(b), int64(len(b))
	return b, nil
}

// unkept returns why a record of this size can't be kept, or the empty string.
func (in *intake) unkept(size int) string {
	n, bytes := in.counts.Kept, in.counts.KeptBytes+int64(size)
	switch {
	case in.Unkept != "":
		return in.Unkept
	case size > maxKeptRecord:
		return notKeptLarge
	case n >= MaxKept || bytes > maxKeptBytes:
		return notKeptFull
	case onDisk(size) > in.spare:
		return notKeptDisk
	}
	return ""
}

// onDisk returns how many bytes a file of this size takes on most file systems.
func onDisk(size int) int64 { return (int64(size) + 4095) &^ 4095 }

// keeps reports whether a refused record is kept, staged changes included.
func (in *intake) keeps(id string) (bool, error) {
	if l, staged := in.kept[id]; staged {
		return l.Event == task.Refused, nil
	}
	return in.tx.Has(store.Refused, id)
}

// noteKept counts a line that was staged about a refused record.
func (in *intake) noteKept(line *audit.Line) {
	in.counts.Count(line)
	in.kept[line.Task] = *line
	if line.Event == task.Refused {
		in.spare -= onDisk(int(line.Size))
	}
}

// accepted removes what is kept of an earlier copy of a record that is now accepted: the id is
// that of a task from here on.
func (in *intake) accepted(id string) error {
	there, err := in.keeps(id)
	if !there || err != nil {
		return err
	}
	l, staged := in.kept[id]
	if !staged {
		if in.logged == nil {
			in.logged, err = in.loggedAll()
		}
		if l, there = in.logged[id]; !there || err != nil {
			return err
		}
		if is, err := isKept(in.tx, &l); !is || err != nil {
			return err
		}
	}
	line := audit.Line{Time: in.now, Event: audit.Forgotten, Task: id, Size: l.Size}
	in.noteKept(&line)
	return in.tx.Log(line)
}

// loggedAll returns what the log says of the records of the batch that are kept.
func (in *intake) loggedAll() (map[string]audit.Line, error) {
	var ids []string
	for _, it := range in.all {
		there, err := in.tx.Has(store.Refused, it.id)
		if err != nil {
			return nil, err
		}
		if there {
			ids = append(ids, it.id)
		}
	}
	return keptLines(in.tx, ids)
}

// keptLines returns the lines by which refused records are kept. A record whose
// keeping is not in the log has no line. It reads the log once, back to the oldest of these lines.
func keptLines(v store.View, ids []string) (map[string]audit.Line, error) {
	open, lines := map[string]bool{}, map[string]audit.Line{}
	for _, id := range ids {
		open[id] = true
	}
	if len(open) == 0 {
		return lines, nil
	}
	err := v.Back(func(l audit.Line) bool {
		if !open[l.Task] || l.Event != audit.Forgotten && (l.Event != task.Refused || l.Digest == "") {
			return true
		}
		if l.Event == task.Refused {
			lines[l.Task] = l
		}
		delete(open, l.Task)
		return len(open) > 0
	})
	return lines, err
}

// isKept reports whether what lies on the shelf is what a line kept. Anything else was put there
// by hand: it stays, and verify says so.
func isKept(v store.View, l *audit.Line) (bool, error) {
	item, err := v.Get(store.Refused, l.Task)
	if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
		return false, nil
	}
	return err == nil && task.Digest(item.Bytes) == l.Digest, err
}

// bare returns what is kept of a record: what the stages decide on, without the text and the
// attachments of its message, and without members that no stage knows.
func (it *item) bare() ([]byte, error) {
	rec, err := record.Parse(it.raw, Members...)
	if err != nil {
		return nil, err
	}
	var o record.Object
	if it.Message != nil {
		m := *it.Message
		m.From, m.Subject = it.Shown.From, it.Shown.Subject
		o.Raw(envelope.Member, m.AppendBare(nil))
	}
	for _, name := range []string{request.Member, identity.Member, decision.Member} {
		if v, err := rec.Get(name); err == nil {
			o.Raw(name, []byte(v))
		}
	}
	t := it.receipt
	t.Refused = true // so that add knows the file itself, too
	o.Raw(task.Member, t.AppendFixed(nil))
	return append(o.Bytes(), '\n'), nil
}

// Forget removes the refused records that have been kept for limit or longer, the oldest first,
// and not more than maxMoves. A limit of 0 removes all of them, whatever the clock says; with
// another one, none goes while the clock is not believed. What the log does not know is left to
// Verify.
// by is the person who wants it; empty: the policy does.
func Forget(s store.Store, limit time.Duration, by string, now time.Time) (n int, err error) {
	due, err := dueKept(s, limit, now)
	if len(due) == 0 || err != nil {
		return 0, err
	}
	err = Update(s, func(tx *Tx) error {
		n = 0
		c, err := ClockOf(tx, now)
		if err != nil || limit > 0 && tx.doubts(&c) {
			return err
		}
		for _, l := range due {
			is, err := isKept(tx, &l)
			if err == nil && is {
				n++
				err = tx.Log(audit.Line{Time: c.Now, Event: audit.Forgotten, Task: l.Task, Size: l.Size, By: by})
			}
			if err != nil || n == maxMoves {
				return err
			}
		}
		return nil
	})
	return n, err
}

// dueKept returns the lines of the records that Forget finds, oldest first. Mostly there is none,
// and then no command has to wait.
func dueKept(s store.Store, limit time.Duration, now time.Time) (due []audit.Line, err error) {
	err = s.View(func(v store.View) error {
		var ids []string
		c, err := ClockOf(v, now)
		if err != nil {
			return err
		}
		err = v.Each(store.Refused, func(id string, made time.Time) (bool, error) {
			old := limit == 0 || c.Now.Sub(c.Of(made)) >= limit
			if old {
				ids = append(ids, id)
			}
			return old, nil
		})
		if err != nil {
			return err
		}
		lines, err := keptLines(v, ids)
		due = nil
		for _, id := range ids {
			if l, kept := lines[id]; kept {
				due = append(due, l)
			}
		}
		return err
	})
	return due, err
}
