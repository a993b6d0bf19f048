package tty_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"pulse/lib/approve/screen"
	"pulse/lib/approve/tty"
	"pulse/lib/shared/cmdline/cmdlinetest"
	"pulse/lib/shared/escape/escapetest"
)

// TestMain runs the tests, or one of the programs that a test starts at a terminal.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		os.Exit(programs[os.Args[1]](os.Args[2:]))
	}
	os.Exit(m.Run())
}

// programs are started in a session of their own. Standard input is a pipe; the other
// streams are the terminal. Each prints its result at the end.
var programs = map[string]func(args []string) int{
	"codes": func(args []string) int {
		return at(func(ctx context.Context, t *tty.Terminal) error { return codes(ctx, t, args[0]) })
	},
	"late": func([]string) int {
		return at(func(ctx context.Context, t *tty.Terminal) error {
			t.Say("ready")
			io.Copy(io.Discard, os.Stdin)
			return t.Code(ctx, "go on")
		})
	},
	"attacked": func(args []string) int {
		return at(func(ctx context.Context, t *tty.Terminal) error {
			by := exec.Command(os.Args[0], append([]string{"inject"}, args...)...)
			by.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // in the background
			if out, err := by.CombinedOutput(); err != nil {
				return fmt.Errorf("inject: %w: %s", err, out)
			}
			return t.Code(ctx, "go on")
		})
	},
	"inject": func(args []string) int {
		f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err == nil {
			err = inject(f, args[0])
		}
		return said(err)
	},
	"ask": func([]string) int {
		return at(func(ctx context.Context, t *tty.Terminal) error {
			line, err := t.Ask(ctx, "which? ")
			t.Say(fmt.Sprintf("%q", line))
			return err
		})
	},
	"size": func([]string) int {
		return at(func(_ context.Context, t *tty.Terminal) error {
			rows, columns := t.Size()
			return t.Say(fmt.Sprint(rows, " ", columns))
		})
	},
	"show": func(args []string) int {
		return at(func(ctx context.Context, t *tty.Terminal) error {
			n, _ := strconv.Atoi(args[0])
			var lines []string
			for i := range n {
				lines = append(lines, fmt.Sprintf("%sline %d", screen.Gutter, i+1))
			}
			return t.Show(ctx, screen.NewPages(lines), args[1] == "whole")
		})
	},
	"sure": func(args []string) int {
		n, _ := strconv.Atoi(args[0])
		return at(func(ctx context.Context, t *tty.Terminal) error {
			pages := screen.NewPages(slices.Repeat([]string{"a line"}, n))
			for {
				err := t.Show(ctx, pages, true)
				if err == nil {
					err = t.Code(ctx, "go on")
				}
				if !errors.Is(err, tty.ErrResumed) {
					return err
				}
			}
		})
	},
	"open": func([]string) int {
		_, err := tty.Open()
		return said(err)
	},
}

// codes asks for as many codes as n is long, until an answer is not a refusal.
func codes(ctx context.Context, t *tty.Terminal, n string) (err error) {
	for range len(n) {
		if err = t.Code(ctx, "go on"); !errors.Is(err, tty.ErrRefused) {
			return err
		}
	}
	return err
}

// at runs fn at the terminal until a signal comes.
func at(fn func(context.Context, *tty.Terminal) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	t, err := tty.Open()
	if err != nil {
		return said(err)
	}
	defer t.Close()
	return said(fn(ctx, t))
}

// said prints which error it was, and returns the status for it.
func said(err error) int {
	for i, known := range []error{nil, tty.ErrNoTerminal, tty.ErrRefused, tty.ErrEnd, tty.ErrQuit} {
		if err == known || known != nil && errors.Is(err, known) {
			fmt.Println("end:", i)
			return i
		}
	}
	fmt.Println("end:", err)
	return 9
}

// The statuses of said.
const (
	yes = iota
	noTerminal
	refused
	ended
	quit
)

// seat is a person in front of a program, and the terminal between them.
type seat struct {
	*cmdlinetest.Person
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	stdin  io.Closer
	before unix.Termios
}

// sit starts a program at a new terminal with the given rows and columns, at which typed
// was typed before.
func sit(t *testing.T, rows, columns uint16, typed string, args ...string) *seat {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	if _, err := master.WriteString(typed); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	s := &seat{t: t, cmd: cmd, master: master, stdin: in}
	s.before = s.modes()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.Person = cmdlinetest.At(cmd, master)
	t.Cleanup(s.Leave)
	return s
}

// modes returns how the terminal is set, which is the same for both of its sides.
func (s *seat) modes() (m unix.Termios) {
	s.t.Helper()
	s.control(func(fd int) error {
		got, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			m = *got
		}
		return err
	})
	return m
}

// control calls fn with our side, which goes on not to block.
func (s *seat) control(fn func(fd int) error) {
	s.t.Helper()
	raw, err := s.master.SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(fd uintptr) { err = fn(int(fd)) }), err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// sees waits for a pattern and returns its last group.
func (s *seat) sees(pattern string) string {
	s.t.Helper()
	m, err := s.Sees(pattern)
	if err != nil {
		s.t.Fatal(err)
	}
	return m[len(m)-1]
}

// stops stops the program and returns once it has stopped.
func (s *seat) stops() {
	s.t.Helper()
	pid := s.cmd.Process.Pid
	err := s.cmd.Process.Signal(syscall.SIGSTOP)
	for err == nil {
		var info unix.Siginfo
		if err = unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED, nil); err == nil {
			return
		}
		if err == unix.EINTR {
			err = nil
		}
	}
	s.t.Fatal(err)
}

func (s *seat) goesOn() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) types(keys string) {
	s.t.Helper()
	if err := s.Type(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the end. It checks that the terminal has the modes it had before, and
// that only text was sent to it.
func (s *seat) ends(status int) string {
	s.t.Helper()
	got, out := s.Wait()
	if got != status {
		s.t.Errorf("exit %d, want %d:\n%s", got, status, out)
	}
	if s.modes() != s.before {
		s.t.Errorf("the modes of the terminal were changed")
	}
	echo := strings.NewReplacer("\r\n", "\n", "\b \b", "", "\t", "") // the driver's
	if why := escapetest.Wrong(echo.Replace(string(out))); why != "" {
		s.t.Error(why)
	}
	return string(out)
}

// inject types into a terminal as TIOCSTI does: byte for byte, as if from the keyboard.
func inject(f *os.File, keys string) error {
	for _, key := range []byte(keys) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&key))); errno != 0 {
			return errno
		}
	}
	return nil
}

// other opens the program's side of the terminal once more, as any process may that has
// the right to.
func (s *seat) other() *os.File {
	s.t.Helper()
	var f *os.File
	s.control(func(fd int) (err error) {
		n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err == nil {
			f, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
		}
		return err
	})
	return f
}

// able skips a test that types into the terminal of another session.
func able(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may type into the terminal of another session (TIOCSTI): what is typed there was not tried")
	}
}
