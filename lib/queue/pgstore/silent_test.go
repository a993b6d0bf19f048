package pgstore

import (
	"context"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// A connection to another machine has limits for silence; scripts/test-machines takes the power
// of a server away.
func TestDeaf(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := dialed(context.Background(), new(net.Dialer).DialContext, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{unix.TCP_USER_TIMEOUT: 20000, unix.TCP_KEEPIDLE: 10, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 2} {
		err := raw.Control(func(fd uintptr) {
			if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option); err != nil || got != want {
				t.Errorf("option %d is %d, want %d: %v", option, got, want, err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
