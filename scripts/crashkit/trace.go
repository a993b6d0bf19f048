package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// call is one system call of a dry run: the nth of its name on its thread.
type call struct {
	name string
	n    int
	text string
}

func (c *call) String() string {
	return fmt.Sprintf("%s %d: %s", c.name, c.n, cut(c.text, 140))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

var traced = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\((.*)`)

// strace returns the command line that runs argv under a tracer. The tracer lets go of a
// worker once it is started, because a traced worker would be killed instead. The faster
// option --seccomp-bpf is not used, because it never delivers an injected SIGKILL.
func strace(log, calls, inject string, argv ...string) []string {
	line := []string{"strace", "-f", "-qq", "-y", "-b", "execve", "-s", "64", "-e", "signal=none", "-o", log, "-e", "trace=" + calls}
	if inject != "" {
		line = append(line, "-e", "inject="+inject)
	}
	return append(append(line, "--"), argv...)
}

// onFirstThread reports whether the last call of a trace was the first thread's.
func onFirstThread(log string) bool {
	b, _ := os.ReadFile(log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	first, _, _ := strings.Cut(lines[0], " ")
	last, _, _ := strings.Cut(lines[len(lines)-1], " ")
	return first == last
}

// calls reads the system calls of a traced command: those of its first thread in order,
// followed by those that only another thread made so often.
func calls(log string) ([]call, error) {
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	first := ""
	counts := map[string]map[string]int{} // thread -> name -> n
	var list, others []call
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := traced.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if first == "" {
			first = m[1]
		}
		if counts[m[1]] == nil {
			counts[m[1]] = map[string]int{}
		}
		counts[m[1]][m[2]]++
		c := call{m[2], counts[m[1]][m[2]], m[2] + "(" + m[3]}
		if m[1] == first {
			list = append(list, c)
		} else {
			others = append(others, c)
		}
	}
	most := map[string]int{}
	for _, c := range list {
		most[c.name] = c.n
	}
	for _, c := range others {
		if c.n > most[c.name] {
			most[c.name] = c.n
			list = append(list, c)
		}
	}
	return list, lines.Err()
}

// touching leaves out the calls before the command first names the queue.
func touching(list []call, queue string) []call {
	i := slices.IndexFunc(list, func(c call) bool { return c.name != "execve" && strings.Contains(c.text, queue) })
	return list[max(i, 0):]
}

// onDisk are the calls before which a kill matters. Between two of them nothing changes
// that another process could see.
var onDisk = []string{
	"write", "writev", "pwrite64", "open", "openat", "creat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir",
	"link", "linkat", "symlinkat", "mkdir", "mkdirat", "fsync", "fdatasync", "sync_file_range", "syncfs", "sync", "truncate", "ftruncate",
	"fallocate", "utimensat", "fchmod", "fchmodat", "fchown", "fchownat", "copy_file_range",
}

// onProcesses are the calls that change locks, descriptors and processes.
var onProcesses = []string{
	"flock", "close", "clone", "clone3", "vfork", "execve", "setsid", "pipe2", "dup3", "prctl", "kill", "waitid", "wait4",
	"pidfd_send_signal", "exit_group", "sendfile", "splice", "ioctl", "close_range",
}

// pick chooses points: all calls with the names, or at most n of each name. The first,
// one in the middle and the last are chosen before others.
func pick(list []call, names []string, n int) []call {
	byName := map[string][]call{}
	var order []string
	for _, c := range list {
		if !slices.Contains(names, c.name) {
			continue
		}
		if byName[c.name] == nil {
			order = append(order, c.name)
		}
		byName[c.name] = append(byName[c.name], c)
	}
	var picked []call
	for _, name := range order {
		l := byName[name]
		switch {
		case n == 1:
			l = l[len(l)/2:][:1]
		case len(l) > n:
			l = []call{l[0], l[len(l)/2], l[len(l)-1]}
		}
		picked = append(picked, l...)
	}
	return picked
}
