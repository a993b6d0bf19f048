package secure

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDial: the receive buffer of a connection does not grow, if this kernel lets a program
// have one of that size. Otherwise it grows as usual, and is not small.
func TestDial(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	conn, err := Dial(t.Context(), ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 64 << 10, 1 << 30} { // as Dial left it, what any kernel allows, and none
		if err := raw.Control(func(fd uintptr) { bounded(t, int(fd), size) }); err != nil {
			t.Fatal(err)
		}
	}
}

// bounded asks for a receive buffer of this size, if it is not 0, and compares what is there.
func bounded(t *testing.T, fd, size int) {
	if size > 0 {
		if err := bound(fd, size); err != nil {
			t.Error(err)
		}
	} else {
		size = receive
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	locked, wrong := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUF_LOCK)
	if wrong == syscall.ENOPROTOOPT { // before Linux 5.16
		locked = 2
	}
	if full := got == 2*size; err != nil || !full && locked != 0 && wrong == nil || full && locked != 2 {
		t.Errorf("%d asked for: %d bytes, locked %d, %v %v", size, got, locked, err, wrong)
	}
}
