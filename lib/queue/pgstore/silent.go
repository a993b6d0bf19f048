package pgstore

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// deaf is how long a server's machine may acknowledge nothing before the connection counts as
// broken. A commit has no deadline of its own: without this one, a machine that lost its power
// or its network would be waited for as long as the kernel likes, which is many minutes.
// What the server itself waits for, such as its standby, is not meant: its kernel answers.
const deaf = 20 * time.Second

// dialed connects, and makes the kernel look whether the other side is still there.
func dialed(ctx context.Context, dial func(ctx context.Context, network, addr string) (net.Conn, error), network, addr string) (net.Conn, error) {
	conn, err := dial(ctx, network, addr)
	tcp, ok := conn.(*net.TCPConn)
	if err != nil || !ok {
		return conn, err
	}
	err = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: deaf / 2, Interval: deaf / 4, Count: 2})
	if raw, bad := tcp.SyscallConn(); err == nil && bad == nil {
		bad = raw.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deaf.Milliseconds()))
		})
		if err == nil {
			err = bad
		}
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
