package way

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// Socket is the one at which a way out takes connections.
type Socket = net.UnixListener

// firstHanded is the descriptor of the socket that systemd hands over (sd_listen_fds(3)).
const firstHanded = 3

// Handed returns the Unix socket that systemd has handed to this process.
func Handed() (*Socket, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || os.Getenv("LISTEN_FDS") != "1" {
		return nil, fault.Usagef("systemctl start pulse-out@ACCOUNT.socket, or --listen PATH", "systemd has handed over no socket")
	}
	f := os.NewFile(firstHanded, "the socket of systemd")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fault.Usagef("", "what systemd has handed over is no Unix socket")
	}
	return u, nil
}

// Listen makes a Unix socket at a path, in place of one that was left there. It is for one
// account alone: that of owner, or this process's own for "".
func Listen(path, owner string) (*Socket, error) {
	uid := -1
	if owner != "" {
		u, err := user.Lookup(owner)
		if err != nil {
			return nil, fault.Usagef("getent passwd "+owner, "--owner: %w", err)
		}
		if uid, err = strconv.Atoi(u.Uid); err != nil {
			return nil, err
		}
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	was := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(was)
	if err != nil {
		return nil, fault.Usagef("ls -ld "+path, "--listen: %w", err)
	}
	if uid >= 0 {
		if err := os.Lchown(path, uid, -1); err != nil {
			return nil, errors.Join(fault.Usagef("only root can give a socket to another account", "--owner: %w", err), l.Close())
		}
	}
	return l, nil
}
