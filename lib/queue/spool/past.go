package spool

import (
	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// ReadPast reads from a queue that was put aside what became of its tasks. That queue may be
// damaged: it is not repaired, and each line of its log that can be read counts. It is whole if
// the chain has no gap, and has the line that its checkpoint names and every one that this account
// noted of the Spool. Another queue than the Spool's own is an error.
func (s *Spool) ReadPast(dir string) (*queue.Fates, error) {
	if err := access.Trust(dir); err != nil {
		return nil, fault.Usagef("name the directory that the queue was moved to; if it is lost, leave --was out", "--was: %w", err)
	}
	d, err := openDisk(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	seen := s.memory.Noted()
	noted, err := seen.Heads()
	r := pastReader{Fates: queue.NewFates(), log: begin(d), head: audit.Origin, noted: noted}
	r.Whole = r.checkpoint() && err == nil
	names, err := r.log.Segments()
	if err != nil {
		r.Whole = false
	}
	for _, name := range names {
		r.segment(name)
	}
	if own, err := (lines{s}).FirstHash(); r.first != "" && own != "" && r.first != own && err == nil {
		return nil, fault.Usagef("name the directory that the queue was moved to before the copy was put in its place",
			"--was %s: it is another queue", escape.ASCII(dir))
	}
	r.Whole, r.Head = r.Whole && len(r.noted) == 0, r.head
	return r.Fates, nil
}

// pastReader reads a log that may be damaged.
type pastReader struct {
	*queue.Fates
	log   progress
	first string          // hash of the first line, if that can be read
	head  string          // of the last line
	noted map[string]bool // heads that have to be there
	torn  bool            // the last line is not whole
}

// segment reads the lines of a file. What can't be read, and each gap in the chain, makes that
// the past is not whole.
func (r *pastReader) segment(name string) {
	r.Whole = r.Whole && !r.torn
	in := r.log.NewReader(name, 0)
	for {
		raw, err := in.Next()
		if err != nil {
			r.Whole = false
			return // a bad sector, or no end of a line: what follows in this file is not known
		}
		if raw == nil {
			break
		}
		l, err := audit.Parse(raw)
		if err != nil || l.Prev != r.head {
			r.Whole = false
		}
		if r.head == audit.Origin && err == nil && l.Prev == audit.Origin {
			r.first = audit.Hash(raw)
		}
		r.head = audit.Hash(raw)
		delete(r.noted, r.head)
		if err == nil {
			r.Add(&l)
		}
	}
	r.torn = in.Torn()
}

// checkpoint adds the line that the checkpoint names to those that have to be there. It may be
// older than the end of the log, after a power cut.
func (r *pastReader) checkpoint() bool {
	b, err := r.log.disk.Read(checkpointFile)
	at := begin(r.log.disk)
	if err != nil || at.parse(b) != nil || at.Size == 0 {
		return false
	}
	r.noted[at.Head] = true
	return true
}
