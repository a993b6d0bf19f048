package cmdlinetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Patience is how long a person waits for a command to say something, while others work here.
const Patience = 10 * time.Minute

// Person sits at a terminal in which a command runs.
type Person struct {
	Patience time.Duration // as long as Patience, unless it is set

	cmd    *exec.Cmd
	tty    *os.File
	screen []byte
	past   int // what is on the screen before it has been dealt with
}

// Sit starts a command in a session of its own, at a new terminal that is also its
// three streams.
func Sit(cmd *exec.Cmd) (*Person, error) { return SitAt(cmd, 24, 80) }

// SitAt is Sit at a terminal of so many rows and columns.
func SitAt(cmd *exec.Cmd, rows, columns uint16) (*Person, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: rows, Cols: columns})
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	waiting, err := pollable(tty)
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	return At(cmd, waiting), nil
}

// pollable returns f as a file whose reads end at a deadline: setting the size has
// made f one that blocks.
func pollable(f *os.File) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// At is the person at a terminal in which a command runs already.
func At(cmd *exec.Cmd, tty *os.File) *Person { return &Person{Patience: Patience, cmd: cmd, tty: tty} }

// Leave ends the command, if it still runs, and takes the terminal away.
func (p *Person) Leave() {
	p.cmd.Process.Kill()
	p.tty.Close()
}

// Type types.
func (p *Person) Type(keys string) error {
	_, err := p.tty.WriteString(keys)
	return err
}

// Resize gives the terminal another size.
func (p *Person) Resize(rows, columns uint16) error {
	conn, err := p.tty.SyscallConn()
	if err != nil {
		return err
	}
	size := unix.Winsize{Row: rows, Col: columns}
	return errors.Join(conn.Control(func(fd uintptr) { err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &size) }), err)
}

// Sees waits until the screen holds a match, and returns it with its groups.
func (p *Person) Sees(pattern string) ([]string, error) {
	want := regexp.MustCompile(pattern)
	p.tty.SetReadDeadline(time.Now().Add(p.Patience))
	for {
		shown := p.screen[p.past:]
		if m := want.FindSubmatch(shown); m != nil {
			var list []string
			for _, g := range m {
				list = append(list, string(g))
			}
			return list, nil
		}
		if err := p.read(); err != nil {
			return nil, fmt.Errorf("%q never appeared: %w; the screen:\n%s", pattern, err, shown)
		}
	}
}

// Past is Sees, and returns all that was shown up to the end of the match, which is not looked at again.
func (p *Person) Past(pattern string) (string, error) {
	m, err := p.Sees(`(?s)^.*?` + pattern)
	if err != nil {
		return "", err
	}
	p.past += len(m[0])
	return m[0], nil
}

// Code reads on to the prompt and returns the code that stands in front of it.
func (p *Person) Code() (string, error) {
	for {
		m, err := p.Sees(`(?:\r\ncode: ([a-z0-9]{4})\r\n[^\r\n]*: |\npage \d+ of \d+ \[[^\]]*\]: )$`)
		if err != nil {
			return "", err
		}
		if m[1] != "" {
			return m[1], nil
		}
		if err := p.Answer(""); err != nil {
			return "", err
		}
	}
}

// Answer types a line, and waits until the terminal has begun to echo it: what is
// seen next is no longer the prompt it answers.
func (p *Person) Answer(line string) error {
	if err := p.Type(line + "\n"); err != nil {
		return err
	}
	p.tty.SetReadDeadline(time.Now().Add(p.Patience))
	return p.read()
}

// Wait waits for the end of the command and returns its status and all that
// reached the terminal, byte for byte.
func (p *Person) Wait() (status int, screen []byte) {
	p.tty.SetReadDeadline(time.Now().Add(p.Patience))
	for p.read() == nil {
	}
	if err := p.cmd.Wait(); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			return -1, p.screen
		}
	}
	return p.cmd.ProcessState.ExitCode(), p.screen
}

func (p *Person) read() error {
	b := make([]byte, 4096)
	n, err := p.tty.Read(b)
	p.screen = append(p.screen, bytes.Clone(b[:n])...)
	return err
}
