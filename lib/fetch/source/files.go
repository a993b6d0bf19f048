package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"pulse/lib/shared/fault"
)

// Files reads files that hold one message each, in the order given.
type Files struct {
	Paths  []string
	Window int64 // bytes of the body that are wanted, message.Options.Window
}

// OpenFiles checks that all the files exist before the first is read.
func OpenFiles(paths []string, window int64) (*Files, error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fault.Usagef(unexpanded(path), "%w", err)
		}
		if info.IsDir() {
			return nil, fault.Usagef("maildir:"+path, "%s: is a directory", path)
		}
	}
	return &Files{paths, window}, nil
}

// unexpanded returns the hint for a path that does not exist. A shell may have left it as
// it was typed.
func unexpanded(path string) string {
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "$") {
		return "a shell replaces ~ by the home directory only at the beginning of a word: mbox:$HOME/box; " +
			"cron replaces nothing"
	}
	return "ls -l " + path
}

// Each implements Source.
func (s *Files) Each(ctx context.Context, yield func(*Message) error) error {
	rd := reader{window: s.Window}
	for _, path := range s.Paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := Message{Source: "file:" + path}
		if err := rd.file(path, &m); err != nil {
			return err
		}
		if err := yield(&m); err != nil {
			return err
		}
	}
	return nil
}

// file reads the message in a file.
func (rd *reader) file(path string, m *Message) error {
	f, err := openQuietly(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := int64(-1)
	if info.Mode().IsRegular() {
		size = info.Size()
	}
	m.Raw, err = rd.read(f, size)
	return err
}

// openQuietly opens a file for reading. It leaves the access time alone where the kernel
// allows that, because mail readers tell new mail by it.
func openQuietly(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOATIME, 0)
	if errors.Is(err, syscall.EPERM) {
		f, err = os.Open(path)
	}
	return f, err
}

// Stdin reads one message on standard input.
type Stdin struct {
	Reader io.Reader
	Window int64
}

// Each implements Source.
func (s *Stdin) Each(ctx context.Context, yield func(*Message) error) error {
	rd := reader{window: s.Window}
	raw, err := rd.read(s.Reader, -1)
	if err != nil {
		return fmt.Errorf("stdin: %w", err)
	}
	if raw.Size == 0 {
		return errors.New("stdin: empty, want one message")
	}
	return yield(&Message{Raw: raw, Source: "stdin"})
}
