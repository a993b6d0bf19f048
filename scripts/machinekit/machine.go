package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// machine is a computer: namespaces with files of its own over those of this one. What it
// wrote to /etc, /var/lib, /root and /home is there again after it was off.
type machine struct {
	w       *world
	name    string
	address string
	boots   int
	port    string    // of the switch
	first   *exec.Cmd // its first process; nil: it is off
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
func (m *machine) boot() error {
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
	if up, err := io.ReadAll(r); err != nil || string(up) != "up\n" {
		return fmt.Errorf("%s does not come up: %v: %s", m.name, err, said.Bytes())
	}
	if err := m.w.here(fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d; ip link set %s master switch up", m.port, m.first.Process.Pid, m.port)); err != nil {
		return err
	}
	_, err = m.sh("ip addr add " + m.address + "/24 dev eth0; ip link set eth0 up")
	return err
}

// off takes the power away: all processes end at once, and the network says nothing.
func (m *machine) off() {
	_ = m.first.Process.Kill()
	_ = m.first.Wait()
	m.first = nil
	if m.cron != nil {
		_ = m.cron.Wait()
		m.cron = nil
	}
}

// cable takes the network away, or gives it back.
func (m *machine) cable(state string) error { return m.w.here("ip link set " + m.port + " " + state) }

// inside is a command on the machine, as root.
func (m *machine) inside(args ...string) *exec.Cmd {
	enter := []string{"-t", fmt.Sprint(m.first.Process.Pid), "-m", "-u", "-n", "-p", "--wd=/", "--", "env", "-i",
		"PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=dumb", "LC_ALL=C.UTF-8"}
	cmd := exec.Command("nsenter", append(enter, args...)...)
	cmd.Dir = "/"
	return cmd
}

// sh runs lines of bash as root, and returns what they print. The first that fails ends them.
func (m *machine) sh(lines string) (string, error) {
	if m.first == nil {
		return "", errors.New(m.name + " is off")
	}
	cmd := m.inside("bash", "-euo", "pipefail", "-c", lines)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s%s\n%s", m.name, err, out.Bytes(), said.Bytes(), lines)
	}
	return out.String(), nil
}

// put writes a file on the machine, or on all of them if it is below /usr/local.
func (w *world) put(name, text string, mode os.FileMode) error {
	path := filepath.Join(w.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	return errors.Join(err, os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode))
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
func (m *machine) work() error {
	f, err := os.OpenFile(m.w.dir+"/outside/cron-"+m.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	m.cron = m.inside("bash", "-c", tab)
	m.cron.Stdout, m.cron.Stderr = f, f
	return m.cron.Start()
}

// rest ends cron, once nothing runs.
func (m *machine) rest() error {
	if _, err := m.sh("touch /run/quiet"); err != nil {
		return err
	}
	err := m.cron.Wait()
	m.cron = nil
	return err
}

// mailed is what cron would have mailed, lines that say the same once.
func (m *machine) mailed() string {
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
