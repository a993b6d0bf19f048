// Package seen remembers, outside a queue, the last line of it that this account
// committed, or read before it was to start something. A queue that lacks this line was restored from a copy, was rolled
// back, or is a different queue.
//
// Invariant: a line is noted only after it is durable in the queue, so a crash never
// leaves a mark that an honest queue lacks. Caveat: marks are not synced. After a power
// cut an older mark may be found, which proves less.
package seen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"pulse/lib/shared/safefile"
)

// errGarbage reports a file that should hold a mark and does not.
var errGarbage = errors.New("it can't be read as a mark")

// Record holds what is noted about one queue: under the path by which it was opened, and
// under the path that this resolves to, if there are symbolic links on the way. Other
// files are read only in Open, so that a command can note lines after it gave up the
// right to open files.
type Record struct {
	places []*place // the last one is for the real path
	lacks  []Mark   // noted at other paths; used only while nothing is noted at the real one
}

// place is the file for one path of a queue.
type place struct {
	path     string // the real one
	f        *os.File
	readOnly error // why it can't be written; nil if it can
}

// fileOf returns the name of the file in which a path of a queue is noted.
func fileOf(queue string) string {
	sum := sha256.Sum256([]byte(queue))
	return hex.EncodeToString(sum[:16])
}

// Open opens the record of a queue and creates dir if it is missing. first is the hash of
// the queue's first line, empty if it has none; find returns the mark of a line as the queue
// has it, or the zero Mark. If nothing is noted at this path yet, the queue may have been moved or
// copied there. The marks noted at other paths are then taken over if the queue has every
// one of them; otherwise Marks returns those that it lacks.
func Open(dir, queue, first string, find func(Mark) (Mark, error)) (*Record, error) {
	paths, err := names(queue)
	if err == nil {
		err = own(dir)
	}
	if err != nil {
		return nil, err
	}
	r := &Record{}
	for _, path := range paths {
		p := &place{path: paths[len(paths)-1]}
		if err := p.open(filepath.Join(dir, fileOf(path))); err != nil {
			r.Close()
			return nil, err
		}
		r.places = append(r.places, p)
	}
	here, _, err := read(r.places[len(paths)-1].f)
	if here != nil || err != nil || first == "" {
		return r, nil // Marks returns the error
	}
	if err := r.adopt(dir, first, find); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Forget removes what is noted about the queue at a path, because this account creates
// another one there. It reports whether anything was noted.
func Forget(dir, queue string) (had bool, err error) {
	paths, err := names(queue)
	for _, path := range paths {
		gone := os.Remove(filepath.Join(dir, fileOf(path)))
		had = had || gone == nil
		if gone != nil && !errors.Is(gone, fs.ErrNotExist) && err == nil {
			err = gone
		}
	}
	return had, err
}

// Known reports whether anything is noted about a queue at a path; the queue need not
// exist.
func Known(dir, queue string) bool {
	paths, _ := names(queue)
	for _, path := range paths {
		if info, err := os.Lstat(filepath.Join(dir, fileOf(path))); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// elsewhere reports whether a queue has the name of a server, and no path.
func elsewhere(queue string) bool { return strings.Contains(queue, "://") }

// names returns the absolute path of a queue and, if it differs, the path that this
// resolves to. The name of a server stands for itself.
func names(queue string) ([]string, error) {
	if elsewhere(queue) {
		return []string{queue}, nil
	}
	path, err := filepath.Abs(queue)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if path == real {
		return []string{real}, err
	}
	return []string{path, real}, err
}

// own creates the directory, and fails if others may write to it.
func own(dir string) error {
	if dir == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME names a directory")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return safefile.Own(dir)
}

// open opens the file for reading, and for writing if that is possible.
func (p *place) open(name string) (err error) {
	const flags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	p.f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|flags, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		p.readOnly = err
		p.f, err = os.OpenFile(name, os.O_RDONLY|flags, 0)
	}
	return err
}

// adopt takes over what is noted about the queue at other paths.
func (r *Record) adopt(dir, first string, find func(Mark) (Mark, error)) error {
	list, err := others(dir, first)
	if err != nil || len(list) == 0 {
		return err
	}
	var last Mark
	for _, o := range list {
		at, err := find(o.mark)
		if err != nil {
			return err
		}
		if at.Head == "" {
			r.lacks = append(r.lacks, o.mark)
		} else if at.after(&last) {
			last = at
		}
	}
	last.First = first
	if r.lacks != nil || r.places[len(r.places)-1].note(last) != nil { // an older copy, or nothing can be noted
		return nil
	}
	for _, o := range list {
		if o.queue == "" || elsewhere(o.queue) {
			continue
		}
		if _, err := os.Stat(filepath.Join(o.queue, "format")); errors.Is(err, fs.ErrNotExist) {
			os.Remove(o.name) // the queue was moved: a later one at that path is another queue
		}
	}
	return nil
}

// other is what is noted about a queue at another path.
type other struct {
	name, queue string
	mark        Mark
}

// others finds what is noted about a queue at any path, by its first line. A file that
// can't be read is passed over: it says nothing about this queue.
func others(dir, first string) (list []other, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if m, queue, err := read(f); err == nil && m != nil && m.First == first {
			list = append(list, other{name, queue, *m})
		}
		f.Close()
	}
	return list, nil
}

// Marks returns the lines that the queue must have. A queue that this account has not
// seen before needs none.
func (r *Record) Marks() (list []Mark, err error) {
	for i, p := range r.places {
		m, real, err := read(p.f)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", p.f.Name(), err)
		case i < len(r.places)-1 && real == p.path:
			// The link leads where it led before, and the real path's mark is newer.
		case m != nil:
			list = append(list, *m)
		case i == len(r.places)-1:
			list = append(list, r.lacks...)
		}
	}
	return list, nil
}

// read returns what a file holds. The mark is nil if the file is empty or consists of
// zeros, which a power cut can leave in a new file. The path follows the mark; nothing is
// decided by it.
func read(f *os.File) (m *Mark, queue string, err error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, sector+8<<10))
	if err != nil || len(bytes.Trim(b, "\x00")) == 0 {
		return nil, "", err
	}
	if len(b) < sector {
		return nil, "", errGarbage
	}
	if m, err = decode(b[:sector]); err != nil {
		return nil, "", fmt.Errorf("%w: %w", errGarbage, err)
	}
	line, _, _ := bytes.Cut(b[sector:], []byte("\n"))
	if queue, err = strconv.Unquote(string(line)); err != nil {
		queue = ""
	}
	return m, queue, nil
}

// Note writes down a line that is committed and durable. It replaces the mark that was
// noted before.
func (r *Record) Note(m Mark) (err error) {
	for _, p := range r.places {
		err = errors.Join(err, p.note(m))
	}
	return err
}

func (p *place) note(m Mark) error {
	if p.readOnly != nil {
		return p.readOnly
	}
	b := append(m.encode(), strconv.Quote(p.path)...)
	_, err := p.f.WriteAt(append(b, '\n'), 0)
	return err
}

// Writable returns nil if lines can be noted.
func (r *Record) Writable() (err error) {
	for _, p := range r.places {
		err = errors.Join(err, p.readOnly)
	}
	return err
}

// Close closes the files.
func (r *Record) Close() {
	for _, p := range r.places {
		p.f.Close()
	}
}
