package secure

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// receive is the receive buffer that is asked for, in bytes. The kernel doubles it for its own
// overhead, to 6 MiB. So far Linux let a buffer grow by itself for many years (tcp_rmem): 25
// MB/s where a round trip takes 100 ms. Newer kernels let it grow to 32 MiB, which a server can
// fill while nobody reads.
const receive = 3 << 20

// Dial connects to a server of mail, without TLS yet.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error { // before connect, which offers a window
		var wrong error
		if err := c.Control(func(fd uintptr) { wrong = bound(int(fd), receive) }); err != nil {
			return err
		}
		return wrong
	}}
	return d.DialContext(ctx, "tcp", address)
}

// bound gives a socket a receive buffer of this size, which does not grow. If net.core.rmem_max
// allows less, which is 208 KiB on older kernels and a tenth of that rate, the buffer grows by
// itself, as far as tcp_rmem lets it. Linux before 5.16 knows no SO_BUF_LOCK, and leaves it small.
func bound(fd, size int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, size); err != nil {
		return err
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if err == nil && got < 2*size {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK, 0)
	}
	return err
}
