package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	_ "pulse/lib/shared/linux"
)

// process is a server that runs.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File // what it reads
	stdout *os.File // what it writes
	gone   chan struct{}
}

// start starts a server in a session of its own, in dir, or else in the working directory. It gets no variable PULSE_*. It dies with
// this process.
func start(command []string, dir string, stderr *os.File) (*process, error) {
	given, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, said, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, given.Close(), stdin.Close())
	}
	p := &process{exec.Command(command[0], command[1:]...), stdin, stdout, make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Dir = given, said, dir
	if stderr != nil {
		p.cmd.Stderr = stderr
	}
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PULSE_") })
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	err = p.cmd.Start()
	given.Close()
	said.Close()
	if err != nil {
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	go p.watch()
	return p, nil
}

// watch waits until the server has ended. It is not reaped yet, so its group can't be another's.
func (p *process) watch() {
	defer close(p.gone)
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
}

func (p *process) kill(sig syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, sig) }

// reap returns the status of a server that has ended.
func (p *process) reap() int {
	_ = p.cmd.Wait() // the status says it
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// errStart means that the server can't be started.
var errStart = errors.New("mcp: the server is not started")

// Run starts a server and serves its client until one of the two ends. When the client does,
// the server's input closes; it has Grace to end before it is told to, and as long again
// before it is killed, with what it started. If ctx ends, the server is told by the signal
// that is the cause. The status is that of the server; 0 if the client closed its end. A
// goroutine is left that waits for in, or for out, if that has no deadlines.
func (p *Proxy) Run(ctx context.Context, command []string, in io.Reader, out io.Writer) (status int, err error) {
	s, err := start(command, p.Dir, p.Stderr)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errStart, err)
	}
	p.reset()
	reader := p.begin(func() { p.read(in, 0, p.taking, p.fromClient) })
	answers := p.begin(func() { p.read(s.stdout, own, p.client.room, p.fromServer) })
	judge := p.begin(p.judging)
	toServer := p.begin(func() { p.write(s.stdin, p.server, own); s.stdin.Close() })
	toClient := p.begin(func() { p.write(out, p.client, 0) })

	status = p.last(ctx, s)
	p.end()
	s.kill(syscall.SIGKILL)
	await(answers, p.Grace, func() bool { p.client.close(); return expire(s.stdout) })
	p.client.close()
	await(toClient, p.Grace, func() bool { return expire(out) })
	await(toServer, 0, func() bool { return expire(s.stdin) })
	await(reader, 0, func() bool { return expire(in) })
	<-judge
	s.stdout.Close()
	if ended := s.reap(); status == own {
		status = ended
	}
	return status, nil
}

// begin runs a part of the session, and returns a channel that closes when it has ended.
func (p *Proxy) begin(part func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		part()
	}()
	return done
}

// await waits for a part of the session. After some time it is forced to end, if it can be.
func await(done <-chan struct{}, patience time.Duration, force func() bool) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-done:
		return
	case <-t.C:
	}
	if force() {
		<-done
	}
}

// expire ends what waits for a file, and reports whether it can.
func expire(file any) bool {
	f, ok := file.(interface{ SetDeadline(time.Time) error })
	return ok && f.SetDeadline(time.Now()) == nil
}

// last waits until the server has ended, and sees to it once the session is to end.
func (p *Proxy) last(ctx context.Context, s *process) (status int) {
	status, next := own, syscall.SIGTERM
	var late <-chan time.Time
	closing := func(with int) {
		if late == nil {
			p.end()
			status, late = with, time.After(p.Grace)
		}
	}
	for told := ctx.Done(); ; {
		select {
		case <-s.gone:
			return status
		case with := <-p.ends:
			closing(with)
		case <-told:
			told = nil
			sig := causeOf(ctx)
			s.kill(sig)
			closing(128 + int(sig))
		case <-late:
			s.kill(next)
			next, late = syscall.SIGKILL, time.After(p.Grace)
		}
	}
}

// causeOf returns the signal that the cause of ctx's end is named after, or SIGTERM.
func causeOf(ctx context.Context) syscall.Signal {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT} {
		if context.Cause(ctx).Error() == sig.String() {
			return sig
		}
	}
	return syscall.SIGTERM
}
