package cmdline

import (
	"errors"
	"io"
	"os"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
)

// ErrInterrupted is what standard input returns after SIGINT or SIGTERM. The
// command ends between records and says nothing: who sent the signal knows.
var ErrInterrupted = errors.New("interrupted")

// input is standard input. A signal that comes while a read waits ends the
// process at once, for then nothing is under way; one that comes while the
// command works ends the input.
type input struct {
	file    *os.File
	onPause func() error
	linger  int // milliseconds

	mu            sync.Mutex // guards the two below
	idle, stopped bool
}

func newInput(f *os.File) *input {
	return &input{file: f, onPause: func() error { return nil }}
}

// Stdin returns the command's standard input. Before a read that finds nothing
// for linger milliseconds, onPause is called, so that a stage can write out what
// it has; its error ends the input.
func Stdin(c *cli.Context, linger int, onPause func() error) io.Reader {
	in, ok := c.App.Reader.(*input)
	if !ok {
		return c.App.Reader
	}
	in.linger, in.onPause = linger, onPause
	return in
}

func (in *input) Read(p []byte) (int, error) {
	pause := !in.ready()
	if pause {
		if err := in.onPause(); err != nil {
			return 0, err
		}
	}
	if in.wait(pause) {
		return 0, ErrInterrupted
	}
	n, err := in.file.Read(p)
	in.wait(false)
	return n, err
}

// wait says whether the command waits for input from now on, and returns whether
// a signal came before.
func (in *input) wait(idle bool) (stopped bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.idle = idle && !in.stopped
	return in.stopped
}

// interrupt ends the input. While a read waits it calls die, which must not return.
func (in *input) interrupt(die func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stopped = true
	if in.idle {
		die()
	}
}

// ready reports whether a read would return at once.
func (in *input) ready() bool {
	fds := []unix.PollFd{{Fd: int32(in.file.Fd()), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, in.linger)
	return n > 0 && err == nil
}
