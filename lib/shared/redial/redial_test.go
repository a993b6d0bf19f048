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
	}, dialAny))
}

// dialAny tells the two kinds of addresses apart.
func dialAny(ctx context.Context, address string) (net.Conn, error) {
	if strings.HasPrefix(address, slow) {
		<-ctx.Done() // or until the process ends
		return nil, ctx.Err()
	}
	network := "tcp"
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// slow is an address at which nobody answers.
const slow = "slow:1"

func listen(t *testing.T) net.Listener {
	t.Helper()
	return listenAt(t, "tcp", "127.0.0.1:0")
}

func listenAt(t *testing.T, network, address string) net.Listener {
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
			io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	return ln
}

// hello dials and reads what the listener says.
func hello(d *Dialer, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	conn, err := d.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		return errors.Join(errors.New(string(text)), err)
	}
	return nil
}

// TestDial: as many connections to the addresses succeed as the caller has chosen, and no more.
func TestDial(t *testing.T) {
	tcp, unix := listen(t).Addr().String(), listenAt(t, "unix", t.TempDir()+"/s").Addr().String()
	d, err := Start(20, tcp, unix)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := errors.Join(hello(d, tcp), hello(d, unix)); err != nil {
			t.Fatal(err)
		}
	}
	if err := hello(d, tcp); err == nil || err.Error() != "the server has ended the connection 20 times in one run" {
		t.Errorf("one more: %v", err)
	}
	d.left = 1 // whatever this process believes
	if err := hello(d, tcp); err == nil {
		t.Error("one more")
	}
}

// TestOthers: nobody is asked for an address that was not named, whatever this process believes.
func TestOthers(t *testing.T) {
	named, other := listen(t).Addr().String(), listen(t).Addr().String()
	d, err := Start(5, named)
	if err != nil {
		t.Fatal(err)
	}
	if err := hello(d, other); err == nil || !strings.Contains(err.Error(), "not an address that was named") {
		t.Error(err)
	}
	d.addresses = append(d.addresses, other)
	if err := hello(d, other); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Error(err)
	}
}

// TestGivenUp: a call that was given up is in the way of no later one.
func TestGivenUp(t *testing.T) {
	address := listen(t).Addr().String()
	d, err := Start(5, slow, address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := d.Dial(ctx, slow); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	early, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Dial(early, address); !errors.Is(err, context.Canceled) { // its connection comes late
		t.Error(err)
	}
	if err := hello(d, address); err != nil {
		t.Error(err)
	}
}

// confined dials from inside the sandbox, where nothing else can be reached.
func confined(address string) int {
	d, err := Start(2, address)
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
		if err := hello(d, address); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			return 5
		}
	}
	return 0
}

func TestConfined(t *testing.T) {
	if here := sandbox.Here(); here.Landlock == 0 || !here.Seccomp {
		t.Skipf("Landlock or seccomp is missing in this kernel, which confines no further than %s: a confined process that connects was not tried", here)
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
	d, err := Start(2, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hello(d, "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%v", err)
		}
	}
}
