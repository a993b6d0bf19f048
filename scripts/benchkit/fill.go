package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// fill makes a queue look as if it had been used: some tasks are completed, some
// scheduled. It writes the files and the log as pulse-queue(5) publishes them, and leaves
// the rest to the first command that opens the queue. The tasks came over some days, or one a second if
// that is 0. The last line is of yesterday: no start counts against a limit any more, and the clock did
// not jump.
func fill(dir string, completed, scheduled, days int) (err error) {
	step := time.Second
	if days > 0 {
		step = time.Duration(days) * 24 * time.Hour / time.Duration(completed+scheduled)
	}
	begun := time.Now().UTC().Truncate(time.Second).Add(-30*time.Hour - time.Duration(completed+scheduled)*step)
	w := &chain{dir: filepath.Join(dir, "audit"), prev: audit.Origin, now: begun}
	defer func() { err = errors.Join(err, w.end()) }()
	for i := range completed + scheduled {
		id := fmt.Sprintf("%032x", uint64(i+1)*0x9e3779b97f4a7c15)
		st := task.Completed
		if i >= completed {
			st = task.Scheduled
		}
		w.now = w.now.Add(step)
		message := fmt.Sprintf("<%d@%s.example.com>", i, filepath.Base(dir)) // no two queues have the same log
		file := taskFile(id, message, i, w.now)
		if err := os.WriteFile(filepath.Join(dir, string(st), id+".json"), file, 0o600); err != nil {
			return err
		}
		l := audit.Line{
			Time: w.now, Event: task.Added, Task: id, Kind: task.Ask, To: task.Scheduled, Digest: task.Digest(file),
			Action: terms.ReadPublic, Sender: owner, Trust: terms.OwnerVerifiedEmail,
			Source: "imaps://me@imap.example.com/INBOX", UID: uint32(i + 1), MessageID: message,
		}
		if err := w.add(l); err != nil {
			return err
		}
		if st == task.Scheduled {
			continue
		}
		l.From, l.To, l.Event = task.Scheduled, task.Running, task.Started
		if err := w.add(l); err != nil {
			return err
		}
		l.From, l.To, l.Event = task.Running, task.Completed, task.Finished
		if err := w.add(l); err != nil {
			return err
		}
		meta := task.Change{Since: w.now}
		if err := os.WriteFile(filepath.Join(dir, "meta", id+".json"), append(meta.Append(nil), '\n'), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// owner is the sender of all mail.
const owner = "me@example.com"

func taskFile(id, message string, i int, created time.Time) []byte {
	return fmt.Appendf(nil, `{"message":{"source":"imaps://me@imap.example.com/INBOX","uid":%d,"uidvalidity":1,"id":%q,`+
		`"received":"2026-01-01T00:00:00Z","subject":"hello"},"identity":{"sender":%q,"trust":"owner_verified_email","verified":true,`+
		`"stale":false,"automatic":false,"reason":"authenticated_owner","why":""},"decision":{"action":"read_public","outcome":"allow",`+
		`"rule":"matrix.owner_verified_email.allow","reason":"allowed","why":""},"task":{"id":%q,"kind":"ask","created":%q}}`+"\n",
		i+1, message, owner, id, created.Format(time.RFC3339))
}

// chain writes lines of a log, a file for each month.
type chain struct {
	dir   string
	month string
	file  *os.File // of the month
	prev  string
	now   time.Time
	buf   []byte
}

func (c *chain) add(l audit.Line) (err error) {
	if month := l.Time.Format("2006-01"); month != c.month {
		if err := c.end(); err != nil {
			return err
		}
		if c.file, err = os.Create(filepath.Join(c.dir, month+".jsonl")); err != nil {
			return err
		}
		c.month = month
	}
	l.Prev = c.prev
	start := len(c.buf)
	c.buf = l.Append(c.buf)
	c.prev = audit.Hash(c.buf[start:])
	c.buf = append(c.buf, '\n')
	if len(c.buf) < 1<<20 {
		return nil
	}
	return c.flush()
}

// end ends the file of a month.
func (c *chain) end() error {
	if c.file == nil {
		return nil
	}
	return errors.Join(c.flush(), c.file.Close())
}

func (c *chain) flush() error {
	_, err := c.file.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}
