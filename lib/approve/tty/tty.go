// Package tty asks a person at the terminal, and takes no answer from anywhere else. The
// rules of its interface:
//
//   - It talks on /dev/tty, never on standard input, which may be a pipe.
//   - The caller escapes and frames what is shown. It is shown page by page to its end
//     before anything can be answered.
//   - The last line before the prompt is "code: " and four characters. Typing these
//     means yes.
//   - The code is fresh for each question. What was typed before a prompt was shown
//     is thrown away. There is no default, no yes flag and no environment variable.
//   - Anything except the code means no: another line, the end of input, no terminal.
//   - After the process was stopped and continued (^Z and fg, SIGSTOP and SIGCONT),
//     nothing is answered until everything was shown again, with another code: it
//     is not known what the screen showed meanwhile, and to whom.
//   - The newline is the only thing sent that moves the cursor. What was shown can't be
//     painted over, and can be scrolled back to.
//
// Invariant: Code returns nil only if the code that it has just shown was typed. The
// terminal's driver edits the lines, so it works the same over a slow connection.
//
// Caveat: this guards against accidents and blind injection. A program that runs
// under the same uid can make a terminal of its own and read the code from it.
package tty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"
)

// The reasons for which the answer is not yes.
var (
	ErrNoTerminal = errors.New("no terminal: this needs a person")
	ErrRefused    = errors.New("the code was not typed: nothing was changed")
	ErrEnd        = errors.New("the input ended: nothing was changed")
	ErrQuit       = errors.New("quit: nothing was changed")
	ErrResumed    = errors.New("it was stopped meanwhile: nothing was changed") // show all of it again
)

// Terminal is the controlling terminal of this process.
type Terminal struct {
	file    *os.File
	resumed chan os.Signal // SIGCONT
	away    bool           // it was stopped, and nothing has been shown since
}

// Open opens /dev/tty, or fails with ErrNoTerminal.
func Open() (*Terminal, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if !isatty.IsTerminal(f.Fd()) {
		f.Close()
		return nil, ErrNoTerminal
	}
	t := &Terminal{file: f, resumed: make(chan os.Signal, 1)}
	signal.Notify(t.resumed, unix.SIGCONT)
	return t, nil
}

// Close closes the terminal.
func (t *Terminal) Close() error {
	signal.Stop(t.resumed)
	return t.file.Close()
}

// Size returns how many rows and columns the terminal has now: 24 and 80 if it does not
// tell.
func (t *Terminal) Size() (rows, columns int) {
	rows, columns = 24, 80
	size, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ)
	if err == nil && size.Row > 0 {
		rows = int(size.Row)
	}
	if err == nil && size.Col > 0 {
		columns = int(size.Col)
	}
	return rows, columns
}

// colours reports whether the terminal has colours and the person wants them
// (no-color.org). The environment decides nothing else.
func colours() bool {
	term := os.Getenv("TERM")
	return os.Getenv("NO_COLOR") == "" && term != "" && term != "dumb"
}

// Say writes lines, which must be safe to print.
func (t *Terminal) Say(lines ...string) error {
	if len(lines) == 0 {
		return nil
	}
	return t.write(strings.Join(lines, "\n") + "\n")
}

func (t *Terminal) write(text string) error {
	if _, err := io.WriteString(t.file, text); err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	return nil
}
