package spool

import (
	"bytes"
	"errors"
	"io/fs"

	"pulse/lib/queue"
	"pulse/lib/queue/disk"
)

// derived returns a queue in memory that holds only the starts. Verify fills it from the lines
// that it reads anyway.
func derived() *Spool {
	s := &Spool{disk: disk.NewMemory()}
	s.log = begin(s.disk)
	return s
}

// verifyStarts checks that the limits are counted from what was started.
func (r *verifier) verifyStarts() error {
	got, err := r.disk.Read(startsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !notFile(err) {
		return err
	}
	want, _ := r.starts.disk.Read(startsFile) // nothing was started: there is none
	if notFile(err) || !bytes.Equal(got, want) {
		r.findSmall("%s: it is not what the log makes of it: the limits are reckoned from it", startsFile)
	}
	return nil
}

// verifyCheckpoint checks the counts, and that nothing else stands in the checkpoint. The
// count of refusals may be higher than that of the lines: a refusal beyond
// queue.MaxRefusals a day has no line.
func (r *verifier) verifyCheckpoint() error {
	if r.Broken {
		return nil // a log that is broken has no checkpoint to compare
	}
	got, err := r.disk.Read(checkpointFile)
	if errors.Is(err, fs.ErrNotExist) && r.log.Segment == "" {
		return nil
	}
	if err != nil && !notFile(err) {
		return err
	}
	want := r.starts.log
	want.counts = r.fold.Counts
	want.Segment, want.Size, want.Head, want.agenda = r.log.Segment, r.log.Size, r.Head, r.log.agenda
	if want.counts.Refused >= queue.MaxRefusals && want.counts.Day == r.log.counts.Day {
		want.counts.Refused = max(want.counts.Refused, r.log.counts.Refused)
	}
	if err != nil || !bytes.Equal(bytes.TrimRight(got, " \n"), bytes.TrimRight(want.bytes(), " \n")) {
		r.findSmall("%s: it is not what the log makes of it", checkpointFile)
	}
	return nil
}
