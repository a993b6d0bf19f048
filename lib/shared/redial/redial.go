// Package redial connects to a few addresses on behalf of a process that has given up the
// right to connect. A second process of the same program, started earlier, connects and hands
// over the connection.
//
// Invariant: the confined process can ask for a connection to one of those addresses, a
// bounded number of times, and for nothing else. Caveat: the second process is not confined. It
// reads only the answers of name servers and has no password: no environment, no open
// file, and the addresses and that number as its only arguments.
package redial

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"pulse/lib/shared/sandbox"
)

const (
	marker      = "--redial" // the first argument of the second process; no command has such a flag
	descriptor  = 3          // of its socket
	dialTimeout = 30 * time.Second
	maxError    = 300 // bytes
	connected   = "connected"
)

// A request is its number and which address is meant. An answer is the same number and a text,
// with a descriptor if that is connected.
const (
	request = 8
	prefix  = 4
)

// Dial connects to an address: host:port, or a path or an abstract name of a Unix socket.
type Dial func(ctx context.Context, address string) (net.Conn, error)

// Main is the main function of a program that uses Start. It does the work of the second
// process, which connects by dial, if this is one; otherwise it calls run.
func Main(run func() int, dial Dial) int {
	if len(os.Args) < 4 || os.Args[1] != marker {
		return run()
	}
	most, wrong := strconv.Atoi(os.Args[2])
	sock, err := net.FileConn(os.NewFile(descriptor, "socket"))
	conn, ok := sock.(*net.UnixConn)
	if err != nil || wrong != nil || !ok {
		return run() // there is no socket: a person typed this command line
	}
	sandbox.Conceal()
	serve(conn, dial, os.Args[3:], most)
	return 0
}

// serve dials once for each request, at most so many times, until the other end closes. One
// that takes long does not keep the next one waiting: the other end may have given it up.
func serve(conn *net.UnixConn, dial Dial, addresses []string, most int) {
	var all sync.WaitGroup
	for range most {
		asked := make([]byte, request)
		if n, err := conn.Read(asked); err != nil || n != request {
			return
		}
		which := binary.NativeEndian.Uint32(asked[prefix:])
		if int(which) >= len(addresses) {
			return
		}
		all.Go(func() { answer(conn, asked[:prefix:prefix], dial, addresses[which]) })
	}
	all.Wait()
}

// answer dials and hands over what comes of it.
func answer(conn *net.UnixConn, number []byte, dial Dial, address string) {
	text, rights := connected, []byte(nil)
	to, err := dialed(dial, address)
	if err == nil {
		rights = syscall.UnixRights(int(to.Fd()))
		defer to.Close()
	} else {
		text = err.Error()[:min(len(err.Error()), maxError)]
	}
	_, _, _ = conn.WriteMsgUnix(append(number, text...), rights, nil) // if nobody takes it, the process ends soon
}

func dialed(dial Dial, address string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(interface{ File() (*os.File, error) }).File()
}

// Dialer asks the second process for connections.
type Dialer struct {
	addresses []string

	mu         sync.Mutex
	conn       *net.UnixConn
	most, left int    // connections
	number     uint32 // of the last request
}

// Start starts the second process, which ends with this one. It connects at most so many times.
func Start(most int, addresses ...string) (*Dialer, error) {
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
		Path: exe, Args: append([]string{os.Args[0], marker, strconv.Itoa(most)}, addresses...),
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
	return &Dialer{addresses: addresses, conn: conn.(*net.UnixConn), most: most, left: most}, nil
}

// Dial returns a new connection to one of the addresses.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	which := slices.Index(d.addresses, address)
	switch {
	case which < 0:
		return nil, fmt.Errorf("redial: %s is not an address that was named", address)
	case d.left == 0:
		return nil, fmt.Errorf("the server has ended the connection %d times in one run", d.most)
	}
	d.left--
	d.number++
	asked := binary.NativeEndian.AppendUint32(nil, d.number)
	if err := d.conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("redial: %w", err)
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = d.conn.SetReadDeadline(time.Now())
		close(stopped)
	})
	defer func() {
		if !stop() { // it must not reach into the next call
			<-stopped
		}
	}()
	if _, err := d.conn.Write(binary.NativeEndian.AppendUint32(asked, uint32(which))); err != nil {
		return nil, fmt.Errorf("redial: %w", err)
	}
	for {
		number, text, conn, err := d.receive()
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("redial: %w", err)
		case number == d.number && conn != nil:
			return conn, nil
		case number == d.number:
			return nil, errors.New(text)
		case conn != nil: // of a call that was given up
			conn.Close()
		}
	}
}

// receive reads one answer.
func (d *Dialer) receive() (number uint32, text string, conn net.Conn, err error) {
	b, rights := make([]byte, prefix+maxError), make([]byte, syscall.CmsgSpace(4))
	n, m, _, _, err := d.conn.ReadMsgUnix(b, rights)
	if err == nil && n < prefix {
		err = errors.New("the second process has ended")
	}
	if err != nil {
		return 0, "", nil, err
	}
	text = string(b[prefix:n])
	if text == connected {
		conn, err = received(rights[:m])
	}
	return binary.NativeEndian.Uint32(b), text, conn, err
}

// received turns a descriptor that was sent into a connection.
func received(rights []byte) (net.Conn, error) {
	list, err := syscall.ParseSocketControlMessage(rights)
	if err != nil || len(list) != 1 {
		return nil, errors.New("no descriptor")
	}
	fds, err := syscall.ParseUnixRights(&list[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("no descriptor")
	}
	f := os.NewFile(uintptr(fds[0]), "connection")
	defer f.Close()
	return net.FileConn(f)
}
