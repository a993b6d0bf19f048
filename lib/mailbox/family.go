package mailbox

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// runFamily runs a command and ends what it leaves behind in this session: that knows
// the password, and may hold the pipe open. What it has put into a session of its own
// lives on, as the agent of gpg has to. started is called once it runs.
//
// The command stays in the group of this process, or it could ask nothing at a terminal.
// It dies with this process, too, should that be killed.
func runFamily(cmd *exec.Cmd, started func()) error {
	runtime.LockOSThread() // the death signal is about the thread that starts it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if len(orphans()) == 0 { // else what comes may be the child of another
		adopt(true)
		defer adopt(false)
		defer endOrphans()
	}
	err := cmd.Start()
	started()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// adopt makes this process the parent of what its children leave behind, or no more.
func adopt(on bool) {
	const setChildSubreaper = 36
	var how uintptr
	if on {
		how = 1
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, how, 0) // it can't fail
}

// endOrphans kills and reaps the orphans, and then theirs.
func endOrphans() {
	for more := true; more; {
		more = false
		for _, pid := range orphans() {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				_, _ = syscall.Wait4(pid, nil, 0, nil)
				more = true
			}
		}
	}
}

// orphans returns the children of the first thread in this session. What is adopted
// becomes its child.
func orphans() (list []int) {
	self := strconv.Itoa(os.Getpid())
	b, _ := os.ReadFile("/proc/" + self + "/task/" + self + "/children") // not everywhere: then there are none
	for _, word := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(word); err == nil && session(pid) == session(0) {
			list = append(list, pid)
		}
	}
	return list
}

func session(pid int) uintptr {
	id, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
	return id
}
