// Package fault says what kind of failure an error is and what a person should type
// next. Any package may give an error a class. Only lib/shared/cmdline turns the class into an
// exit status, so that one table (pulse(7)) is true for all commands.
//
// Invariant: an error that is wrapped with %w keeps its class, unless the wrapper gives
// it another one. Caveat: an error without a class is Failed, unless it carries an errno
// that says that the machine, not the input, was at fault.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	_ "pulse/lib/shared/linux"
)

// Kind is a class of failure; its value is the exit status.
type Kind int

// The exit statuses of every command besides 0. 2 is left to a Go panic.
const (
	Failed    Kind = 1  // a record or an operation failed
	Usage     Kind = 64 // flags, policy or set-up are wrong; nothing was read
	Temporary Kind = 75 // network, DNS, lock or disk; run again later
	Refused   Kind = 77 // the gate said no: not a person, no grant
)

// Error is an error with its class and, where it helps, what to type next.
type Error struct {
	Kind Kind
	Hint string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns a Usage error with a hint, which may be empty.
func Usagef(hint, format string, args ...any) error {
	return &Error{Usage, hint, fmt.Errorf(format, args...)}
}

// Temporaryf returns a Temporary error with a hint, which may be empty.
func Temporaryf(hint, format string, args ...any) error {
	return &Error{Temporary, hint, fmt.Errorf(format, args...)}
}

// Refusedf returns a Refused error with a hint, which may be empty.
func Refusedf(hint, format string, args ...any) error {
	return &Error{Refused, hint, fmt.Errorf(format, args...)}
}

// Failedf returns a Failed error with a hint, which may be empty.
func Failedf(hint, format string, args ...any) error {
	return &Error{Failed, hint, fmt.Errorf(format, args...)}
}

// KindOf returns the class of err, which must not be nil.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	if machine(err) {
		return Temporary
	}
	return Failed
}

// HintOf returns what to type next, or the empty string. A package that is to stand alone may
// give an error of its own a method Hint.
func HintOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Hint
	}
	var own interface{ Hint() string }
	if errors.As(err, &own) {
		return own.Hint()
	}
	return ""
}

// machine reports whether the machine is at fault: disk, descriptors, memory, or an encrypted
// directory whose key is not there.
func machine(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.EMFILE,
		syscall.ENFILE, syscall.ENOMEM, syscall.EAGAIN, syscall.EXDEV, syscall.EFBIG,
		syscall.ESTALE, syscall.ENOLCK, syscall.EINTR, syscall.ENOKEY,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, fs.ErrClosed)
}
