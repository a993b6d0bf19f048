package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"pulse/scripts/machine"
)

// computer is a machine: namespaces with files of its own over those of this one. What it
// wrote to /etc, /var/lib, /root and /home is there again after it was off.
type computer struct {
	machine.Machine
	w       *world
	name    string
	address string
	boots   int
	port    string // of the switch
	first   *exec.Cmd
	cron    *exec.Cmd
}

// first is the first process of a machine, which collects what is left by others.
const first = `set -eu
name=$1 disk=$2 local=$3 outside=$4
mount --make-rprivate /
mount -t proc proc /proc
hostname "$name"
for d in etc var/lib; do
	mkdir -p "$disk/$d" "$disk/.work/$d"
	mount -t overlay -o "lowerdir=/$d,upperdir=$disk/$d,workdir=$disk/.work/$d" overlay "/$d"
done
for d in root home; do mkdir -p "$disk/$d"; mount --bind "$disk/$d" "/$d"; done
mount --bind "$local" /usr/local
mount --bind "$outside" /srv
mount -t tmpfs -o mode=755 run /run
mount -t tmpfs -o mode=755 log /var/log
mount -t tmpfs -o mode=1777 tmp /tmp
install -d -o postgres -g postgres -m 2775 /run/postgresql
install -d -o postgres /var/log/postgresql
ip link set lo up
echo up >&3
exec 3>&-
while :; do sleep 1000 & wait $!; done`

// boot starts a machine, and connects it.
func (m *computer) boot() error {
	m.boots++
	m.port = fmt.Sprintf("%s-%d", m.name, m.boots)
	disk := filepath.Join(m.w.dir, m.name)
	m.first = exec.Command("bash", "-c", first, "init", m.name, disk, m.w.dir+"/local", m.w.dir+"/outside")
	m.first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET}
	r, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	var said bytes.Buffer
	m.first.ExtraFiles, m.first.Stderr = []*os.File{tell}, &said
	err = errors.Join(os.MkdirAll(disk, 0o755), m.first.Start(), tell.Close())
	if err != nil {
		return err
	}
	m.Leader = m.first.Process.Pid
	if up, err := io.ReadAll(r); err != nil || string(up) != "up\n" {
		return fmt.Errorf("%s does not come up: %v: %s", m.name, err, said.Bytes())
	}
	if err := m.w.here(fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d; ip link set %s master switch up", m.port, m.Leader, m.port)); err != nil {
		return err
	}
	_, err = m.Sh("ip addr add " + m.address + "/24 dev eth0; ip link set eth0 up")
	return err
}

// off takes the power away: all processes end at once, and the network says nothing.
func (m *computer) off() {
	_ = m.first.Process.Kill()
	_ = m.first.Wait()
	m.Leader = 0
	if m.cron != nil {
		_ = m.cron.Wait()
		m.cron = nil
	}
}

// cable takes the network away, or gives it back.
func (m *computer) cable(state string) error { return m.w.here("ip link set " + m.port + " " + state) }

// put writes a file on the machine, or on all of them if it is below /usr/local.
func (w *world) put(name, text string, mode os.FileMode) error {
	return machine.Put(filepath.Join(w.dir, name), text, mode)
}

// here runs lines of bash beside the machines.
func (w *world) here(lines string) error {
	cmd := exec.Command("bash", "-euc", lines)
	cmd.Dir = w.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s\n%s", err, out, lines)
	}
	return nil
}

// tab is cron(8) for /etc/cron.d/pulse, in which a minute has three seconds. It does not start
// a line again that has not ended, and ends when /run/quiet is there and all that it started has
// ended.
const tab = `mapfile -t lines </etc/cron.d/pulse
for line in "${lines[@]}"; do [[ ! $line =~ ^[A-Z_]+= ]] || export "${line?}"; done
declare -A busy
start() {
	local home; home=$(getent passwd "$1" | cut -d: -f6)
	(cd "$home" && HOME=$home LOGNAME=$1 exec setpriv --reuid "$1" --regid "$1" --init-groups "$SHELL" -c "$2") &
}
set -f
for line in "${lines[@]}"; do
	set -- $line
	[ "${1-}" != @reboot ] || { start "$2" "${line#* * }"; wait; }
done
while [ ! -e /run/quiet ]; do
	for line in "${lines[@]}"; do
		set -- $line
		case ${1-} in '*' | '*/5') ;; *) continue ;; esac
		[ -z "${busy[$line]-}" ] || ! kill -0 "${busy[$line]}" 2>/dev/null || continue
		shift 6; command=${line#* * * * * * }
		set -- $line
		start "$6" "${command/sleep 30/sleep 1}"
		busy[$line]=$!
	done
	sleep 3
done
wait`

// work starts cron.
func (m *computer) work() error {
	f, err := os.OpenFile(m.w.dir+"/outside/cron-"+m.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	m.cron = m.Inside(context.Background(), "bash", "-c", tab)
	m.cron.Stdout, m.cron.Stderr = f, f
	return m.cron.Start()
}

// rest ends cron, once nothing runs.
func (m *computer) rest() error {
	if _, err := m.Sh("touch /run/quiet"); err != nil {
		return err
	}
	err := m.cron.Wait()
	m.cron = nil
	return err
}

// mailed is what cron would have mailed, lines that say the same once.
func (m *computer) mailed() string {
	b, _ := os.ReadFile(m.w.dir + "/outside/cron-" + m.name)
	seen, list := map[string]bool{}, []string{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if line != "" && !seen[line] {
			seen[line] = true
			list = append(list, m.name+": "+line)
		}
	}
	return strings.Join(list, "\n")
}
