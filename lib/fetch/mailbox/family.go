package mailbox

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// runFamily runs a command, and then ends the processes that it leaves in this session:
// they know the password, and may hold the pipe open. A process in a session of its own
// lives on, as gpg's agent has to. started is called after the start, even a failed one.
//
// The command stays in the process group of this process, because otherwise it could not
// ask at a terminal. It also dies with this process, if that is killed.
func runFamily(cmd *exec.Cmd, started func()) error {
	runtime.LockOSThread() // the death signal comes when the thread that starts the command ends
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if len(orphans()) == 0 { // otherwise an orphan may not be the command's
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

// adopt makes this process the parent of what its children leave, or stops that.
func adopt(on bool) {
	const setChildSubreaper = 36
	var how uintptr
	if on {
		how = 1
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, how, 0) // it can't fail
}

// endOrphans kills and reaps the orphans, and then the orphans that they leave.
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

// orphans returns those children of the first thread that are in this session. Adopted
// processes become its children.
func orphans() (list []int) {
	self := strconv.Itoa(os.Getpid())
	// Without CONFIG_PROC_CHILDREN there is no such file, and no orphan is found.
	b, _ := os.ReadFile("/proc/" + self + "/task/" + self + "/children")
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
