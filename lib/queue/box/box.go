// Package box starts a program in a box of bubblewrap (bwrap(1)): it sees the programs of the
// machine, its standard streams, one socket or two, and nothing else. A seccomp filter takes the
// parts of the kernel that it has no use for, and process 1 of the box is this program, which
// nothing in the box can look into.
//
// Invariant: the program is started in the whole box or not at all, and whatever ends the box
// ends all that was started in it. Caveat: what a flag shows is shown as it is: a socket below
// --ro or --rw leads where it leads.
package box

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

const (
	home      = "/home/agent"
	modelHere = "/run/model" // the socket of --model, in the box
	judgeVar  = "PULSE_JUDGE"
)

// kernelHint names the settings without which nobody can make a box.
const kernelHint = "sysctl user.max_user_namespaces kernel.unprivileged_userns_clone kernel.apparmor_restrict_unprivileged_userns"

// Start makes the box that a command line asks for, and becomes it. It returns only if that
// fails.
func Start(args []string) error {
	if err := notRoot(); err != nil {
		return err
	}
	w, err := read(args)
	if err != nil {
		return err
	}
	self, bwrap, err := programs()
	if err != nil {
		return err
	}
	if err := w.try(bwrap, self); err != nil {
		return err
	}
	filter, err := filterFile()
	if err != nil {
		return err
	}
	defer filter.Close()
	runtime.LockOSThread() // keys are a thread's
	defer runtime.UnlockOSThread()
	if err := ownKeys(); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(filter.Fd(), unix.F_SETFD, 0); err != nil {
		return err
	}
	return unix.Exec(bwrap, append([]string{"bwrap"}, w.arguments(self, int(filter.Fd()), w.inside(self))...), w.environment())
}

// programs returns this program, and the one that makes boxes.
func programs() (self, bwrap string, err error) {
	if self, err = os.Executable(); err != nil {
		return "", "", err
	}
	if bwrap, err = exec.LookPath("bwrap"); err != nil {
		return "", "", fault.Usagef("as root: apt-get install bubblewrap", "there is no bwrap")
	}
	return self, bwrap, nil
}

// notRoot refuses to start for root, whose files below /proc/sys a box can't keep from it.
func notRoot() error {
	uid, effective, saved := unix.Getresuid()
	if uid != 0 && effective != 0 && saved != 0 {
		return nil
	}
	return fault.Usagef("pulse-queue run --as USER; or User=USER in the unit", "a box does not hold root: it is for an ordinary account")
}

// try makes a box in which nothing happens. What fails later is the program's own.
func (w *wish) try(bwrap, self string) error {
	filter, err := filterFile()
	if err != nil {
		return err
	}
	defer filter.Close()
	const first = 3 // of ExtraFiles
	cmd := exec.Command(bwrap, w.arguments(self, first, []string{"/usr/bin/true"})...)
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = w.environment(), os.Stderr, []*os.File{filter}
	if cmd.Run() != nil {
		return fault.Temporaryf(kernelHint, "this kernel or its settings let nobody make a box")
	}
	return nil
}

// filterFile returns the filter as a file.
func filterFile() (*os.File, error) {
	program := sandbox.Box()
	if program == nil {
		return nil, fault.Temporaryf("amd64 or arm64", "there is no filter for this architecture")
	}
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fault.Temporaryf("", "the filter: %w", err)
	}
	f := os.NewFile(uintptr(fd), "filter")
	if _, err = f.Write(program); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, fault.Temporaryf("", "the filter: %w", err)
	}
	return f, nil
}

// ownKeys gives this process a session keyring of its own, which is empty (keyrings(7)). Where
// the calls about keys are refused already, as in a container, no key can be asked for.
func ownKeys() error {
	switch _, err := unix.KeyctlInt(unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0); err {
	case nil, unix.ENOSYS, unix.EPERM:
		return nil
	default:
		return fault.Temporaryf("", "a session keyring: %w", err)
	}
}

// inside returns what bwrap starts: this program, as process 1, which starts the wished one.
func (w *wish) inside(self string) []string { return append([]string{self, Inside}, w.cmd...) }

// arguments returns those of bwrap, which reads the filter from a descriptor.
func (w *wish) arguments(self string, filter int, cmd []string) []string {
	list := []string{
		"--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
		"--as-pid-1", "--seccomp", decimal(filter),
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
		"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	}
	for _, path := range []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs", "/etc/pki/ca-trust"} {
		list = append(list, "--ro-bind-try", path, path)
	}
	list = append(list, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", home)
	if dir := filepath.Dir(self); !strings.HasPrefix(dir, "/usr/") {
		list = append(list, "--ro-bind", dir, dir)
	}
	list = append(list, w.binds...)
	if w.judge != "" {
		list = append(list, "--ro-bind", w.judge, w.judge)
	}
	if w.model != "" {
		list = append(list, "--ro-bind", w.model, modelHere)
	}
	return append(append(list, "--remount-ro", "/", "--chdir", w.dir, "--"), cmd...)
}

// passed has the variables that any program in a box has, if they are set here.
var passed = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PULSE_TASK", judgeVar}

// environment returns that of the program. It is not among the arguments, because anyone can
// read those.
func (w *wish) environment() (list []string) {
	for _, name := range slices.Concat(passed, w.env) {
		if value, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	list = append(list, "HOME="+home)
	if w.model != "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
			list = append(list, name+"=http://"+tunnels)
		}
		list = append(list, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	}
	return list
}
