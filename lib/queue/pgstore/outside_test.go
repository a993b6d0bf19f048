package pgstore_test

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/sandbox"
)

// TestConfinedCut: a confined command whose connection is cut at any message of its Update asks
// what became of it, and ends with the true answer.
func TestConfinedCut(t *testing.T) {
	if here := sandbox.Here(); here.Landlock == 0 || !here.Seccomp {
		t.Skipf("NOT TRIED: a confined command, because this kernel confines no further than %s", here)
	}
	bin := t.TempDir()
	if err := cmdlinetest.Build(bin, "pulse-queue"); err != nil {
		t.Fatal(err)
	}
	confined := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "pulse-queue"), args...)
		cmd.Env = []string{"XDG_STATE_HOME=" + t.TempDir(), "HOME=" + t.TempDir()}
		return cmd
	}
	d := pgtest.New(t)
	p := proxyTo(t, d)
	see := open(t, d.DSN("reader1"))
	p.arm(-1, false)
	if out, err := confined("hold", "--queue", p.dsn(d, "machine1")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	all := len(p.arm(-1, false))
	had, done, undone := len(logged(t, see)), 0, 0
	if had != 1 {
		t.Fatalf("%d lines after hold", had)
	}
	const last = 48 // messages: the Update and how it ends
	step := 1
	if testing.Short() {
		step = 3
	}
	for n := all - last; n < all; n += step {
		for _, after := range []bool{false, true} {
			cmd := confined("release", "--queue", p.dsn(d, "all1"))
			if had%2 == 0 {
				cmd.Args[1] = "hold"
			}
			var said bytes.Buffer
			cmd.Stderr = &said
			p.arm(n, after)
			err := cmd.Run()
			p.arm(-1, false)
			now, status := len(logged(t, see)), fault.Kind(cmd.ProcessState.ExitCode())
			switch {
			case err == nil && now == had+1:
				done++
			case status == fault.Temporary && now == had && strings.Contains(said.String(), "nothing was changed"):
				undone++
			default:
				t.Errorf("cut at %d of %d, %v: %v, %s, and the log has %d lines more", n, all, after, err, said.String(), now-had)
			}
			had = now
		}
	}
	if done < 2 || undone < 2 {
		t.Errorf("%d cuts ended in done, %d in not done", done, undone)
	}
}

// TestTurns: of a host with several addresses, another one is asked first each time, and the
// others if it does not answer.
func TestTurns(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0") // localhost may have ::1 as well
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	for range 4 {
		c, err := pgstore.Dial(t.Context(), net.JoinHostPort("localhost", port))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
}
