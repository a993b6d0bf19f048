// Package edit says what a write, an edit or a patch makes of files: the requests of fs.write and
// fs.edit, as package hook makes them of what the clients of agents want.
//
// Invariant: it changes exactly what the request shows, or nothing. Text that is to be replaced
// stands in the file, once unless the request says all; where a client would guess, this fails.
// Caveat: it works on bytes that were read. The caller has to write them to the file that was
// read, which Change.Was identifies.
package edit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"pulse/lib/shared/record"
)

// Absent is the digest of a file that is not there.
const Absent = "absent"

// MaxFile bounds a file before and after a change, in bytes.
const MaxFile = 16 << 20

// File is a file as it was read.
type File struct {
	Data   []byte
	Absent bool
	Place  string // tells it from every other file, however a path spells it; empty: not known
}

// Digest returns "sha256:" and the digest of the content, or Absent.
func (f *File) Digest() string {
	if f.Absent {
		return Absent
	}
	sum := sha256.Sum256(f.Data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Change is what becomes of one file.
type Change struct {
	Path         string // as the request has it
	Was, Becomes File
}

// The members of args that say which files were judged, and what they are to become. pulse writes
// them, and takes out what a worker wrote there.
const (
	Was     = "was"
	Becomes = "becomes"
)

// ErrChanged means that a file is no longer the one that was judged.
var ErrChanged = errors.New("it is no longer the file that was judged")

// ErrUnknown means that nothing here can carry out the request.
var ErrUnknown = errors.New("edit: this change can not be carried out")

// Of returns what a request changes, in the order of its paths. read reads a file.
func Of(args record.Value, read func(path string) (File, error)) ([]Change, error) {
	w, err := readWish(args)
	if err != nil {
		return nil, err
	}
	var list []Change
	met := places{}
	for _, p := range w.paths {
		was, err := read(p)
		if err == nil {
			err = met.add(p, &was)
		}
		if err != nil {
			return nil, err
		}
		c := Change{Path: p, Was: was}
		if c.Becomes, err = w.apply(len(list), was); err != nil {
			return nil, fmt.Errorf("%q: %w", p, err)
		}
		if len(c.Becomes.Data) > MaxFile {
			return nil, fmt.Errorf("%w: %q would have more than %d bytes", ErrUnknown, p, MaxFile)
		}
		list = append(list, c)
	}
	return list, nil
}

// places are those of the files of a request.
type places map[string]bool

// add fails if a path leads to one of them.
func (m places) add(path string, f *File) error {
	at := cmp.Or(f.Place, path)
	if m[at] {
		return fmt.Errorf("%w: it has %q twice", ErrUnknown, path)
	}
	m[at] = true
	return nil
}

// wish is a request that was read.
type wish struct {
	paths []string
	many  bool // path is an array
	text  *string
	old   *string
	now   *string
	all   bool
	edits []one
	patch []section
}

// one is a replacement.
type one struct {
	old, now string
	all      bool
}

func readWish(args record.Value) (w wish, err error) {
	if args == "" || args[0] != '{' {
		return w, ErrUnknown
	}
	kinds, patch := 0, ""
	err = args.Each(func(name string, v record.Value) error {
		switch name {
		case "path":
			if w.many = v[0] == '['; w.many {
				return v.Into(&w.paths)
			}
			w.paths = make([]string, 1)
			return v.Into(&w.paths[0])
		case "text":
			w.text, kinds = new(string), kinds+1
			return v.Into(w.text)
		case "old":
			w.old, kinds = new(string), kinds+1
			return v.Into(w.old)
		case "new":
			w.now = new(string)
			return v.Into(w.now)
		case "all":
			return v.Into(&w.all)
		case "edits":
			kinds++
			return v.Elements(func(_ int, v record.Value) error { return w.edit(v) })
		case "patch":
			kinds++
			return v.Into(&patch)
		case Was, Becomes:
			return nil
		}
		return fmt.Errorf("%w: it has the argument %q", ErrUnknown, name)
	})
	if err == nil && (kinds != 1 || len(w.paths) == 0 || (w.old == nil) != (w.now == nil) || w.all && w.old == nil) {
		err = fmt.Errorf("%w: it is not one of a text, a replacement, a list of them, and a patch", ErrUnknown)
	}
	if err == nil && w.text == nil && w.old == nil && w.edits == nil {
		err = w.readPatch(patch)
	} else if err == nil && len(w.paths) != 1 {
		err = fmt.Errorf("%w: it names several files", ErrUnknown)
	}
	return w, err
}

// edit reads one of several replacements, as Claude Code writes them.
func (w *wish) edit(v record.Value) error {
	var o one
	seen := 0
	text := func(to *string) func(record.Value) error {
		return func(v record.Value) error { seen++; return v.Into(to) }
	}
	other := fmt.Errorf("%w: an edit has another member", ErrUnknown)
	err := v.Each(record.Only(other, "old_string", text(&o.old), "new_string", text(&o.now), "replace_all", &o.all))
	if err == nil && seen != 2 {
		err = fmt.Errorf("%w: an edit does not say what becomes what", ErrUnknown)
	}
	w.edits = append(w.edits, o)
	return err
}

// apply returns what becomes of the file of the nth path.
func (w *wish) apply(n int, was File) (File, error) {
	switch {
	case w.text != nil:
		return File{Data: []byte(*w.text)}, nil
	case w.patch != nil:
		return w.patch[n].apply(was)
	case w.old != nil:
		return one{*w.old, *w.now, w.all}.apply(was)
	}
	for _, e := range w.edits {
		var err error
		if was, err = e.apply(was); err != nil {
			return was, err
		}
	}
	return was, nil
}

func (o one) apply(was File) (File, error) {
	if o.old == "" {
		if len(was.Data) > 0 {
			return was, fmt.Errorf("%w: it says nothing that is to be replaced, and the file is not empty", ErrUnknown)
		}
		return File{Data: []byte(o.now)}, nil
	}
	switch n := bytes.Count(was.Data, []byte(o.old)); {
	case was.Absent:
		return was, fmt.Errorf("%w: there is no such file", ErrUnknown)
	case n == 0:
		return was, fmt.Errorf("%w: what is to be replaced is not in the file", ErrUnknown)
	case n > 1 && !o.all:
		return was, fmt.Errorf("%w: what is to be replaced is %d times in the file", ErrUnknown, n)
	case len(was.Data)+n*(len(o.now)-len(o.old)) > MaxFile:
		return was, fmt.Errorf("%w: it would have more than %d bytes", ErrUnknown, MaxFile)
	}
	return File{Data: bytes.ReplaceAll(was.Data, []byte(o.old), []byte(o.now))}, nil
}
