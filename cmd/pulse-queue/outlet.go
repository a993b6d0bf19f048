package main

import (
	"context"
	"io"
	"os"
	"sync"
)

// outlet passes on what is written to it and does not wait for its reader: who
// reads page by page must not keep everybody else out of the queue. What is not
// read yet lies in a file without a name; only once that is full, a write waits.
type outlet struct {
	to   io.Writer
	file *os.File // nil: there could be none, and every write waits

	mu       sync.Mutex
	changed  sync.Cond
	from, up int64 // what of the file is not read yet
	closed   bool
	err      error // of the reader
	done     chan struct{}
}

// maxOutlet is how much of the file is used, in bytes: a listing of a million tasks.
const maxOutlet = 256 << 20

func newOutlet(to io.Writer) *outlet {
	o := &outlet{to: to, done: make(chan struct{})}
	o.changed.L = &o.mu
	if f, err := os.CreateTemp("", "pulse-queue-*"); err == nil {
		os.Remove(f.Name())
		o.file = f
		go o.drain()
	}
	return o
}

func (o *outlet) Write(b []byte) (int, error) {
	if o.file == nil {
		return o.to.Write(b)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && o.up+int64(len(b)) > maxOutlet && o.from < o.up {
		o.changed.Wait()
	}
	if o.err != nil {
		return 0, o.err
	}
	if o.from == o.up {
		o.from, o.up = 0, 0
	}
	n, err := o.file.WriteAt(b, o.up)
	o.up += int64(n)
	o.changed.Broadcast()
	return n, err
}

// drain gives the reader what there is, until the outlet is closed and empty.
func (o *outlet) drain() {
	defer close(o.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := o.next(buf)
		if n > 0 && err == nil {
			_, err = o.to.Write(buf[:n])
		}
		o.mu.Lock()
		o.from += int64(n)
		o.err = err
		over := err != nil || o.closed && o.from == o.up
		o.changed.Broadcast()
		o.mu.Unlock()
		if over {
			return
		}
	}
}

// next waits until there is something, or nothing more to come.
func (o *outlet) next(buf []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.from == o.up && !o.closed {
		o.changed.Wait()
	}
	n := min(int64(len(buf)), o.up-o.from)
	return o.file.ReadAt(buf[:n], o.from)
}

// Close waits until the reader has everything, or ctx ends.
func (o *outlet) Close(ctx context.Context) error {
	if o.file == nil {
		return nil
	}
	o.mu.Lock()
	o.closed = true
	o.changed.Broadcast()
	o.mu.Unlock()
	select {
	case <-o.done:
		o.file.Close()
		return o.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
