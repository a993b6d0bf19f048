package runner

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/safefile"
)

// Dir is the directory of a queue that holds the locks, two files a task: ID.runner with
// the process id of the runner, and ID.worker with the leader of the worker's session.
//
// An owner's lock is exclusive. A command that only asks takes a shared one for an
// instant, so that the two can be told apart. A lock counts only while its file still has
// its name.
type Dir string

// Locks are the two locks of a task that is being run.
type Locks struct {
	worker, runner *os.File
	dir            Dir
	id             string
}

// Worker returns the lock that a worker inherits.
func (l *Locks) Worker() *os.File { return l.worker }

// Take tolerates commands that only ask for as long as probing, and as often as probes: a process that gets
// no time has tried once in any time. Both are replaced in tests.
var (
	probing = 5 * time.Second
	probes  = 100
)

// as gives root the rights of the queue's owner, if that is another account, until restore
// is called: a link that the owner put there leads root nowhere.
func (d Dir) as() (restore func(), err error) {
	if os.Geteuid() != 0 {
		return func() {}, nil
	}
	for _, path := range []string{filepath.Dir(string(d)), string(d)} {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return safefile.As(int(st.Uid), int(st.Gid))
		}
	}
	return func() {}, nil
}

// open opens a lock file. O_NONBLOCK, which does nothing to a regular file, keeps it from
// hanging on a FIFO.
func (d Dir) open(id, which string, flags int) (*os.File, error) {
	restore, err := d.as()
	if err != nil {
		return nil, err
	}
	defer restore()
	return os.OpenFile(d.path(id, which), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
}

func (d Dir) path(id, which string) string { return filepath.Join(string(d), id+"."+which) }

// WorkerFile returns the file that the worker of a task has open, for fuser(1).
func (d Dir) WorkerFile(id string) string { return d.path(id, "worker") }

// Take takes both locks of a task. It fails with EWOULDBLOCK if one of them has an owner.
func (d Dir) Take(id string) (*Locks, error) {
	runner, err := d.lock(id, "runner")
	if err != nil {
		return nil, err
	}
	worker, err := d.lock(id, "worker")
	if err != nil {
		runner.Close()
		return nil, err
	}
	if !d.over(id, leader.lives) { // a worker closed what it inherited, and its runner was killed
		worker.Close()
		runner.Close()
		return nil, &fs.PathError{Op: "lock", Path: d.path(id, "worker"), Err: unix.EWOULDBLOCK}
	}
	// The pid is for people, and for Runners. What the last worker left is out of date.
	err = errors.Join(d.write(id, "runner", strconv.Itoa(os.Getpid())+"\n"), d.write(id, "worker", ""))
	if err != nil {
		worker.Close()
		runner.Close()
		return nil, err
	}
	return &Locks{worker, runner, d, id}, nil
}

// lock opens for reading only: a worker under another uid can't write what it
// inherits.
func (d Dir) lock(id, which string) (*os.File, error) {
	path := d.path(id, which)
	end := time.Now().Add(probing)
	for n := 1; ; n++ {
		f, err := d.open(id, which, os.O_RDONLY|os.O_CREATE)
		if err != nil {
			return nil, err
		}
		err = flock(f, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && named(f, path) {
			if err := d.share(f); err != nil {
				f.Close()
				return nil, err
			}
			return f, nil
		}
		owned := err != nil && flock(f, unix.LOCK_SH|unix.LOCK_NB) != nil && named(f, path)
		f.Close()
		if owned || err != nil && n > probes && time.Now().After(end) {
			return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
		}
		time.Sleep(rand.N(100 * time.Microsecond))
	}
}

// share lets the accounts that may write the directory read a lock file that was just
// taken, because an approver's command has to know whether it is inside a run.
func (d Dir) share(f *os.File) error {
	info, err := os.Stat(string(d))
	if err != nil || info.Mode().Perm()&0o020 == 0 {
		return err
	}
	if err := f.Chmod(0o660); !errors.Is(err, fs.ErrPermission) { // another account's has this mode already
		return err
	}
	return nil
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); err != unix.EINTR {
			return err
		}
	}
}

// named reports whether path is still the name of f.
func named(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}

// read returns what a lock file says, or the beginning of a file that is longer than any.
func (d Dir) read(id, which string) ([]byte, error) {
	f, err := d.open(id, which, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<10))
}

// write replaces what a lock file says. It cuts only a file that says something: ext4 sends
// a file that was cut to nothing to the disk when it is closed, and no power cut matters here.
func (d Dir) write(id, which, text string) error {
	f, err := d.open(id, which, os.O_WRONLY)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		err = f.Truncate(0)
	}
	if err == nil && text != "" {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Close())
}

// Handed closes this process's copy of the worker's lock once a worker has inherited it,
// and writes down which process that is.
func (l *Locks) Handed(pid int) error {
	defer l.worker.Close()
	who, err := leaderOf(pid)
	if err != nil {
		return err
	}
	return l.dir.write(l.id, "worker", who.String())
}

// Drop removes the locks of a task that is not running any more.
func (l *Locks) Drop() {
	if restore, err := l.dir.as(); err == nil {
		os.Remove(l.dir.path(l.id, "worker"))
		os.Remove(l.dir.path(l.id, "runner"))
		restore()
	}
	l.worker.Close()
	l.runner.Close()
}

// Visible reports whether this account can see the directory. A snapshot has none.
func (d Dir) Visible() bool {
	_, err := os.Stat(string(d))
	return err == nil
}

// Dead reports whether neither a runner nor a worker of the task lives: no lock has an
// owner, and the session of the worker that was started last has no member (a member may
// have closed its descriptor). What can't be told counts as alive.
func (d Dir) Dead(id string) bool {
	return d.free(id, "runner") && d.free(id, "worker") && d.over(id, leader.lives)
}

// Seen looks now at the processes of all workers that were written down, and returns
// Dead for a command that gives up the right to look. A worker that comes later counts
// as alive.
func (d Dir) Seen() (dead func(id string) bool) {
	gone := map[leader]bool{}
	for _, id := range d.ids("worker") {
		if l, err := d.leader(id); err == nil {
			gone[l] = !l.lives()
		}
	}
	lives := func(l leader) bool { return !gone[l] }
	return func(id string) bool {
		return d.free(id, "runner") && d.free(id, "worker") && d.over(id, lives)
	}
}

// over reports whether the session of the worker that was written down, if one was, has no
// member left.
func (d Dir) over(id string, lives func(leader) bool) bool {
	l, err := d.leader(id)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !lives(l)
}

// free reports whether a lock has no owner.
func (d Dir) free(id, which string) bool {
	for {
		f, err := d.open(id, which, os.O_RDONLY)
		if err != nil {
			return errors.Is(err, fs.ErrNotExist)
		}
		err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
		current := named(f, f.Name())
		f.Close()
		if current {
			return err == nil
		}
	}
}

// leader returns the worker that was written down, or fs.ErrNotExist if none was.
func (d Dir) leader(id string) (leader, error) {
	b, err := d.read(id, "worker")
	if err != nil {
		return leader{}, err
	}
	if len(b) == 0 {
		return leader{}, fs.ErrNotExist
	}
	return parseLeader(string(b))
}

// WaitGone waits until the task is Dead, at most for limit, and reports whether it is.
func (d Dir) WaitGone(id string, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	if !d.await(id, "runner", deadline) || !d.await(id, "worker", deadline) {
		return false
	}
	if l, err := d.leader(id); err == nil && l.lives() {
		awaitSession(l.pid, deadline)
	}
	return d.Dead(id)
}

// await waits until a lock has no owner. A waiting flock can't be interrupted, so after the
// deadline it is left to its own goroutine.
func (d Dir) await(id, which string, deadline time.Time) bool {
	for !d.free(id, which) {
		f, err := d.open(id, which, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err != nil {
			return false
		}
		done := make(chan error, 1)
		go func() { done <- errors.Join(flock(f, unix.LOCK_SH), f.Close()) }()
		select {
		case err := <-done:
			if err != nil {
				return false
			}
		case <-time.After(time.Until(deadline)):
			return false
		}
	}
	return true
}

// ids returns the tasks that have a lock file of a kind.
func (d Dir) ids(which string) (list []string) {
	entries, _ := os.ReadDir(string(d))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), "."+which); ok {
			list = append(list, id)
		}
	}
	return list
}

// Started returns when each runner took its task whose locks were not given back.
func (d Dir) Started() map[string]time.Time {
	list := map[string]time.Time{}
	for _, id := range d.ids("runner") {
		if info, err := os.Lstat(d.path(id, "runner")); err == nil {
			list[id] = info.ModTime()
		}
	}
	return list
}

// Runner returns the process id of the runner that took the task last. Whether it still
// runs the task, Dead says.
func (d Dir) Runner(id string) (pid int, err error) {
	b, err := d.read(id, "runner")
	if err != nil {
		return 0, err
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(b))); err == nil && pid <= 0 {
		err = errors.New("runner: not a process id")
	}
	return pid, err
}

// Runners returns the process ids of the runners that hold a lock.
func (d Dir) Runners() []int {
	var list []int
	for _, id := range d.ids("runner") {
		if d.free(id, "runner") {
			continue
		}
		if pid, err := d.Runner(id); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
