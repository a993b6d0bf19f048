package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pulse/scripts/machine"
)

// container is a machine with a systemd of its own and no network but its loopback. It ends
// when this process does, however that ends.
type container struct {
	machine.Machine
	root   string // the folder that is its file system
	nspawn *exec.Cmd
	once   sync.Once
}

// poweroff is SIGRTMIN+4, on which systemd shuts down.
const poweroff = syscall.Signal(38)

// name is what the container is called here, beside others of this kind.
func (m *container) name() string { return "pulse-deploy-" + strconv.Itoa(os.Getpid()) }

// boot starts the machine and returns when everything of its default target was started.
func (m *container) boot() error {
	dir, err := os.MkdirTemp("", "boot") // short enough for the name of a socket
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify")})
	if err != nil {
		return err
	}
	defer func() { _ = notify.Close() }()
	console, err := os.Create(m.root + ".console")
	if err != nil {
		return err
	}
	defer console.Close()
	groups, err := m.cgroups()
	if err != nil {
		return err
	}
	for _, group := range groups {
		if err := os.MkdirAll(group, 0o755); err != nil {
			return err
		}
	}
	m.nspawn = exec.Command("sh", "-euc", `for group in $0; do echo $$ >"$group/cgroup.procs"; done; exec systemd-nspawn "$@"`, strings.Join(groups, " "), "-q", "--register=no", "--keep-unit", "--private-network", "--notify-ready=yes",
		"--resolv-conf=off", "--timezone=off", "--link-journal=no", "--console=pipe", "-M", m.name(), "-D", m.root, "-b")
	m.nspawn.Env = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"))
	m.nspawn.Stdout, m.nspawn.Stderr = console, console
	m.nspawn.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.nspawn.Start(); err != nil {
		return err
	}
	return m.ready(notify)
}

// ready waits for the word of systemd that it is up, and learns the leader from nspawn.
func (m *container) ready(notify *net.UnixConn) error {
	if err := notify.SetReadDeadline(time.Now().Add(machine.Patience)); err != nil {
		return err
	}
	buf := make([]byte, 4096)
	for {
		n, err := notify.Read(buf)
		if err != nil {
			text, _ := os.ReadFile(m.root + ".console")
			return fmt.Errorf("it does not come up: %w\n%s", err, text)
		}
		for line := range strings.Lines(string(buf[:n])) {
			line = strings.TrimSpace(line)
			if pid, ok := strings.CutPrefix(line, "X_NSPAWN_LEADER_PID="); ok {
				m.Leader, err = strconv.Atoi(pid)
			}
			if line == "READY=1" {
				return err
			}
		}
	}
}

// cut is a power failure: every process of the machine is killed at once.
func (m *container) cut() error {
	return m.end(syscall.SIGKILL)
}

// shutdown ends the machine as poweroff does.
func (m *container) shutdown() error {
	return m.end(poweroff)
}

func (m *container) end(signal syscall.Signal) error {
	pid := m.Leader
	if pid == 0 {
		return nil
	}
	m.Leader = 0
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	timer := time.AfterFunc(machine.Patience, func() { _ = m.nspawn.Process.Kill() })
	err := m.nspawn.Wait()
	if !timer.Stop() {
		return errors.New("the machine does not end")
	}
	var status *exec.ExitError
	if signal == syscall.SIGKILL && errors.As(err, &status) {
		return nil
	}
	return err
}

// gone ends the machine if it is there, and removes what nspawn leaves.
func (m *container) gone() (err error) {
	m.once.Do(func() { // by a signal, or in the end
		err = errors.Join(m.cut(), m.ungroup(), os.RemoveAll("/run/systemd/nspawn/propagate/"+m.name()))
	})
	return err
}

// put writes a file of the machine.
func (m *container) put(name, text string, mode os.FileMode) error {
	return machine.Put(filepath.Join(m.root, name), text, mode)
}
