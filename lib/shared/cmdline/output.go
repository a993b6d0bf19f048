package cmdline

import (
	"bufio"
	"context"
	"io"

	"github.com/urfave/cli/v2"
)

// Output returns a command's stdout, buffered, for answers of any length. A signal ends a
// write to a pipe that is full because its reader has stopped.
func Output(c *cli.Context) *bufio.Writer {
	return bufio.NewWriterSize(&interruptible{c.Context, c.App.Writer}, 64<<10)
}

type interruptible struct {
	ctx context.Context
	to  io.Writer
}

// Write leaves a write that does not return to its own goroutine.
func (o *interruptible) Write(b []byte) (n int, err error) {
	done := make(chan struct{})
	var written int
	var failed error
	go func() {
		written, failed = o.to.Write(b)
		close(done)
	}()
	select {
	case <-done:
		return written, failed
	case <-o.ctx.Done():
		return 0, o.ctx.Err()
	}
}
