// Package tty asks a person, and nobody but a person, at the terminal. The rules
// of its interface:
//
//   - Interaction is on /dev/tty, never on standard input, which may be a pipe.
//   - What is shown is escaped and framed by the caller; the last line before the
//     prompt is "code: XXXX", and typing XXXX means yes.
//   - The code is fresh for each question. What was typed before it was shown is
//     thrown away. There is no default, no yes flag and no environment variable.
//   - Anything but the code, the end of input or no terminal at all means no.
//
// Caveat: this guards against accidents and blind injection. A program that runs
// under the same uid can make a terminal of its own and read the code from it.
package tty

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"
)

// The reasons why nobody said yes.
var (
	ErrNoTerminal = errors.New("no terminal: this needs a person")
	ErrRefused    = errors.New("the code was not typed: nothing was changed")
)

// Terminal is the controlling terminal of this process.
type Terminal struct {
	file *os.File
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
	return &Terminal{f}, nil
}

// Is reports whether f is a terminal. It decides what is shown, never what is
// allowed.
func Is(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// Close closes the terminal.
func (t *Terminal) Close() error { return t.file.Close() }

// Columns returns how wide the terminal is, 80 where it does not tell.
func (t *Terminal) Columns() int {
	if size, err := unix.IoctlGetWinsize(int(t.file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return 80
}

// alphabet leaves out what looks alike: 0 o, 1 i l.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// code returns four random characters; about one in a million guesses hits.
func code() string {
	b := make([]byte, 0, 4)
	var r [1]byte
	for len(b) < cap(b) {
		rand.Read(r[:])
		if int(r[0]) < 256/len(alphabet)*len(alphabet) { // no character is likelier
			b = append(b, alphabet[int(r[0])%len(alphabet)])
		}
	}
	return string(b)
}

// Confirm shows lines, which must be safe to print, and returns nil if a person
// typed the code shown behind them. verb completes "type the code to …".
func (t *Terminal) Confirm(ctx context.Context, lines []string, verb string) error {
	if _, err := io.WriteString(t.file, strings.Join(lines, "\n")+"\n\n"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if err := unix.IoctlSetInt(int(t.file.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	want := code()
	if _, err := fmt.Fprintf(t.file, "code: %s\ntype the code to %s, anything else not to: ", want, verb); err != nil {
		return fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	got, err := t.readLine(ctx)
	if err != nil {
		fmt.Fprintln(t.file)
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if got != want {
		return ErrRefused
	}
	return nil
}

// readLine reads a line of at most a few characters.
func (t *Terminal) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(t.file, 256)).ReadString('\n')
		read <- answer{strings.TrimSpace(line), err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
