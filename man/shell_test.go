package man

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// shell is a bash with a terminal of its own, at which sits somebody who types
// every code that is shown.
type shell struct {
	in       io.Writer
	out, tty *stream
}

// stream is what came out of a pipe or a terminal and was not taken yet.
type stream struct {
	mu    sync.Mutex
	text  []byte
	grown chan struct{} // closed and made anew with every byte
	ended bool
}

// done ends what a command prints, on both streams.
const done = "\x04done"

func start(t *testing.T, dir string) *shell {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 60, Cols: 400}); err != nil { // nothing is folded or takes two pages
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--norc")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, w, w
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C.UTF-8", "TZ=UTC",
		"XDG_STATE_HOME=" + filepath.Join(dir, ".local/state"), "PULSE_POLICY=" + filepath.Join(dir, "policy.toml"),
	}
	cmd.ExtraFiles = []*os.File{slave}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
		slave.Close() // held until now: a terminal nobody has open gives EIO
		master.Close()
	})
	sh := &shell{in: in, out: follow(out, nil), tty: follow(master, answer(master))}
	sh.run(t, "exec 3>&-; umask 077; set -o pipefail")
	return sh
}

// answer returns what types the code behind each prompt.
func answer(w io.Writer) func(text []byte) {
	prompt := regexp.MustCompile(`code: (\w{4})\r\n[^\r\n]*: $`)
	return func(text []byte) {
		if m := prompt.FindSubmatch(text); m != nil {
			w.Write(append(m[1], '\n'))
		}
	}
}

// follow reads r to its end; on is called with what was not taken so far.
func follow(r io.Reader, on func(text []byte)) *stream {
	s := &stream{grown: make(chan struct{})}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			s.mu.Lock()
			s.text = append(s.text, buf[:n]...)
			s.ended = err != nil
			close(s.grown)
			s.grown = make(chan struct{})
			if on != nil {
				on(s.text)
			}
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

// take waits for the end of a command's output and takes it.
func (s *stream) take(t *testing.T) (text, status string) {
	t.Helper()
	limit := time.After(10 * time.Minute)
	for {
		s.mu.Lock()
		before, after, found := bytes.Cut(s.text, []byte(done))
		line, rest, whole := bytes.Cut(after, []byte("\n"))
		grown, ended := s.grown, s.ended
		if found && whole {
			s.text = bytes.Clone(rest)
			s.mu.Unlock()
			return string(before), strings.TrimSpace(string(line))
		}
		s.mu.Unlock()
		if ended {
			t.Fatalf("the shell is gone: %s", before)
		}
		select {
		case <-grown:
		case <-limit:
			t.Fatalf("nothing for a minute: %s", before)
		}
	}
}

// run runs a command and returns what it printed: on standard output and standard
// error, and then on the terminal.
func (sh *shell) run(t *testing.T, command string) (output, status string) {
	t.Helper()
	fmt.Fprintf(sh.in, "%s\n{ s=$?; echo '%s' $s; echo '%s' >/dev/tty; } 2>&1\n", command, done, done)
	output, status = sh.out.take(t)
	tty, _ := sh.tty.take(t)
	return output + strings.ReplaceAll(tty, "\r\n", "\n"), status
}
