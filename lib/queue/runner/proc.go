package runner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// process is what /proc/PID/stat says (proc_pid_stat(5)).
type process struct {
	state   byte
	parent  int
	threads int
	start   uint64 // clock ticks since boot: with the pid, the name of a process
}

// dead reports whether the process has ended and only waits for its parent to reap it.
func (p *process) dead() bool {
	// The first thread of a process may have ended before the others.
	return (p.state == 'Z' || p.state == 'X') && p.threads <= 1
}

// look returns the process of a pid, or fs.ErrNotExist.
func look(pid int) (process, error) {
	b, err := shortFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, unix.ESRCH) {
		return process{}, fs.ErrNotExist
	}
	if err != nil {
		return process{}, err
	}
	// The name in parentheses may hold anything, parentheses too. The state is field 3.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return process{}, errors.New("runner: /proc/PID/stat is short")
	}
	p := process{state: f[0][0]}
	p.parent, _ = strconv.Atoi(string(f[1]))
	p.threads, _ = strconv.Atoi(string(f[17]))
	p.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	return p, err
}

// shortFile reads a file of /proc without the poller of os, which asks six times as many
// questions of the kernel about a file that never blocks.
func shortFile(path string) ([]byte, error) {
	fd, err := again(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 1<<10)
	for {
		b = slices.Grow(b, 512)
		n, err := again(func() (int, error) { return unix.Read(fd, b[len(b):cap(b)]) })
		if err != nil || n == 0 {
			return b, err
		}
		b = b[:len(b)+n]
	}
}

// again makes a call until no signal interrupts it.
func again(call func() (int, error)) (n int, err error) {
	for err = unix.EINTR; err == unix.EINTR; {
		n, err = call()
	}
	return n, err
}

// processes returns every pid that /proc shows.
func processes() ([]int, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return numbers(names), err
}

func numbers(names []string) []int {
	var list []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// listsChildren reports whether the kernel lists the children of a thread
// (CONFIG_PROC_CHILDREN).
var listsChildren = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// children returns the processes whose parent is pid, zombies too, the oldest first. A list
// of this process's own children lacks only those that are reaped meanwhile.
func children(pid int) []int {
	if pid == os.Getpid() && childless() { // as it is before and after most workers
		return nil
	}
	if !listsChildren() {
		return scanned(pid)
	}
	// Orphans come to the first thread; the others have what they started themselves.
	dir := "/proc/" + strconv.Itoa(pid) + "/task/"
	list := listed(dir + strconv.Itoa(pid))
	d, err := os.Open(dir)
	if err != nil {
		return list
	}
	threads, _ := d.Readdirnames(-1)
	d.Close()
	var others []int
	for _, t := range threads {
		if t != strconv.Itoa(pid) {
			others = append(others, listed(dir+t)...)
		}
	}
	return append(others, list...)
}

// listed returns the children of a thread.
func listed(thread string) []int {
	b, _ := shortFile(thread + "/children")
	return numbers(strings.Fields(string(b)))
}

// scanned is children where the kernel keeps no such list.
func scanned(pid int) []int {
	all, _ := processes()
	var list []int
	for _, n := range all {
		if p, err := look(n); err == nil && p.parent == pid {
			list = append(list, n)
		}
	}
	return list
}

// Inside reports whether this process descends from one of these runners. What a worker
// starts can't change that, because the runner is its subreaper. From a pid namespace with
// a /proc of its own no runner is seen.
func Inside(runners []int) bool { return descends(self(), runners) }

// Descends reports whether a process is a descendant of this one, which is the subreaper of
// all workers that it starts.
func Descends(pid int) bool {
	me := self()
	return pid != me && descends(pid, []int{me})
}

func descends(pid int, runners []int) bool {
	for pid > 1 && len(runners) > 0 {
		for _, r := range runners {
			if pid == r {
				return true
			}
		}
		p, err := look(pid)
		if err != nil {
			return false
		}
		pid = p.parent
	}
	return false
}

// Above returns the ancestors of this process that are a pulse-queue run, of whatever queue. It
// is for a queue whose locks lie in a directory that only the runner's environment names.
func Above() (runners []int) {
	for p, err := look(self()); err == nil && p.parent > 1; p, err = look(p.parent) {
		b, err := shortFile("/proc/" + strconv.Itoa(p.parent) + "/cmdline")
		words := strings.Split(string(b), "\x00")
		if err == nil && filepath.Base(words[0]) == "pulse-queue" && slices.Contains(words[1:], "run") {
			runners = append(runners, p.parent)
		}
	}
	return runners
}

// self is this process as /proc counts, which may belong to another pid namespace.
func self() int {
	name, err := os.Readlink("/proc/self")
	if pid, bad := strconv.Atoi(name); err == nil && bad == nil {
		return pid
	}
	return os.Getpid()
}
