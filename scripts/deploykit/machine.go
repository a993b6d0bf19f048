package main

import (
	"bytes"
	"context"
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
)

// machine is a container with a systemd of its own and no network but its loopback. It ends
// when this process does, however that ends.
type machine struct {
	root   string // the folder that is its file system
	nspawn *exec.Cmd
	leader string // its process 1, as it is numbered here
	once   sync.Once
}

// poweroff is SIGRTMIN+4, on which systemd shuts down.
const poweroff = syscall.Signal(38)

const patience = 2 * time.Minute // with what should take seconds, on a machine that is busy

// name is what the container is called here, beside others of this kind.
func (m *machine) name() string { return "pulse-deploy-" + strconv.Itoa(os.Getpid()) }

// boot starts the machine and returns when everything of its default target was started.
func (m *machine) boot() error {
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
func (m *machine) ready(notify *net.UnixConn) error {
	if err := notify.SetReadDeadline(time.Now().Add(patience)); err != nil {
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
				m.leader = pid
			}
			if line == "READY=1" {
				return nil
			}
		}
	}
}

// cut is a power failure: every process of the machine is killed at once.
func (m *machine) cut() error {
	return m.end(syscall.SIGKILL)
}

// shutdown ends the machine as poweroff does.
func (m *machine) shutdown() error {
	return m.end(poweroff)
}

func (m *machine) end(signal syscall.Signal) error {
	if m.leader == "" {
		return nil
	}
	pid, err := strconv.Atoi(m.leader)
	if err != nil {
		return err
	}
	m.leader = ""
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	timer := time.AfterFunc(patience, func() { _ = m.nspawn.Process.Kill() })
	err = m.nspawn.Wait()
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
func (m *machine) gone() (err error) {
	m.once.Do(func() { // by a signal, or in the end
		err = errors.Join(m.cut(), m.ungroup(), os.RemoveAll("/run/systemd/nspawn/propagate/"+m.name()))
	})
	return err
}

// inside returns a command that is run as root in the machine.
func (m *machine) inside(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "nsenter", append([]string{"-t", m.leader, "-a", "--", "env", "-i",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TERM=dumb", "HOME=/root"}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// sh runs a line of bash as root in the machine and returns what it printed. A line that fails
// is an error.
func (m *machine) sh(line string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := m.inside(ctx, "bash", "-euo", "pipefail", "-c", line)
	var out, stderr bytes.Buffer
	c.Stdout, c.Stderr = &out, &stderr
	if err := c.Run(); err != nil {
		return out.String(), fmt.Errorf("%s\n%w\n%s%s", line, err, out.String(), stderr.String())
	}
	return out.String(), nil
}

// put writes a file of the machine.
func (m *machine) put(name, text string, mode os.FileMode) error {
	path := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode))
}
