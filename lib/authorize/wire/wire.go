// Package wire carries questions to the judge of a run, over a Unix socket: one line of JSON
// each way, and then the end.
//
// Invariant: only processes of the run get an answer, as the kernel tells who connects; a
// question is bounded in length and time. Caveat: each of them may ask anything, so an
// answer must never tell more than the run was given.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"pulse/lib/authorize/judge"
	"pulse/lib/shared/record"
)

const (
	maxPath  = 100              // bytes of a socket's path, less than sun_path has (unix(7))
	maxOpen  = 32               // connections that are served at once
	patience = 30 * time.Second // for a question to arrive, and for an answer to be taken
)

// Server answers the questions of one run.
type Server struct {
	judge  *judge.Judge
	mine   func(pid int) bool
	dir    string
	l      *net.UnixListener
	ctx    context.Context
	cancel context.CancelFunc
	served sync.WaitGroup
}

// Listen makes the socket, in a directory of its own that no other account can list, and
// serves it until Close. mine reports whether a process belongs to the run.
func Listen(j *judge.Judge, mine func(pid int) bool) (*Server, error) {
	dir, err := place()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	s := &Server{judge: j, mine: mine, dir: dir}
	made := filepath.Join(dir, "new") // it has its name only once it takes connections
	s.l, err = net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o711), os.Chmod(made, 0o666), os.Rename(made, s.Path()))
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("wire: %w", err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.served.Go(s.accept)
	return s, nil
}

// place makes a directory whose name is short enough, and removes those of this account's runs that were
// killed: their sockets refuse connections.
func place() (dir string, err error) {
	const name = "/pulse-judge-"
	parent := os.TempDir()
	if len(parent) > maxPath-len(name+"4294967295/new") {
		parent = "/tmp"
	}
	left, _ := filepath.Glob(parent + name + "*/s")
	for _, socket := range left {
		dir := filepath.Dir(socket)
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
			continue
		}
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp(parent, filepath.Base(name))
}

// Path returns the socket.
func (s *Server) Path() string { return filepath.Join(s.dir, "s") }

// Close ends what is being answered, and removes the socket.
func (s *Server) Close() {
	s.cancel()
	s.l.Close()
	s.served.Wait()
	os.RemoveAll(s.dir)
}

func (s *Server) accept() {
	room := make(chan struct{}, maxOpen)
	for {
		room <- struct{}{}
		c, err := s.l.AcceptUnix()
		if err != nil {
			return
		}
		s.served.Go(func() {
			s.serve(c)
			<-room
		})
	}
}

func (s *Server) serve(c *net.UnixConn) {
	defer c.Close()
	stop := context.AfterFunc(s.ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if pid, err := peer(c); err != nil || !s.mine(pid) {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if s.ctx.Err() != nil { // the deadline took the place of the end
		return
	}
	line, err := readLine(c, judge.MaxQuestion)
	if err != nil || s.ctx.Err() != nil {
		return
	}
	answer := s.judge.Answer(s.ctx, line)
	_ = c.SetWriteDeadline(time.Now().Add(patience))
	_, _ = c.Write(append(answer, '\n'))
}

// peer returns the process that connected.
func peer(c *net.UnixConn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(cred.Pid), nil
}

var errLong = errors.New("wire: it is too long")

// readLine reads one line of at most limit bytes, without its newline.
func readLine(r io.Reader, limit int64) ([]byte, error) {
	line, err := bufio.NewReader(io.LimitReader(r, limit+1)).ReadBytes('\n')
	if err == io.EOF && int64(len(line)) > limit {
		return nil, errLong
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// Answer is what the judge answered.
type Answer struct{ rec *record.Record }

// Raw returns a member of the answer.
func (a Answer) Raw(member string) (record.Value, error) {
	v, err := a.rec.Get(member)
	if err != nil {
		return "", fmt.Errorf("wire: %w", err)
	}
	return v, nil
}

// Has reports whether the answer has a member.
func (a Answer) Has(member string) bool { return a.rec.Has(member) }

// Text is Raw for a member that is a string.
func (a Answer) Text(member string) (s string, err error) {
	v, err := a.Raw(member)
	if err == nil {
		s, err = v.String()
	}
	return s, err
}

// members are those of an answer.
var members = []string{"error", "say", "tools", "kept", "hello", "done", "outcome", "reason"}

// Ask asks the judge at a socket. A refusal is an error.
func Ask(ctx context.Context, path string, question []byte) (Answer, error) {
	line, err := exchange(ctx, path, question)
	if err != nil {
		return Answer{}, fmt.Errorf("wire: the run does not answer: %w", err)
	}
	rec, err := record.Parse(line, members...)
	if err != nil {
		return Answer{}, fmt.Errorf("wire: %w", err)
	}
	if rec.Has("error") {
		var refusal string
		err = rec.Decode("error", func(v record.Value) error { return v.Into(&refusal) })
		return Answer{}, errors.Join(err, errors.New(refusal))
	}
	return Answer{rec}, nil
}

func exchange(ctx context.Context, path string, question []byte) ([]byte, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if _, err := c.Write(append(question[:len(question):len(question)], '\n')); err != nil {
		return nil, err
	}
	return readLine(c, judge.MaxQuestion)
}
