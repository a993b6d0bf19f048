package redial

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/sandbox"
)

// TestMain lets this test binary be either of the two processes.
func TestMain(m *testing.M) {
	os.Exit(Main(func() int {
		if address := os.Getenv("REDIAL_CONFINED"); address != "" {
			return confined(address)
		}
		return m.Run()
	}))
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
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
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	return ln
}

// hello dials and reads what the listener says.
func hello(d *Dialer) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := d.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		return errors.Join(errors.New(string(text)), err)
	}
	return nil
}

// TestDial: as many connections to the address succeed as the caller has chosen, and no more.
func TestDial(t *testing.T) {
	d, err := Start(listen(t).Addr().String(), 20)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := hello(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := hello(d); err == nil || err.Error() != "the server has ended the connection 20 times in one run" {
		t.Errorf("one more: %v", err)
	}
	d.left = 1 // whatever this process believes
	if err := hello(d); err == nil {
		t.Error("one more")
	}
}

// confined dials from inside the sandbox, where nothing else can be reached.
func confined(address string) int {
	d, err := Start(address, 2)
	if err != nil {
		return 2
	}
	if _, err := sandbox.Enforce(sandbox.Source(0), sandbox.Require); err != nil {
		return 3
	}
	if _, err := net.Dial("tcp", address); err == nil {
		return 4
	}
	for range 2 {
		if err := hello(d); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			return 5
		}
	}
	return 0
}

func TestConfined(t *testing.T) {
	if here := sandbox.Here(); here.Landlock == 0 || !here.Seccomp {
		t.Skipf("Landlock or seccomp is missing in this kernel, which confines no further than %s", here)
	}
	p, err := os.StartProcess(os.Args[0], []string{os.Args[0]}, &os.ProcAttr{
		Env: []string{"REDIAL_CONFINED=" + listen(t).Addr().String()}, Files: []*os.File{nil, nil, os.Stderr},
	})
	if err != nil {
		t.Fatal(err)
	}
	if state, err := p.Wait(); err != nil || state.ExitCode() != 0 {
		t.Errorf("%v, %v", state, err)
	}
}

// TestNobodyListens: the reason comes back, and the next call tries again.
func TestNobodyListens(t *testing.T) {
	d, err := Start("127.0.0.1:1", 2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hello(d); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%v", err)
		}
	}
}
