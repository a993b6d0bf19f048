package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

const (
	grace     = 10 * time.Second // between SIGTERM and SIGKILL, and for what a client leaves behind
	maxStderr = 4 << 10
	maxLine   = 64 << 20 // bytes of a line of a transcript
)

// process is a client that runs.
type process struct {
	in     io.WriteCloser
	stderr *tail
	stop   context.CancelFunc // ends it
	done   chan struct{}      // closes once it has ended and all that it said was read
	err    error              // how it ended, after done
}

// start starts a client. line gets each line of its output, one after the other, and whether
// it is whole. The end of ctx ends the client.
func (t *turn) start(ctx context.Context, env []string, dir string, line func(line []byte, whole bool), args ...string) (*process, error) {
	ctx, stop := context.WithCancel(ctx)
	cmd := t.command(ctx, env, dir, args)
	out := &lines{fn: line}
	p := &process{stderr: &tail{}, stop: stop, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = out, p.stderr
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return nil, t.missing(err)
	}
	p.in = in
	go func() {
		defer close(p.done)
		if p.err = cmd.Wait(); errors.Is(p.err, exec.ErrWaitDelay) { // something else has its output
			p.err = nil
		}
		out.end()
	}()
	return p, nil
}

// command is a command that gets a SIGTERM when ctx ends.
func (t *turn) command(ctx context.Context, env []string, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.name, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = env, dir, grace
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd
}

// missing says what to do about a client that can't be started.
func (t *turn) missing(err error) error {
	return fault.Usagef("is it in the PATH of the worker? command -v "+t.name, "%s: it can not be started: %w", t.name, err)
}

// end ends a client at once, unless it ends by itself.
func (p *process) end() {
	p.stop()
	<-p.done
}

// wait closes the client's input, and waits for its end.
func (p *process) wait() error {
	_ = p.in.Close()
	<-p.done
	return p.err
}

// exit returns the exit status of a client that has ended; below 0: it was killed.
func (p *process) exit() int64 {
	var e *exec.ExitError
	if errors.As(p.err, &e) {
		return int64(e.ExitCode())
	}
	return 0
}

// noResult is the error of a client that has ended without saying how.
func (t *turn) noResult(p *process) error {
	how := "exit status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	how = "no result (" + how + ")"
	if said := audit.LastSaid(p.stderr.bytes()); said != "" {
		how += ": " + said
	}
	return t.failed(how)
}

// lines calls fn for each line that is written. A line that is too long is not whole, and
// neither is the last one without a newline.
type lines struct {
	fn   func(line []byte, whole bool)
	line []byte
	long bool
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		if room := maxLine - len(l.line); len(part) > room {
			part, l.long = part[:room], true
		}
		l.line = append(l.line, part...)
		if p = rest; whole {
			l.give(!l.long)
		}
	}
	return n, nil
}

func (l *lines) give(whole bool) {
	if text := bytes.TrimSpace(l.line); len(text) > 0 {
		l.fn(text, whole)
	}
	l.line, l.long = l.line[:0], false
}

func (l *lines) end() { l.give(false) }

// tail keeps the end of what is written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if len(t.b) > maxStderr {
		t.b = bytes.Clone(t.b[len(t.b)-maxStderr:])
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.b)
}

// version asks a client for its version: the first word that begins with a digit.
func (t *turn) version(ctx context.Context, env []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	out, err := t.command(ctx, env, t.home.dir, []string{"--version"}).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", t.missing(err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: --version: %w", t.name, err)
	}
	for word := range strings.FieldsSeq(string(out[:min(len(out), maxStderr)])) {
		if '0' <= word[0] && word[0] <= '9' {
			return word, nil
		}
	}
	return "", t.failed("--version: it does not say which")
}
