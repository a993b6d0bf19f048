package spool

import (
	"fmt"

	"pulse/lib/queue"
	"pulse/lib/queue/access"
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
	s := &Spool{dir: dir, disk: d}
	if err := s.known(); err != nil {
		return p, false, err
	}
	p, known, err = queue.PositionOf(view{s, false}, source)
	if err != nil {
		return queue.Position{}, false, fmt.Errorf("%s: %w", dir, err)
	}
	return p, known, nil
}
