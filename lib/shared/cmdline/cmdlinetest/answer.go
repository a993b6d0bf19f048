package cmdlinetest

import (
	"net"
	"testing"
)

// Answer listens, and answers each connection.
func Answer(t testing.TB, network, address string, with func(net.Conn)) net.Addr {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); with(conn) }()
		}
	}()
	return ln.Addr()
}
