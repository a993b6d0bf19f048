package cmdlinetest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// FreePort returns an address of this machine for a program of others that has to be told one. Until the test
// ends the kernel gives its port to nobody who asks for any, because a socket has it that does not listen; the
// program can have it, too, as both say SO_REUSEADDR.
func FreePort(t testing.TB) (address string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
}
