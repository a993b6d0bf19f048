// Package aside remembers, outside a queue, what a person was told of the queue that the queue
// itself can't remember: its disk is full, another command keeps its lock, its server is away.
//
// Invariant: what can't be read or written here is told. The file has its length from the
// beginning and is written in place, so that a disk without room takes it, too. Caveat: accounts
// remember apart from each other, and a file system that never writes in place may refuse.
package aside

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pulse/lib/queue/finding"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
	"pulse/lib/shared/safefile"
)

// size is the number of bytes of a file: what has it can be read whole, or is no memory.
const size = 1024

// maxText bounds the text that is remembered, in bytes: escaped, it has room beside the rest.
const maxText = 100

// Memory is what is remembered of one matter of a queue. It is opened before a command gives up
// the right to open files. Without a file it remembers nothing, and all is told.
type Memory struct {
	f *os.File
}

// Open returns what is remembered of a matter, such as "queue" or "disk", in a directory of this
// account. queue is the name of the queue, or its absolute path.
func Open(dir, queue, matter string) *Memory {
	f, err := open(dir, queue, matter)
	if err != nil {
		return &Memory{}
	}
	return &Memory{f}
}

func open(dir, queue, matter string) (*os.File, error) {
	if dir == "" {
		return nil, errors.New("neither XDG_STATE_HOME nor HOME names a directory")
	}
	dir = filepath.Join(dir, "aside")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := safefile.Own(dir); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(matter + " " + queue))
	name := filepath.Join(dir, hex.EncodeToString(sum[:16]))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() < size {
		_, err = f.WriteAt(bytes.Repeat([]byte(" "), size), 0)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// Close closes the file.
func (m *Memory) Close() {
	if m.f != nil {
		m.f.Close()
	}
}

// Begins remembers that something is wrong, and reports whether a person is to be told now. about
// tells it from what is another thing as soon as it differs.
func (m *Memory) Begins(about, text string, now time.Time) (say bool) {
	err := m.change(func(was audit.Finding) (audit.Finding, bool) {
		if was.About != about {
			was = audit.Finding{}
		}
		f := audit.Finding{Code: "told", About: about, Text: audit.Clip(text, maxText)}
		var changed bool
		changed, say = finding.Heard(&f, &was, now)
		return f, changed
	})
	return say || err != nil
}

// Ends remembers that nothing is wrong any more. It returns what was, and reports whether a person
// is to be told that it ended.
func (m *Memory) Ends(now time.Time) (f audit.Finding, say bool) {
	err := m.change(func(was audit.Finding) (audit.Finding, bool) {
		if was.What == "" || was.What == audit.FindingClosed {
			return was, false
		}
		say = finding.Over(&was, now)
		f = was
		return was, true
	})
	return f, say && err == nil // what is not written down would be told again by each command
}

// change reads what is remembered and writes what fn makes of it. Others wait meanwhile.
func (m *Memory) change(fn func(audit.Finding) (f audit.Finding, changed bool)) error {
	if m.f == nil {
		return os.ErrInvalid
	}
	fd := int(m.f.Fd())
	if err := syscall.Flock(fd, syscall.LOCK_EX); err != nil {
		return os.NewSyscallError("flock", err)
	}
	defer func() { _ = syscall.Flock(fd, syscall.LOCK_UN) }()
	f, changed := fn(m.read())
	if !changed {
		return nil
	}
	b := f.Append(nil)
	if len(b) >= size {
		return errors.New("it is too long")
	}
	b = append(b, bytes.Repeat([]byte(" "), size-1-len(b))...)
	_, err := m.f.WriteAt(append(b, '\n'), 0)
	return err
}

// read returns what is remembered. What can't be read is nothing.
func (m *Memory) read() (f audit.Finding) {
	b, err := io.ReadAll(io.NewSectionReader(m.f, 0, size))
	if err != nil {
		return f
	}
	rec, err := record.Parse(bytes.TrimSpace(b))
	if err == nil {
		f, err = audit.DecodeFinding(rec.Value())
	}
	if err != nil {
		return audit.Finding{}
	}
	return f
}
