package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/fault"
)

// Maildir reads the messages in new and cur of a Maildir. Received is the file's
// modification time, which delivery sets and mail readers keep.
type Maildir struct {
	Dir    string
	Window int64 // bytes of the body that are wanted
	Limit  int   // read only so many, the newest ones; 0 for all
}

// OpenMaildir checks that dir is a Maildir. A slash at its end makes no difference to the
// source of its messages.
func OpenMaildir(dir string, window int64, limit int) (*Maildir, error) {
	if bare := strings.TrimRight(dir, "/"); bare != "" {
		dir = bare
	}
	for _, sub := range []string{"new", "cur"} {
		info, err := os.Stat(filepath.Join(dir, sub))
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s: is not a directory", filepath.Join(dir, sub))
		}
		if err != nil {
			return nil, fault.Usagef("ls "+dir, "not a Maildir: %w", err)
		}
	}
	return &Maildir{dir, window, limit}, nil
}

// mailfile is one file of a Maildir.
type mailfile struct {
	sub, name string
	received  time.Time
}

// Each implements Source. A file that is gone from both directories, or that may not be
// read, does not hold up the others: it is skipped and reported at the end, as a temporary
// error.
func (s *Maildir) Each(ctx context.Context, yield func(*Message) error) error {
	files, err := s.list()
	if err != nil {
		return err
	}
	if s.Limit > 0 && len(files) > s.Limit {
		files = files[len(files)-s.Limit:]
	}
	rd := reader{window: s.Window}
	gone, shut := 0, ""
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := Message{Source: "maildir:" + s.Dir, Received: f.received}
		err := s.read(&rd, f, &m)
		if errors.Is(err, fs.ErrNotExist) {
			gone++
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			shut = cmp.Or(shut, f.sub+"/"+f.name)
			continue
		}
		if err == nil {
			err = yield(&m)
		}
		if err != nil {
			return err
		}
	}
	if shut != "" {
		return fault.Temporaryf("ls -l "+filepath.Join(s.Dir, shut),
			"maildir:%s: no permission to read %s", s.Dir, shut)
	}
	if gone > 0 {
		return fault.Temporaryf("", "maildir:%s: %d messages were removed while others were read", s.Dir, gone)
	}
	return nil
}

// list returns the files of new and cur by time of delivery, then name.
func (s *Maildir) list() ([]mailfile, error) {
	var files []mailfile
	for _, sub := range []string{"new", "cur"} {
		entries, err := os.ReadDir(filepath.Join(s.Dir, sub))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular() {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // moved from new to cur meanwhile, and found there
			}
			if err != nil {
				return nil, err
			}
			files = append(files, mailfile{sub, e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b mailfile) int {
		return cmp.Or(a.received.Compare(b.received), strings.Compare(a.name, b.name))
	})
	return slices.CompactFunc(files, func(a, b mailfile) bool { return unique(a.name) == unique(b.name) }), nil
}

// unique returns the part of a file name that stays the same when flags change.
func unique(name string) string {
	name, _, _ = strings.Cut(name, ":")
	return name
}

// read reads one file, and looks for it under its new name if a mail reader has
// renamed it since it was listed.
func (s *Maildir) read(rd *reader, f mailfile, m *Message) error {
	err := rd.file(filepath.Join(s.Dir, f.sub, f.name), m)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, listErr := os.ReadDir(filepath.Join(s.Dir, "cur"))
	if listErr != nil {
		return listErr
	}
	for _, e := range entries {
		if unique(e.Name()) == unique(f.name) {
			return rd.file(filepath.Join(s.Dir, "cur", e.Name()), m)
		}
	}
	return err
}
