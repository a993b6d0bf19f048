package monthkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// spared are the processes that have a power supply of their own: the server of a database.
var spared []int

// powerOff ends all that came from this process, whoever its parent is by now.
func powerOff() error {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		list := slices.DeleteFunc(descendants(os.Getpid()), func(pid int) bool { return slices.Contains(spared, pid) })
		if len(list) == 0 {
			return nil
		}
		for _, pid := range list {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(time.Millisecond) // they die in any order, and leave their children to this process
	}
	return fmt.Errorf("something goes on without power: %v", descendants(os.Getpid()))
}

// descendants returns the processes that came from one, except those that have ended.
func descendants(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			child, _ := strconv.Atoi(word)
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
			if err == nil && !strings.Contains(string(stat), ") Z ") {
				list = append(append(list, child), descendants(child)...)
			}
		}
	}
	return list
}

// bury takes the status of those that ended after their parent, as init would.
func bury() {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, word := range strings.Fields(string(b)) {
			if pid, _ := strconv.Atoi(word); !slices.Contains(spared, pid) {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			}
		}
	}
}

// adopt makes this process the parent of those whose own one dies.
func adopt(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}
