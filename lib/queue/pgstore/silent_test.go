package pgstore

import (
	"context"
	"net"
	"testing"
	"time"

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

// TestApart: the clock of a server that answers late is not taken for one that goes wrong.
func TestApart(t *testing.T) {
	before := time.Now()
	for server, want := range map[time.Duration]time.Duration{
		0: 0, 30 * time.Second: 0, time.Minute: 0, -3 * time.Second: 3 * time.Second, 67 * time.Second: 7 * time.Second,
	} {
		if got := apart(before, before.Add(server), before.Add(time.Minute)); got != want {
			t.Errorf("%s after the beginning of a minute: %s apart", server, got)
		}
	}
}
