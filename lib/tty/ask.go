package tty

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

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

// Code shows a fresh code and returns nil if a person typed it. verb completes
// "type the code to …". Another line is ErrRefused, no line ErrEnd.
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

// Ask throws away what was typed so far, shows a prompt, which must be safe to
// print, and returns the line that is typed then, without blanks around it. It is
// from outside. The end of input, also in the middle of a line, is ErrEnd.
func (t *Terminal) Ask(ctx context.Context, prompt string) (string, error) {
	if err := unix.IoctlSetInt(int(t.file.Fd()), unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	}
	if err := t.write(prompt); err != nil {
		return "", err
	}
	line, err := t.readLine(ctx)
	if err != nil {
		_ = t.write("\n") // what follows begins in the first column
		return "", fmt.Errorf("%w: %w", ErrEnd, err)
	}
	return line, nil
}

// maxLine bounds what is read of a line, in bytes: more than the driver of a
// terminal keeps of one.
const maxLine = 8192

func (t *Terminal) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := bufio.NewReader(io.LimitReader(t.file, maxLine)).ReadString('\n')
		read <- answer{strings.TrimSpace(line), err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
