// Package clientfile puts the hook of pulse into the settings file of an agent's client, and takes it away.
//
// Invariant: the file is shown before it is changed, and replaced as a whole, unless it is no longer what
// was read. Caveat: what a client writes in that very moment is lost.
package clientfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/settings"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// File is the settings file of a client.
type File struct {
	Client hook.Client
	Named  string // the file as the client names it

	path string // that without symbolic links
	mode fs.FileMode
	text []byte // nil: there is none
}

// Add puts a command into the file as the hook, in place of an earlier one. It shows on w what changes
// in the file, and then changes it; if dry is true it only shows it.
func (f *File) Add(w io.Writer, dry bool, command string) (changed bool, err error) {
	return f.change(w, dry, func(text []byte) ([]byte, error) { return settings.Add(f.Client, f.path, text, command) })
}

// Remove takes the hook out of the file, as Add puts it there.
func (f *File) Remove(w io.Writer, dry bool) (changed bool, err error) {
	return f.change(w, dry, func(text []byte) ([]byte, error) { return settings.Remove(f.Client, f.path, text) })
}

func (f *File) change(w io.Writer, dry bool, fn func(text []byte) ([]byte, error)) (changed bool, err error) {
	if err := f.read(); err != nil {
		return false, err
	}
	text, err := fn(f.text)
	if err != nil {
		return false, fault.Usagef("less "+escape.Shell(f.path), "%s: %w", f.path, err)
	}
	if bytes.Equal(text, f.text) && (text == nil) == (f.text == nil) {
		return false, nil
	}
	if err := difference(w, f.path, f.text, text); err != nil || dry {
		return true, err
	}
	if err := f.write(text); err != nil {
		return false, notWritten(f.path, err)
	}
	return true, nil
}

func notWritten(path string, err error) error {
	err = fmt.Errorf("%s stays as it was: %w", path, err)
	if errors.Is(err, fs.ErrPermission) {
		return fault.Failedf("ls -ld "+escape.Shell(filepath.Dir(path)), "%w", err)
	}
	return err
}

// read reads the file: a regular one of this account, to which the name may be a link.
func (f *File) read() error {
	hint := "ls -lL " + escape.Shell(f.Named)
	var err error
	f.path, err = filepath.EvalSymlinks(f.Named)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(f.Named); err == nil {
			return fault.Usagef("ls -l "+escape.Shell(f.Named), "%s: it is a link to nothing", f.Named)
		}
		return f.absent()
	}
	if err != nil {
		return fault.Usagef(hint, "%w", err)
	}
	text, mode, err := Read(f.path)
	switch {
	case err != nil:
		return fault.Usagef(hint, "%w", err)
	case mode&0o200 == 0:
		return fault.Usagef("chmod u+w "+escape.Shell(f.path), "%s: it may not be written", f.path)
	}
	f.text, f.mode = text, mode
	return nil
}

// absent finds out where the file would lie.
func (f *File) absent() error {
	dir := filepath.Dir(f.Named)
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Dir(dir)); err != nil {
			return fault.Usagef("mkdir -p "+escape.Shell(filepath.Dir(dir)), "%w", err)
		}
		real, err = dir, nil
	}
	f.path, f.mode = filepath.Join(real, filepath.Base(f.Named)), 0o600
	return err
}

// Read returns what is in a file, which is not nil, and its mode.
func Read(path string) ([]byte, fs.FileMode, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not to hang on a FIFO
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: %w", path, safefile.ErrKind)
	}
	if info.Sys().(*syscall.Stat_t).Nlink > 1 {
		return nil, 0, fmt.Errorf("%s: it has another name, which a new file would not have", path)
	}
	text, err := io.ReadAll(io.LimitReader(file, settings.MaxSize+1))
	return append([]byte{}, text...), info.Mode().Perm(), err
}

// write puts a text in the place of the file, unless that is no longer what was read.
func (f *File) write(text []byte) error {
	dir := filepath.Dir(f.path)
	if f.text == nil {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another one changes it: %w", err)
	}
	now, _, err := Read(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(now, f.text) || (now == nil) != (f.text == nil) {
		return errors.New("it has changed meanwhile; try it again")
	}
	if text != nil {
		return safefile.Replace(f.path, text, f.mode)
	}
	if err := os.Remove(f.path); err != nil {
		return err
	}
	_ = os.Remove(dir) // if it is empty now, it was made for the file
	return nil
}

// difference prints the one place at which two texts differ, with what surrounds it.
func difference(w io.Writer, path string, old, new []byte) error {
	a, b := escapedLines(old), escapedLines(new)
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	after := 0
	for after < min(len(a), len(b))-same && a[len(a)-1-after] == b[len(b)-1-after] {
		after++
	}
	var out bytes.Buffer
	from, tail := max(0, same-around), min(after, around)
	fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%d,%d +%d,%d @@\n", naming(path, old), naming(path, new),
		min(from+1, len(a)), len(a)-after+tail-from, min(from+1, len(b)), len(b)-after+tail-from)
	for _, part := range []struct {
		sign  string
		lines []string
	}{{" ", a[from:same]}, {"-", a[same : len(a)-after]}, {"+", b[same : len(b)-after]}, {" ", a[len(a)-after : len(a)-after+tail]}} {
		for _, l := range part.lines {
			fmt.Fprintf(&out, "%s%s\n", part.sign, l)
		}
	}
	_, err := out.WriteTo(w)
	return err
}

const around = 3 // lines

func naming(path string, text []byte) string {
	if text == nil {
		return os.DevNull
	}
	return escape.Line(path)
}

func escapedLines(text []byte) (lines []string) {
	for line := range bytes.Lines(text) {
		whole := bytes.TrimSuffix(line, []byte("\n"))
		shown := escape.Message(string(bytes.ReplaceAll(whole, []byte("\t"), []byte("    "))))
		if len(whole) == len(line) {
			shown += " (no newline)"
		}
		lines = append(lines, shown)
	}
	return lines
}
