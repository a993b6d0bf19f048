// Package pgtest runs a real PostgreSQL for tests: one server for each test process, in a
// directory of its own, and a new database with an empty queue for each test.
//
// Invariant: a server does not outlive the process that started it, and is reached only by a
// socket in its directory. Caveat: anybody on this machine may be any role there. The directory
// of a test process that was killed is removed by the next one.
package pgtest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/pgstore"
)

// Server is a running PostgreSQL.
type Server struct {
	Dir string // holds its socket, and all else
	bin string
	uid *syscall.Credential // nil: that of this process

	lock *os.File // while this process has its flock, Dir is in use
	cmd  *exec.Cmd
	gone chan struct{}
	log  bytes.Buffer // readable once gone is closed
}

// Env is what else the environment of servers has. It is set before the first of them.
var Env []string

// bin returns the directory of the newest PostgreSQL that is installed, or of the one that
// PULSE_POSTGRES names; "" if there is none.
func bin() string {
	if dir := os.Getenv("PULSE_POSTGRES"); dir != "" {
		return dir
	}
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(p string) int { n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(p)))); return n }
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
	if len(all) == 0 {
		return ""
	}
	return filepath.Dir(all[len(all)-1])
}

// dirs is where the directories of servers lie, and the beginning of their names.
var dirs = []string{"/dev/shm/pulse-pg-", filepath.Join(os.TempDir(), "pulse-pg-")}

// create makes a server that is not started yet.
func create() (*Server, error) {
	sweep()
	if err := os.Setenv("PGCONNECT_TIMEOUT", fmt.Sprint(patience.Seconds())); err != nil { // pulse gives a host 5 s, because there may be another one
		return nil, err
	}
	s := &Server{bin: bin()}
	if os.Geteuid() == 0 { // initdb refuses root
		var err error
		if s.uid, err = other(); err != nil {
			return nil, err
		}
	}
	return s, s.makeDir()
}

// initdb makes a server's files.
func (s *Server) initdb() error {
	cmd := s.command("initdb", "-D", s.Dir+"/data", "-E", "UTF8", "--no-locale", "-A", "trust", "-U", Super, "--wal-segsize=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// start starts the server, and waits until it answers.
func (s *Server) start() error {
	s.gone = make(chan struct{})
	s.cmd = s.command("postgres", "-D", s.Dir+"/data", "-k", s.Dir, "-c", "listen_addresses=",
		"-c", "shared_buffers=32MB", "-c", "dynamic_shared_memory_type=mmap", "-c", "timezone=UTC", "-c", "log_timezone=UTC", "-c", "max_prepared_transactions=4")
	s.log.Reset()
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Pdeathsig comes when the thread ends
		err := s.cmd.Start()
		started <- err
		if err == nil {
			s.cmd.Wait()
			close(s.gone)
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	return s.wait()
}

// makeDir makes a directory in the first place that has one, and says that it is in use.
func (s *Server) makeDir() (err error) {
	for _, d := range dirs {
		if s.Dir, err = os.MkdirTemp(filepath.Dir(d), filepath.Base(d)); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if s.lock, err = os.Create(s.Dir + "/lock.new"); err == nil {
		err = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil { // the sweep of another process would take a lock that this one does not have yet
		err = os.Rename(s.Dir+"/lock.new", s.Dir+"/lock")
	}
	if err == nil {
		err = os.Chmod(s.Dir, 0o711)
	}
	if err == nil && s.uid != nil {
		err = os.Chown(s.Dir, int(s.uid.Uid), int(s.uid.Gid))
	}
	return err
}

// sweep removes the directories of processes that ended without Main.
func sweep() {
	for _, d := range dirs {
		left, _ := filepath.Glob(d + "*")
		for _, dir := range left {
			f, err := os.Open(dir + "/lock")
			if err != nil {
				continue
			}
			if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				os.RemoveAll(dir)
			}
			f.Close()
		}
	}
}

// other returns an account that is not root.
func other() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, cmp.Or(err1, err2)
}

func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Env = s.Dir, append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.uid, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
	return cmd
}

// patience is how long a server may take to start, beside all that works here.
const patience = 10 * time.Minute

// wait waits until the server answers.
func (s *Server) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		c, err := pgconn.Connect(ctx, s.dsn(Super, "postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-s.gone:
			return fmt.Errorf("postgres ended: %s", s.log.Bytes())
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Stop ends the server as a crash of the machine would, except that what was written stays.
func (s *Server) Stop() {
	s.cmd.Process.Signal(syscall.SIGQUIT)
	<-s.gone
}

// remove ends the server and removes its directory.
func (s *Server) remove() {
	s.Kill()
	os.RemoveAll(s.Dir)
	s.lock.Close()
}

// loose is what the schema has in the databases of tests: the clock is the clients', and a yes is
// good for as long as they say, because a test lets months pass.
var loose = [][2]string{
	{"CASE WHEN log < c + interval '1 hour' THEN greatest(c, log) ELSE c END", "client"},
	{"interval '24 hours'", "interval '99999 hours'"}, {"interval '31 days 1 hour'", "interval '99999 hours'"},
}

var timed = regexp.MustCompile(`(?s)CREATE FUNCTION ((?:now|most)\(.*?\$\$.*?\$\$;)`)

// Strict is SQL that gives a database the clock and the bounds which every other one has.
var Strict = ""

// Main runs the tests of a package and then removes the server, if there was one. It is all
// that a TestMain does.
func Main(m *testing.M) {
	for _, f := range timed.FindAllStringSubmatch(pgstore.Schema, -1) {
		Strict += "CREATE OR REPLACE FUNCTION pulse." + f[1] + "\n"
	}
	for _, r := range loose {
		if strings.Count(Strict, r[0]) != 1 || strings.Count(pgstore.Schema, r[0]) != 1 {
			panic("pgtest: the schema has no " + r[0])
		}
		pgstore.Schema = strings.Replace(pgstore.Schema, r[0], r[1], 1)
	}
	code := m.Run()
	End()
	os.Exit(code)
}

// End removes the server, if there is one, for packages whose TestMain does something else. The
// next New starts another one.
func End() {
	if one.server != nil {
		one.server.remove()
	}
	one.server, one.Once = nil, sync.Once{}
}
