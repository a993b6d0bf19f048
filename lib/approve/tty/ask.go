package tty

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// alphabet leaves out characters that look alike: 0 o, 1 i l.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"

// code returns four random characters. About one guess in a million is right.
func code() string {
	b := make([]byte, 0, 4)
	var r [1]byte
	for len(b) < cap(b) {
		rand.Read(r[:])
		if int(r[0]) < 256/len(alphabet)*len(alphabet) { // else some characters were likelier
			b = append(b, alphabet[int(r[0])%len(alphabet)])
		}
	}
	return string(b)
}

// Code shows a fresh code and returns nil if a person typed it. verb completes
// "type the code to …". It returns ErrRefused for another line, ErrEnd for none, and
// ErrResumed if the caller has to show again what the code is for.
func (t *Terminal) Code(ctx context.Context, verb string) error {
	want := code()
	got, err := t.Ask(ctx, fmt.Sprintf("\ncode: %s\ntype the code to %s, anything else not to: ", want, verb))
	if err != nil {
		return err
	}
	if got != want {
		return ErrRefused
	}
	return nil
}

// Ask throws away what was typed so far, shows a prompt, which must be safe to print, and
// returns the line that is typed then, without blanks around it. The line comes from
// outside: escape it before you show it. Ask returns ErrEnd at the end of input, even in
// the middle of a line. Once the process was stopped it returns ErrResumed, whatever was
// typed, until Show has begun again.
func (t *Terminal) Ask(ctx context.Context, prompt string) (string, error) {
	if err := unix.IoctlSetInt(int(t.file.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if err := t.write(prompt); err != nil {
		return "", err
	}
	line, err := t.readLine(ctx)
	if err != nil {
		_ = t.write("\n") // so that what follows begins in the first column
	}
	if err != nil && !errors.Is(err, ErrResumed) {
		err = fmt.Errorf("%w: %w", ErrEnd, err)
	}
	return line, err
}

// maxLine is how many bytes of a line are read: more than a terminal's driver keeps.
const maxLine = 8192

// settling is how long a line is left in the terminal's queue. What was typed to a
// stopped process is there as soon as it continues, while SIGCONT may be handled a little
// later, on a machine under load more than 20 ms. It is also the time after which anything else is noticed.
// It is spent in turns: on a busy machine each of them waits as the thread does that handles the signal.
const (
	settling = 60 * time.Millisecond
	turns    = 12
)

// readLine returns the next line, or ErrResumed if the process was stopped since Show
// began. It reads no more than it returns: the next Ask throws the rest away.
func (t *Terminal) readLine(ctx context.Context) (string, error) {
	var line string
	b := make([]byte, maxLine)
	for {
		fds := []unix.PollFd{{Fd: int32(t.file.Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(fds, int(settling.Milliseconds()))
		if err != nil && err != unix.EINTR {
			return "", err
		}
		waiting := fds[0].Revents != 0
		for n := 0; waiting && n < turns; n++ {
			time.Sleep(settling / turns)
		}
		switch {
		case t.wasStopped():
			return "", ErrResumed
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !waiting:
			continue
		}
		n, err := t.file.Read(b)
		line += string(b[:n])
		switch {
		case strings.HasSuffix(line, "\n"):
			return strings.TrimSpace(line), nil
		case err != nil:
			return "", err
		case len(line) >= maxLine:
			return "", bufio.ErrTooLong
		}
	}
}

// wasStopped reports whether the process was stopped since Show began. Stop returns once each signal that came
// is in its channel.
func (t *Terminal) wasStopped() bool {
	idle := make(chan os.Signal, 1)
	signal.Notify(idle, unix.SIGCONT)
	signal.Stop(idle)
	select {
	case <-t.resumed:
		t.away = true
	default:
	}
	return t.away
}
