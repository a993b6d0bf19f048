package queue

import (
	"errors"
	"fmt"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
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
	MaxKeptRecord = 64 << 10 // bytes of one record
	MaxKept       = 20_000   // records
	MaxKeptBytes  = 64 << 20 // bytes of all
)

// The words of Line.NotKept.
const (
	NotKeptLarge   = "too_large"    // the record has more than MaxKeptRecord bytes
	NotKeptFull    = "full"         // MaxKept or MaxKeptBytes is reached
	NotKeptDisk    = "disk_low"     // the room is needed for what is accepted
	NotKeptNowhere = "no_directory" // an older pulse made the queue, and this account can't add to it
)

// ReasonWasRefused is the reason of a refusal because the record was refused before and comes from
// where it was kept, whatever the stages say of it now. A worker would get a message without
// its text, and the message itself would be known when it comes again. It stands in the
// receipt alone: nothing new was refused, and the log has a line of when it was.
const ReasonWasRefused = "was_refused"

// ErrRefused means that a record was refused, and is kept. It wraps ErrUnknown: it is no task.
var ErrRefused = fmt.Errorf("%w: the record was refused when it came, and was never accepted", ErrUnknown)

// RefusedOf loads a refused record that is kept. Its errors are those of Load.
func RefusedOf(v View, id string) (Stored, error) {
	s := Stored{Task: task.Task{ID: id, State: task.Rejected, Refused: true}}
	item, err := v.Get(Refused, id)
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
	case size > MaxKeptRecord:
		return NotKeptLarge
	case n >= MaxKept || bytes > MaxKeptBytes:
		return NotKeptFull
	}
	return ""
}

// keeps reports whether a refused record is kept, staged changes included.
func (in *intake) keeps(id string) (bool, error) {
	if there, staged := in.kept[id]; staged {
		return there, nil
	}
	return in.tx.Has(Refused, id)
}

// noteKept counts a line that was staged about a refused record.
func (in *intake) noteKept(line *audit.Line) {
	in.counts.countKept(line)
	in.kept[line.Task] = line.Event == task.Refused
}

// accepted removes what is kept of an earlier copy of a record that is now accepted: the id is
// that of a task from here on.
func (in *intake) accepted(id string) error {
	if in.counts.Kept == 0 {
		return nil
	}
	there, err := in.keeps(id)
	if !there || err != nil {
		return err
	}
	size, err := in.tx.sizeKept(id)
	if errors.Is(err, ErrCorrupt) {
		return nil // verify says so
	}
	if err != nil {
		return err
	}
	line := audit.Line{Time: in.now, Event: audit.Forgotten, Task: id, Size: size}
	in.noteKept(&line)
	return in.tx.Log(line)
}

// sizeKept returns the size of a refused record that is kept, staged ones included.
func (t *Tx) sizeKept(id string) (int64, error) {
	for i := range t.commit.Blobs {
		if b := &t.commit.Blobs[i]; b.Shelf == Refused && b.Key == id {
			return int64(len(b.Bytes)), nil
		}
	}
	item, err := t.Get(Refused, id)
	return int64(len(item.Bytes)), err
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
// and not more than maxMoves. A limit of 0 removes all of them, whatever the clock says.
// by is the person who wants it; empty: the policy does.
func Forget(s Store, limit time.Duration, by string, now time.Time) (n int, err error) {
	if due, err := anyKept(s, limit, now); !due || err != nil {
		return 0, err
	}
	err = Update(s, func(tx *Tx) error {
		n = 0
		return eachKept(tx, limit, now, func(id string) (more bool, err error) {
			size, err := tx.sizeKept(id)
			if errors.Is(err, ErrUnknown) || errors.Is(err, ErrCorrupt) {
				return true, nil // it was changed by hand: verify says so
			}
			if err == nil {
				err = tx.Log(audit.Line{Time: now.UTC(), Event: audit.Forgotten, Task: id, Size: size, By: by})
			}
			n++
			return n < maxMoves, err
		})
	})
	return n, err
}

// anyKept reports whether Forget would find a record. Mostly it would not, and then no command
// has to wait.
func anyKept(s Store, limit time.Duration, now time.Time) (due bool, err error) {
	err = s.View(func(v View) error {
		if due = false; v.Counts().Kept <= 0 {
			return nil
		}
		return eachKept(v, limit, now, func(string) (bool, error) {
			due = true
			return false, nil
		})
	})
	return due, err
}

// eachKept calls fn for the refused records that have been kept for limit or longer.
func eachKept(v View, limit time.Duration, now time.Time, fn func(id string) (more bool, err error)) error {
	return v.Each(Refused, func(id string, made time.Time) (bool, error) {
		if limit > 0 && now.Sub(made) < limit {
			return false, nil
		}
		return fn(id)
	})
}
