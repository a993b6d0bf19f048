package spool

import (
	"fmt"

	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/queue/store"
)

// ReadPosition returns how far a source was read into the queue in dir, and whether a person was
// told that it can't be, for fetch. It takes no lock and writes nothing, because such a file is
// always replaced whole. codes are those of such findings.
func ReadPosition(dir, source string, codes ...string) (p store.Position, known, wrong bool, err error) {
	if err := access.Trust(dir); err != nil {
		return p, false, false, err
	}
	d, err := openDisk(dir)
	if err != nil {
		return p, false, false, err
	}
	defer d.Close()
	s := &Spool{dir: dir, disk: d}
	if err := s.known(); err != nil {
		return p, false, false, err
	}
	v := view{s, false, nil}
	p, known, err = queue.PositionOf(v, source)
	for _, code := range codes {
		if err == nil && !wrong {
			wrong, err = v.Has(store.Findings, store.FindingKey(code, source))
		}
	}
	if err != nil {
		return store.Position{}, false, false, fmt.Errorf("%s: %w", dir, err)
	}
	return p, known, wrong, nil
}
