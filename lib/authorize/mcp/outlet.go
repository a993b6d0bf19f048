package mcp

import (
	"io"
	"sync"
)

// outlet is what is still to be written to one side. Whoever writes to it never waits; whoever
// reads more from the other side waits first until there is room.
type outlet struct {
	mu      sync.Mutex
	changed sync.Cond // on mu
	lines   [][]byte
	size    int
	closed  bool // nothing is added any more
}

func newOutlet() *outlet {
	o := &outlet{}
	o.changed.L = &o.mu
	return o
}

// put adds a line, unless the outlet is closed.
func (o *outlet) put(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.lines, o.size = append(o.lines, line), o.size+len(line)+1
		o.changed.Broadcast()
	}
}

// full reports whether more waits to be written than should.
func (o *outlet) full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size >= maxHeld
}

// room waits until less than maxHeld is to be written. It reports false if the outlet is
// closed.
func (o *outlet) room() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size >= maxHeld && !o.closed {
		o.changed.Wait()
	}
	return !o.closed
}

// close has nothing added any more.
func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.changed.Broadcast()
}

// drain writes what is put until the outlet is closed and empty, or nobody reads any more.
func (o *outlet) drain(w io.Writer) error {
	for line, ok := o.first(); ok; line, ok = o.first() {
		if _, err := w.Write(append(line[:len(line):len(line)], '\n')); err != nil {
			o.close()
			return err
		}
		o.written()
	}
	return nil
}

func (o *outlet) first() (line []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.lines) == 0 && !o.closed {
		o.changed.Wait()
	}
	if len(o.lines) == 0 {
		return nil, false
	}
	return o.lines[0], true
}

// written forgets the first line.
func (o *outlet) written() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= len(o.lines[0]) + 1
	o.lines[0] = nil
	o.lines = o.lines[1:]
	o.changed.Broadcast()
}
