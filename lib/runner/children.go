package runner

import (
	"bytes"
	"os"
	"strconv"
)

// children returns the processes whose parent is this one.
func children() []int {
	self := os.Getpid()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && parent(pid) == self {
			list = append(list, pid)
		}
	}
	return list
}

// parent returns the parent of a process, or 0.
func parent(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything, parentheses too.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(string(fields[1]))
	return ppid
}

// Inside reports whether this process descends from a runner of one of the
// workers in dir: what a worker starts can't get out of that, for the runner is
// its subreaper.
func Inside(runners []int) bool {
	for pid := os.Getpid(); pid > 1; pid = parent(pid) {
		for _, r := range runners {
			if pid == r {
				return true
			}
		}
	}
	return false
}
