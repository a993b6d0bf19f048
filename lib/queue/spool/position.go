package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
)

// ReadPosition returns how far a source was read into the queue in dir, for fetch. It
// takes no lock and writes nothing, because the file is always replaced whole.
func ReadPosition(dir, source string) (p queue.Position, known bool, err error) {
	if err := access.Trust(dir); err != nil {
		return p, false, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return p, false, err
	}
	defer d.Close()
	name := fileOf(queue.Positions, queue.PositionKey(source))
	b, err := d.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p, false, nil
	}
	var rec *record.Record
	if err == nil {
		rec, err = record.Parse(b)
	}
	if err == nil {
		p, err = audit.DecodePosition(rec.Value())
	}
	if err == nil && p.Source != source {
		err = errors.New("it is for another source")
	}
	if err != nil {
		return queue.Position{}, false, fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
	}
	return p, true, nil
}
