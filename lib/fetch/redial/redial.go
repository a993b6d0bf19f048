// Package redial connects to one host and port on behalf of a process that has given up
// the right to connect. A second process of the same program, started earlier, connects
// and hands over the connection.
//
// Invariant: the confined process can ask for a connection to that address, a bounded
// number of times, and for nothing else. Caveat: the second process is not confined. It
// reads only the answers of name servers and has no password: no environment, no open
// file, and the address and that number as its only arguments.
package redial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"pulse/lib/fetch/secure"
	"pulse/lib/shared/sandbox"
)

const (
	marker      = "--redial" // the first argument of the second process; no command has such a flag
	descriptor  = 3          // of its socket
	dialTimeout = 30 * time.Second
	maxError    = 300 // bytes
	connected   = "connected"
)

// Main is the main function of a program that uses Start. It does the work of the second
// process if this is one; otherwise it calls run.
func Main(run func() int) int {
	if len(os.Args) != 4 || os.Args[1] != marker {
		return run()
	}
	most, wrong := strconv.Atoi(os.Args[3])
	sock, err := net.FileConn(os.NewFile(descriptor, "socket"))
	conn, ok := sock.(*net.UnixConn)
	if err != nil || wrong != nil || !ok {
		return run() // there is no socket: a person typed this command line
	}
	sandbox.Conceal()
	serve(conn, os.Args[2], most)
	return 0
}

// serve dials once for each message, at most so many times, until the other end closes.
func serve(conn *net.UnixConn, address string, most int) {
	for range most {
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return
		}
		answer, rights := []byte(connected), []byte(nil)
		to, err := dial(address)
		if err == nil {
			rights = syscall.UnixRights(int(to.Fd()))
		} else {
			answer = []byte(err.Error())[:min(len(err.Error()), maxError)]
		}
		_, _, err = conn.WriteMsgUnix(answer, rights, nil)
		if to.Close(); err != nil {
			return
		}
	}
}

func dial(address string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := secure.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*net.TCPConn).File()
}

// Dialer asks the second process for connections.
type Dialer struct {
	conn       *net.UnixConn
	most, left int // connections
}

// Start starts the second process, which ends with this one. It connects at most so many times.
func Start(address string, most int) (*Dialer, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Cmd{
		Path: exe, Args: []string{os.Args[0], marker, address, strconv.Itoa(most)},
		Env: []string{}, ExtraFiles: []*os.File{theirs},
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	return &Dialer{conn.(*net.UnixConn), most, most}, nil
}

// Dial returns a new connection to the address. Once ctx ended during a call, every later
// call fails: an answer to that one may still be under way. It is not called concurrently.
func (d *Dialer) Dial(ctx context.Context) (net.Conn, error) {
	if d.left == 0 {
		return nil, fmt.Errorf("the server has ended the connection %d times in one run", d.most)
	}
	d.left--
	stop := context.AfterFunc(ctx, func() { _ = d.conn.Close() })
	defer stop()
	if _, err := d.conn.Write([]byte{0}); err != nil {
		return nil, fmt.Errorf("redial: %w", err)
	}
	text, rights := make([]byte, maxError), make([]byte, syscall.CmsgSpace(4))
	n, m, _, _, err := d.conn.ReadMsgUnix(text, rights)
	switch {
	case err != nil:
		return nil, fmt.Errorf("redial: %w", err)
	case string(text[:n]) != connected:
		return nil, errors.New(string(text[:n]))
	}
	return received(rights[:m])
}

// received turns a descriptor that was sent into a connection.
func received(rights []byte) (net.Conn, error) {
	list, err := syscall.ParseSocketControlMessage(rights)
	if err != nil || len(list) != 1 {
		return nil, errors.New("redial: no descriptor")
	}
	fds, err := syscall.ParseUnixRights(&list[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("redial: no descriptor")
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	return net.FileConn(f)
}
