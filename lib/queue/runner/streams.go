package runner

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// The bounds of what is kept of a worker's output.
const (
	MaxResult = 1 << 20
	maxStderr = 4 << 10
)

// drain is how long reading the rest of the output may take once every process is dead. A
// worker can hand its end of the pipe to a process that is not its child, and that must
// not delay the queue.
const drain = time.Second

// pipes are the worker's three streams, both ends of each.
type pipes struct {
	ours, theirs          []*os.File
	stdin, stdout, stderr *os.File
}

func connect(cmd *exec.Cmd) (*pipes, error) {
	p := &pipes{}
	var files [6]*os.File
	for i := 0; i < 6; i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			p.closeOurs()
			p.closeTheirs()
			return nil, err
		}
		files[i], files[i+1] = r, w
		if i == 0 {
			p.ours, p.theirs = append(p.ours, w), append(p.theirs, r)
		} else {
			p.ours, p.theirs = append(p.ours, r), append(p.theirs, w)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	p.stdin, p.stdout, p.stderr = files[1], files[2], files[4]
	return p, nil
}

func (p *pipes) closeTheirs() { closeAll(p.theirs) }
func (p *pipes) closeOurs()   { closeAll(p.ours) }

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// serve feeds and drains the streams. The function that it returns waits for the end of
// both outputs; every process that had them open must be dead by then.
func (p *pipes) serve(stdin []byte) func() (stdout, stderr []byte) {
	go func() {
		_, _ = p.stdin.Write(stdin) // a worker need not read it all
		p.stdin.Close()
	}()
	var out, err []byte
	var drained sync.WaitGroup
	drained.Go(func() { out = head(&pipe{p.stdout, MaxResult}, MaxResult) })
	drained.Go(func() { err = tail(&pipe{p.stderr, MaxResult}, maxStderr) })
	return func() ([]byte, []byte) {
		end := time.Now().Add(drain)
		p.stdout.SetReadDeadline(end)
		p.stderr.SetReadDeadline(end)
		drained.Wait()
		p.closeOurs()
		return out, err
	}
}

// pipe reads a pipe to its end, or until its deadline is over and then what is in it: who wrote that may be
// dead for long while this process was stopped.
type pipe struct {
	file *os.File
	left int // how much is read after the deadline
}

func (p *pipe) Read(b []byte) (int, error) {
	n, err := p.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) || p.left == 0 {
		return n, err
	}
	conn, err := p.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	if err := conn.Control(func(fd uintptr) { n, _ = syscall.Read(int(fd), b[:min(len(b), p.left)]) }); err != nil {
		return 0, err
	}
	if n <= 0 { // there is nothing now, and its end is not waited for
		return 0, io.EOF
	}
	p.left -= n
	return n, nil
}

// head returns the first n bytes of r and reads the rest too.
func head(r io.Reader, n int64) []byte {
	b, _ := io.ReadAll(io.LimitReader(r, n))
	_, _ = io.Copy(io.Discard, r)
	return b
}

// tail returns the last n bytes of r.
func tail(r io.Reader, n int) []byte {
	var last []byte
	buf := make([]byte, n)
	for {
		k, err := r.Read(buf)
		last = append(last, buf[:k]...)
		if len(last) > n {
			last = bytes.Clone(last[len(last)-n:])
		}
		if err != nil {
			return last
		}
	}
}
