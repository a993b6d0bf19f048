package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leader names a worker for as long as its session has a living member. It does so by the
// worker's pid, which is the session's id and is not given to another process until then,
// and by the time when the worker was started.
type leader struct {
	pid   int
	start uint64
	world string
}

// world names where a pid has a meaning: this boot, this pid namespace.
func world() (string, error) {
	boot, err := shortFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space, err
}

// leaderOf returns the leader of a worker that was just started.
func leaderOf(pid int) (leader, error) {
	p, err := look(pid)
	if err != nil {
		return leader{}, err
	}
	w, err := world()
	return leader{pid, p.start, w}, err
}

func (l leader) String() string { return fmt.Sprintf("%d %d %s\n", l.pid, l.start, l.world) }

func parseLeader(s string) (leader, error) {
	var l leader
	var boot, space string
	_, err := fmt.Sscanf(s, "%d %d %s %s\n", &l.pid, &l.start, &boot, &space)
	l.world = boot + " " + space
	if err != nil || l.String() != s || l.pid < 2 {
		return l, errors.New("runner: not the record of a worker")
	}
	return l, nil
}

// lives reports whether the session may have a living member. A session from another boot
// has none. One in another pid namespace can't be seen from here, so only the locks count
// for it.
func (l leader) lives() bool {
	if w, err := world(); err != nil || w != l.world {
		return err != nil
	}
	p, err := look(l.pid)
	switch {
	case err == nil && p.start != l.start:
		return false // the number was given to another process, so no session has it
	case err == nil && !p.dead():
		return true
	case errors.Is(err, fs.ErrNotExist):
		// /proc may hide what is not ours (hidepid).
		if _, err := unix.Getsid(l.pid); err == nil {
			return true
		}
	case err != nil:
		return true
	}
	list, err := living(l.pid)
	return err != nil || len(list) > 0
}

// living returns the processes of a session that have not ended.
func living(sid int) ([]int, error) {
	all, err := processes()
	var list []int
	for _, pid := range all {
		if s, err := unix.Getsid(pid); err != nil || s != sid {
			continue
		}
		if p, err := look(pid); err == nil && !p.dead() || err != nil && !errors.Is(err, fs.ErrNotExist) {
			list = append(list, pid)
		}
	}
	return list, err
}

// awaitSession waits until a session has no living member, or until the deadline.
func awaitSession(sid int, deadline time.Time) {
	for {
		list, err := living(sid)
		left := time.Until(deadline)
		if err == nil && len(list) == 0 || left <= 0 {
			return
		}
		if len(list) == 0 || !awaitProcess(list[0], left) {
			time.Sleep(min(left, 10*time.Millisecond))
		}
	}
}

// awaitProcess waits until a process has ended, at most for limit. It reports
// whether it could wait.
func awaitProcess(pid int, limit time.Duration) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit.Milliseconds())+1)
	return err == nil || errors.Is(err, unix.EINTR)
}

// ask sends a signal to every process in the session of a worker that has not been reaped,
// and wakes those that are stopped, so that they get it.
func ask(worker int, sig unix.Signal) {
	for _, s := range []unix.Signal{sig, unix.SIGCONT} {
		_ = kill(-worker, s) // its own group at once: no fork gets away
		all, _ := living(worker)
		for _, pid := range all {
			askOther(worker, pid, s)
		}
	}
}

// askOther signals a process if it is in the worker's session and in another
// process group.
func askOther(worker, pid int, sig unix.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	// The session is checked after the descriptor was opened: the number might have gone to
	// another process in between.
	sid, err := unix.Getsid(pid)
	if err != nil || sid != worker {
		return
	}
	if group, err := unix.Getpgid(pid); err == nil && group != worker {
		_ = send(pid, fd, sig)
	}
}
