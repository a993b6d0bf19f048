package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// section is what a patch of Codex CLI does to one file.
type section struct {
	path  string
	kind  string // one of the heads
	lines []string
}

// The heads of sections. A file that is moved is not carried out: two files change at once.
const (
	add    = "Add File"
	update = "Update File"
	remove = "Delete File"
)

// readPatch reads a patch, whose files are exactly the paths, or end as they do: the paths are
// from the working directory, which the patch does not name.
func (w *wish) readPatch(text string) error {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[0] != "*** Begin Patch" || lines[len(lines)-1] != "*** End Patch" {
		return fmt.Errorf("%w: it is no patch", ErrUnknown)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if kind, path, ok := headOf(line); ok {
			w.patch = append(w.patch, section{path: path, kind: kind})
		} else if n := len(w.patch); n > 0 {
			w.patch[n-1].lines = append(w.patch[n-1].lines, line)
		} else {
			return fmt.Errorf("%w: a patch begins with a file", ErrUnknown)
		}
	}
	ends := func(path string, s section) bool { return path == s.path || strings.HasSuffix(path, "/"+s.path) }
	if len(w.patch) == 0 || !slices.EqualFunc(w.paths, w.patch, ends) {
		return fmt.Errorf("%w: the patch has other files than its paths", ErrUnknown)
	}
	return nil
}

func headOf(line string) (kind, path string, ok bool) {
	for _, kind := range []string{add, update, remove} {
		if path, ok := strings.CutPrefix(line, "*** "+kind+": "); ok && path != "" {
			return kind, path, true
		}
	}
	return "", "", false
}

func (s *section) apply(was File) (File, error) {
	switch {
	case s.kind == add && !was.Absent:
		return was, fmt.Errorf("%w: the file is there already", ErrUnknown)
	case s.kind != add && was.Absent:
		return was, fmt.Errorf("%w: there is no such file", ErrUnknown)
	case s.kind == remove && len(s.lines) == 0:
		return File{Absent: true}, nil
	case s.kind == remove:
		return was, fmt.Errorf("%w: a file that is removed has no lines", ErrUnknown)
	case s.kind == add:
		return s.added()
	}
	return s.updated(was)
}

func (s *section) added() (f File, err error) {
	for _, line := range s.lines {
		text, ok := strings.CutPrefix(line, "+")
		if !ok {
			return f, fmt.Errorf("%w: a line of a new file begins with +", ErrUnknown)
		}
		f.Data = append(append(f.Data, text...), '\n')
	}
	return f, nil
}

// updated replaces what each hunk shows. The lines of a hunk stand in the file once, after those
// of the hunk before.
func (s *section) updated(was File) (f File, err error) {
	hunks, err := s.hunks()
	if err != nil {
		return was, err
	}
	rest := was.Data
	for _, h := range hunks {
		first, ok := atLine(was.Data, h.old, 0)
		_, again := atLine(was.Data, h.old, first+1)
		at := first - (len(was.Data) - len(rest))
		if h.old == "" || !ok || again || at < 0 {
			return was, fmt.Errorf("%w: the lines of a hunk are not once in the file", ErrUnknown)
		}
		f.Data = append(append(f.Data, rest[:at]...), h.now...)
		rest = rest[at+len(h.old):]
	}
	f.Data = append(f.Data, rest...)
	return f, nil
}

// atLine finds lines in a text, at the beginning of a line and not before from.
func atLine(text []byte, lines string, from int) (at int, ok bool) {
	for from <= len(text) {
		i := bytes.Index(text[from:], []byte(lines))
		if i < 0 {
			break
		}
		if at = from + i; at == 0 || text[at-1] == '\n' {
			return at, true
		}
		from = at + 1
	}
	return -1, false
}

// hunks returns what the hunks of a section replace. What stands after @@ is a hint where to look,
// and these lines stand in the file once, so it is not read.
func (s *section) hunks() (list []one, err error) {
	for i, line := range s.lines {
		switch {
		case line == "@@" || strings.HasPrefix(line, "@@ "):
			list = append(list, one{})
			continue
		case line == "*** End of File" && i == len(s.lines)-1:
			continue
		case len(list) == 0:
			list = append(list, one{})
		}
		h := &list[len(list)-1]
		switch {
		case line == "":
			h.old, h.now = h.old+"\n", h.now+"\n"
		case line[0] == ' ':
			h.old, h.now = h.old+line[1:]+"\n", h.now+line[1:]+"\n"
		case line[0] == '-':
			h.old += line[1:] + "\n"
		case line[0] == '+':
			h.now += line[1:] + "\n"
		default:
			return nil, fmt.Errorf("%w: a line of a hunk begins with a blank, - or +", ErrUnknown)
		}
	}
	return list, nil
}
