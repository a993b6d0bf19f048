// Package runner starts one worker, watches it and ends it.
//
// Invariant: when Run returns, the worker and everything it left behind are dead
// and reaped: the caller is the subreaper of all of them (prctl(2)). Whether a
// worker lives is told by the kernel: two locks, one held by the runner, one
// inherited by the worker and its children; a task whose locks are both free has
// nobody. Caveat: a worker under the same uid can unlock what it inherited; then
// only the runner's lock speaks for it.
package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The bounds of what is kept of a worker's output, and how long it has between
// SIGTERM and SIGKILL.
const (
	MaxResult = 1 << 20
	maxStderr = 4 << 10
	Grace     = 10 * time.Second
)

// grace is Grace, but for tests.
var grace = Grace

// drain is how long the end of the output may take once everybody is dead: as long
// as it takes to read what is in the pipe. A worker can hand its end to somebody
// who is none of its children, and that must not hold the queue up.
const drain = time.Second

// Worker is a command to be started once.
type Worker struct {
	Path       string // absolute, or with a slash
	Argv       []string
	Env        []string
	Stdin      []byte
	Lock       *os.File // inherited as descriptor 3
	Credential *syscall.Credential
	Timeout    time.Duration // 0: none
}

// End is how a worker ended.
type End struct {
	Exit     int // -1: killed by a signal, or never started
	How      string
	Stdout   []byte // the first MaxResult bytes
	Stderr   []byte // the last few KiB
	TimedOut bool
}

// Run starts the worker in its own session and waits until it and all its
// descendants are gone. A cancelled context or the timeout sends SIGTERM to its
// process group, and SIGKILL to everything after Grace. handed is called once the
// worker holds its lock.
func Run(ctx context.Context, w *Worker, handed func()) (End, error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return End{Exit: -1}, fmt.Errorf("runner: can't become subreaper: %w", err)
	}
	// What this process itself inherited, from cron or flock(1), is not the worker's.
	if err := unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return End{Exit: -1}, fmt.Errorf("runner: can't close descriptors: %w", err)
	}
	cmd := &exec.Cmd{
		Path: w.Path, Args: w.Argv, Env: w.Env, ExtraFiles: []*os.File{w.Lock},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: w.Credential},
	}
	pipes, err := connect(cmd)
	if err != nil {
		return End{Exit: -1}, fmt.Errorf("runner: %w", err)
	}
	err = cmd.Start()
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return End{Exit: -1, How: "never started"}, fmt.Errorf("runner: %w", err)
	}
	handed()
	out := pipes.serve(w.Stdin)
	end := watch(ctx, cmd.Process, w.Timeout)
	sweep()
	end.Stdout, end.Stderr = out()
	return end, nil
}

// watch waits for the worker itself, and ends it when its time is over.
func watch(ctx context.Context, p *os.Process, timeout time.Duration) End {
	done := make(chan End, 1)
	go func() { done <- wait(p) }()
	var expired <-chan time.Time
	if timeout > 0 {
		t := time.NewTimer(timeout)
		defer t.Stop()
		expired = t.C
	}
	timedOut := false
	select {
	case end := <-done:
		return end
	case <-ctx.Done():
	case <-expired:
		timedOut = true
	}
	syscall.Kill(-p.Pid, syscall.SIGTERM)
	syscall.Kill(-p.Pid, syscall.SIGCONT)
	select {
	case end := <-done:
		end.TimedOut = timedOut
		return end
	case <-time.After(grace):
	}
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	end := <-done
	end.TimedOut = timedOut
	return end
}

func wait(p *os.Process) End {
	state, err := p.Wait()
	if err != nil {
		return End{Exit: -1, How: err.Error()}
	}
	return End{Exit: state.ExitCode(), How: state.String()}
}

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

// serve feeds and drains the streams; the function it returns waits for the end
// of both outputs. Every process that held them must be dead.
func (p *pipes) serve(stdin []byte) func() (stdout, stderr []byte) {
	go func() {
		p.stdin.Write(stdin) // a worker need not read it all
		p.stdin.Close()
	}()
	var out, err []byte
	var drained sync.WaitGroup
	drained.Go(func() { out = head(p.stdout, MaxResult) })
	drained.Go(func() { err = tail(p.stderr, maxStderr) })
	return func() ([]byte, []byte) {
		end := time.Now().Add(drain)
		p.stdout.SetReadDeadline(end)
		p.stderr.SetReadDeadline(end)
		drained.Wait()
		p.closeOurs()
		return out, err
	}
}

// head returns the first n bytes of r and reads the rest too.
func head(r io.Reader, n int64) []byte {
	b, _ := io.ReadAll(io.LimitReader(r, n))
	io.Copy(io.Discard, r)
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

// sweep kills and reaps whatever the worker left behind. As subreaper this process
// inherits every orphan, however often it forked or changed its session.
func sweep() {
	for {
		for _, pid := range children() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		_, err := syscall.Wait4(-1, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return // ECHILD: nobody is left
		}
	}
}
