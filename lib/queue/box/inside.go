package box

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/way"
	"pulse/lib/shared/fault"
)

// Inside is the subcommand with which this program is process 1 of a box.
const Inside = "boxed"

// Where what is inside reaches the model. The first is for clients that do as HTTPS_PROXY says:
// they ask for a tunnel (CONNECT, RFC 9110, section 9.3.6), and are told that there is one,
// whatever the name: there is only one host, and the way out, or TLS, finds out if another is
// meant. The second is the socket as it is, for a model that speaks plain HTTP.
const (
	tunnels = "127.0.0.1:3128"
	plain   = "127.0.0.1:3129"
)

// Become starts a program as the child of this process, which is process 1 of a box, and returns
// the program's exit status: 128 and the signal if one ended it. This process's memory can't be
// read by what it starts, as that of every command of pulse, and what it was handed at its own
// start, such as the lock of a task, stays here until all of the box has ended.
func Become(argv []string) (status int, err error) { return become(argv, nil) }

// become is Become. With tell, argv is no matter of a shell, and tell is told before the program
// begins, and if it then did not.
func become(argv []string, tell func(word string) error) (status int, err error) {
	if err := keepDescriptors(); err != nil {
		return 0, err
	}
	// A signal that somebody in the box sends to process 1 does nothing. What is started gets
	// the usual ones.
	signal.Notify(make(chan os.Signal, 1))
	if isSocket(modelHere) {
		if err := serve(); err != nil {
			return 0, err
		}
	}
	shell := tell == nil
	if shell {
		tell = func(string) error { return nil }
	}
	if err := tell(begins); err != nil {
		return 0, err
	}
	child, err := begin(argv, shell)
	if err != nil {
		return 0, errors.Join(err, tell(failed))
	}
	_ = tell("")
	return await(child)
}

// keepDescriptors keeps what this process was handed from what it starts, except for the
// standard streams.
func keepDescriptors() error {
	names, err := os.ReadDir("/proc/self/fd")
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return err
}

// begin starts a program. What has no first line that names its interpreter is one for sh, as it
// is for shells, if there may be one.
func begin(argv []string, shell bool) (pid int, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, fault.Usagef("--ro PATH shows what is not below /usr", "%s: %w", argv[0], errors.Unwrap(err))
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}}
	if pid, err = syscall.ForkExec(path, argv, attr); errors.Is(err, syscall.ENOEXEC) && shell {
		pid, err = syscall.ForkExec("/bin/sh", append([]string{"sh", path}, argv[1:]...), attr)
	}
	if err != nil {
		return 0, fault.Usagef("", "%s: %w", path, err)
	}
	return pid, nil
}

// await reaps all that ends in the box until a process does.
func await(child int) (status int, err error) {
	for {
		var s syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &s, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, err
		case pid == child && s.Signaled():
			return 128 + int(s.Signal()), nil
		case pid == child && s.Exited():
			return s.ExitStatus(), nil
		}
	}
}

// serve hands each connection to either port to the model.
func serve() error {
	for address, lead := range map[string]func(client *net.TCPConn){
		tunnels: tunnel,
		plain:   func(client *net.TCPConn) { join(client) },
	} {
		l, err := net.Listen("tcp4", address)
		if err != nil {
			return fault.Temporaryf("", "nothing can be reached here, not even by 127.0.0.1: %w", err)
		}
		go func() { _ = way.Serve(l.(*net.TCPListener), 0, func(c way.Conn) { lead(c.(*net.TCPConn)) }) }()
	}
	return nil
}

func join(client way.Conn) {
	model, err := net.Dial("unix", modelHere)
	if err != nil {
		return
	}
	defer model.Close()
	way.Join(client, model.(*net.UnixConn))
}

// The bounds of what a client says before its tunnel begins.
const (
	maxHead  = 64 << 10
	headTime = time.Minute
)

// begun is a client that has said some of what is for the model already.
type begun struct {
	*net.TCPConn
	rest io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.rest.Read(p) }

func tunnel(client *net.TCPConn) {
	_ = client.SetReadDeadline(time.Now().Add(headTime))
	in := bufio.NewReader(client)
	line, ok := head(in)
	if !ok {
		return
	}
	if !strings.HasPrefix(line, "CONNECT ") {
		_, _ = io.WriteString(client, "HTTP/1.1 405 CONNECT only\r\nAllow: CONNECT\r\nContent-Length: 0\r\n\r\n")
		return
	}
	_ = client.SetReadDeadline(time.Time{})
	if _, err := io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n"); err == nil {
		join(&begun{client, in})
	}
}

// head reads the lines of a request up to an empty one, and returns the first. A request that is
// not for a tunnel is answered at its first line.
func head(in *bufio.Reader) (first string, ok bool) {
	for n := 0; n < maxHead; {
		b, err := in.ReadSlice('\n')
		if err != nil {
			return "", false
		}
		line := strings.TrimRight(string(b), "\r\n")
		if n == 0 {
			first = line
		}
		if n += len(b); line == "" || !strings.HasPrefix(first, "CONNECT ") {
			return first, true
		}
	}
	return "", false
}
