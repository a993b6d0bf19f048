package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Pair is a primary and its standby, both with the queue of New.
type Pair struct{ Primary, Standby *Server }

// cold is a server that was shut down, which those of pairs are copies of.
var cold struct {
	sync.Once
	server *Server
	err    error
}

// chill makes the cold server.
func chill() (*Server, error) {
	s, err := start()
	if err == nil {
		err = s.cmd.Process.Signal(syscall.SIGINT)
		<-s.gone
	}
	return s, err
}

// NewPair starts a pair. What is committed on a synchronous primary waits for its standby.
func NewPair(tb testing.TB, synchronous bool) *Pair {
	tb.Helper()
	need(tb)
	cold.Do(func() { cold.server, cold.err = chill() })
	if cold.err != nil {
		tb.Fatal(cold.err)
	}
	conf := "wal_keep_size = '256MB'\nwal_retrieve_retry_interval = '50ms'\n"
	if synchronous {
		conf += "synchronous_standby_names = 'standby'\n"
	}
	p := &Pair{Primary: thawed(tb, conf)}
	p.Standby = thawed(tb, fmt.Sprintf("wal_retrieve_retry_interval = '50ms'\nprimary_conninfo = 'host=%s user=%s application_name=standby'\n", p.Primary.Dir, Super),
		"standby.signal")
	return p
}

// thawed starts a copy of the cold server, with more settings, and empty files besides.
func thawed(tb testing.TB, conf string, files ...string) *Server {
	tb.Helper()
	s, err := create()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.remove)
	data := s.Dir + "/data"
	out, err := exec.Command("cp", "-a", cold.server.Dir+"/data", data).CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	f, err := os.OpenFile(data+"/postgresql.auto.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(conf)
		err = errors.Join(err, f.Close())
	}
	for _, name := range files {
		err = errors.Join(err, os.WriteFile(data+"/"+name, nil, 0o644))
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// Hosts returns the name of a pair's queue for a login, who tries these directories of
// sockets one after the other.
func Hosts(login string, dirs ...string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s", login, template, url.QueryEscape(strings.Join(dirs, ",")))
}

// Do runs SQL as Super on a server of a pair.
func (s *Server) Do(tb testing.TB, sql string) {
	tb.Helper()
	if err := s.run(template, sql); err != nil {
		tb.Fatal(err)
	}
}

// Promote makes a standby a primary.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	// A query that waited for it would be in the way of what is left to replay.
	if out, err := s.command("pg_ctl", "promote", "-w", "-s", "-D", s.Dir+"/data").CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
}

// Restart starts a server of a pair that was ended.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	err := s.start()
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); { // a process of the last one may not be dead yet
		err = s.start()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server and all its processes with SIGKILL.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.Freeze() // it starts no more of them
	s.signal(syscall.SIGKILL)
	<-s.gone
}

// Freeze stops all processes of the server until Thaw: it is there, and does not answer.
func (s *Server) Freeze() {
	s.cmd.Process.Signal(syscall.SIGSTOP)
	unix.Waitid(unix.P_PID, s.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil) // or it might start one more meanwhile
	s.signal(syscall.SIGSTOP)
}

// Thaw undoes Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

// signal sends a signal to all processes of the server.
func (s *Server) signal(sig syscall.Signal) {
	select {
	case <-s.gone: // its number may be another's
		return
	default:
	}
	pid := s.cmd.Process.Pid
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, child := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			syscall.Kill(n, sig)
		}
	}
	s.cmd.Process.Signal(sig)
}
