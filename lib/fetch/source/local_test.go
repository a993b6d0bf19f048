package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/fetch/message"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/fault"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// collect returns the bytes of every message, and the error at the end.
func collect(s Source) (list []string, err error) {
	err = s.Each(context.Background(), func(m *Message) error {
		list = append(list, string(m.Header)+string(m.Body))
		return nil
	})
	return list, err
}

// maildir makes a Maildir with files whose texts are their names, each a minute younger
// than the one before.
func maildir(t *testing.T, files ...string) string {
	dir := t.TempDir()
	for _, sub := range []string{"new", "cur", "tmp"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range files {
		write(t, filepath.Join(dir, f), f)
		when := now.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, f), when, when); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// state returns what reading could change in a directory: names, times, modes.
func state(t *testing.T, dir string) (list []string) {
	if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		list = append(list, fmt.Sprint(path, info.Mode(), info.ModTime(), info.Size()))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMaildir(t *testing.T) {
	dir := maildir(t, "new/3", "cur/1:2,S", "new/2", "cur/9:2,", "new/.hidden", "tmp/x")
	before := state(t, dir)
	for limit, want := range map[int][]string{
		0: {"new/3", "cur/1:2,S", "new/2", "cur/9:2,"},
		2: {"new/2", "cur/9:2,"},
		9: {"new/3", "cur/1:2,S", "new/2", "cur/9:2,"},
	} {
		s, err := OpenMaildir(dir, 100, limit)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := collect(s); err != nil || !slices.Equal(got, want) {
			t.Errorf("limit %d: %q, %v", limit, got, err)
		}
	}
	if after := state(t, dir); !slices.Equal(before, after) {
		t.Errorf("changed:\n%q\n%q", before, after)
	}
}

// TestMaildirInUse: a mail reader may move and remove mail while it is read.
func TestMaildirInUse(t *testing.T) {
	dir := maildir(t, "new/1", "new/2", "new/3", "new/4")
	s, err := OpenMaildir(dir, 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	err = s.Each(context.Background(), func(m *Message) error {
		if len(got) == 0 {
			os.Rename(filepath.Join(dir, "new/2"), filepath.Join(dir, "cur/2:2,S"))
			os.Remove(filepath.Join(dir, "new/3"))
		}
		got = append(got, string(m.Header))
		if m.Source != "maildir:"+dir || m.Received.Before(now) {
			t.Errorf("%+v", m)
		}
		return nil
	})
	if !slices.Equal(got, []string{"new/1", "new/2", "new/4"}) || fault.KindOf(err) != fault.Temporary {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNotThere(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	for name, open := range map[string]func() error{
		"no Maildir":          func() error { _, err := OpenMaildir(dir, 1, 0); return err },
		"no directory":        func() error { _, err := OpenMaildir(filepath.Join(dir, "file"), 1, 0); return err },
		"no mbox":             func() error { _, err := OpenMbox(filepath.Join(dir, "absent"), 1, true); return err },
		"mbox is dir":         func() error { _, err := OpenMbox(dir, 1, true); return err },
		"second is gone":      func() error { _, err := OpenFiles([]string{filepath.Join(dir, "file"), dir + "/x"}, 1); return err },
		"file is a directory": func() error { _, err := OpenFiles([]string{dir}, 1); return err },
	} {
		if err := open(); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBeginnings: a bounded part of a file is kept, however large it is, and its size is
// known.
func TestBeginnings(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		size, window int64
		kept         int64
		partial      bool
	}{
		{0, 0, 0, false},
		{100, 0, 100, false},
		{message.MaxHeader + 2 + 50, 50, message.MaxHeader + 2 + 50, false},
		{message.MaxHeader + 2 + 51, 50, message.MaxHeader + 2 + 50, true},
		{message.MaxMessage + 1, message.MaxMessage + 1, message.MaxHeader + 2, true},
		{1 << 40, 50, message.MaxHeader + 2, true}, // sparse
	} {
		path := filepath.Join(dir, "f")
		write(t, path, "")
		if err := os.Truncate(path, tt.size); err != nil {
			t.Fatal(err)
		}
		s, err := OpenFiles([]string{path}, tt.window)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Each(context.Background(), func(m *Message) error {
			if m.Size != tt.size || int64(len(m.Header)) != tt.kept || m.Partial != tt.partial || m.Source != "file:"+path {
				t.Errorf("%d bytes, window %d: kept %d, size %d, partial %v", tt.size, tt.window, len(m.Header), m.Size, m.Partial)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestStdin(t *testing.T) {
	for _, n := range []int64{1, 1 << 20, message.MaxMessage + 1, message.MaxMessage + 10} {
		s := &Stdin{Reader: io.LimitReader(zeros{}, n), Window: 10}
		if err := s.Each(context.Background(), func(m *Message) error {
			if m.Size != min(n, message.MaxMessage+1) || int64(len(m.Header)) > beginning(10) {
				t.Errorf("%d bytes: size %d, %d kept", n, m.Size, len(m.Header))
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	if _, err := collect(&Stdin{Reader: strings.NewReader("")}); err == nil {
		t.Error("empty input is a message")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestMbox(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
		err      error
	}{
		{"empty", "", nil, nil},
		{"one", "From a Mon Jan  1 00:00:00 2024\nA: b\n\nbody\n\n", []string{"A: b\n\nbody\n"}, nil},
		{"two", "From a\nA: b\n\nbody\n\nFrom b\nC: d\n\n", []string{"A: b\n\nbody\n", "C: d\n"}, nil},
		{"blank lines first", "\n\r\nFrom a\nA: b\n", []string{"A: b\n"}, nil},
		{"CRLF", "From a\r\nA: b\r\n\r\nbody\r\n\r\nFrom b\r\nC: d\r\n", []string{"A: b\r\n\r\nbody\r\n", "C: d\r\n"}, nil},
		{"From in the middle of a paragraph", "From a\nA: b\n\nline\nFrom here\n", []string{"A: b\n\nline\nFrom here\n"}, nil},
		{"quoted", "From a\nA: b\n\n>From x\n>>From y\n>Fromage\n", []string{"A: b\n\nFrom x\n>From y\n>Fromage\n"}, nil},
		{"quoted in the header", "From a\n>From x\nA: b\n\nc\n", []string{">From x\nA: b\n\nc\n"}, nil},
		{"no line end at the end", "From a\nA: b\n\nbody", []string{"A: b\n\nbody"}, nil},
		{"empty message", "From a\nFrom b\nA: b\n", []string{"", "A: b\n"}, nil},
		{"only From", "From a", []string{""}, nil},
		{"a field whose name is From", "From a\nFrom : b\nFrom: c\n\nbody\n\nFrom : d\n", []string{"From : b\nFrom: c\n\nbody\n\nFrom : d\n"}, nil},
		{"the same, quoted", "From a\nA: b\n\n>From : d\n", []string{"A: b\n\nFrom : d\n"}, nil},
		{"no mbox, but a field", "From : b\n\nbody\n", nil, errNotMbox},
		{"not an mbox", "A: b\n\nFrom a\n", nil, errNotMbox},
		{"Fromage", "Fromage\n", nil, errNotMbox},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mbox")
			write(t, path, tt.in)
			s, err := OpenMbox(path, 1000, true)
			if err != nil {
				t.Fatal(err)
			}
			got, err := collect(s)
			if !errors.Is(err, tt.err) || !slices.Equal(got, tt.want) {
				t.Errorf("%q, %v", got, err)
			}
			for _, quoted := range []bool{true, false} {
				s.Quoted = quoted
				s.Each(t.Context(), func(m *Message) error {
					if (m.Defect == envelope.FromMbox) == quoted {
						t.Errorf("quoted %v: defect %q", quoted, m.Defect)
					}
					return nil
				})
			}
		})
	}
}

func TestFromDate(t *testing.T) {
	want := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for line, ok := range map[string]bool{
		"From a@b Tue Jan  2 03:04:05 2024":       true,
		"From - Tue Jan 2 03:04:05 2024":          true,
		"From a b Tue Jan  2 03:04:05 2024":       true,
		"From a@b Tue Jan  2 03:04:05 UTC 2024":   true,
		"From a@b Tue Jan  2 05:04:05 2024 +0200": true,
		"From a@b Tue Jan  2 05:04:05 +0200 2024": true,
		"From a@b 2024-01-02T03:04:05Z":           true,
		"From a@b yesterday":                      false,
		"From":                                    false,
		"From a@b Tue Jan  2 03:04:05 0000":       false,
	} {
		if got := fromDate(line); got.Equal(want) != ok || !ok && !got.IsZero() {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// FuzzMbox: an mbox of any messages gives them back, however they are quoted. Any bytes
// give messages that together are not longer, and are kept only up to the limit.
func FuzzMbox(f *testing.F) {
	f.Add([]byte("A: b\n\nbody\n"), []byte("C: d\n\nFrom x\n>From y\n"))
	f.Add([]byte("From a\n\n\nFrom b\n"), []byte(""))
	f.Add(bytes.Repeat([]byte("x"), 70_000), []byte("\n>"))
	f.Add([]byte("From : x\n\n\nFrom : y\n"), []byte("\n>From : z\nFrom\t: a\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		const limit = 1 << 10
		total := int64(0)
		raw := slices.Concat([]byte("From a\n"), a, b)
		for _, m := range readMbox(t, raw, limit) {
			total += m.Size
			if int64(len(m.Header)) > limit || int64(len(m.Header)) > m.Size || m.Partial != (int64(len(m.Header)) < m.Size) {
				t.Fatalf("%d bytes kept of %d, partial %v", len(m.Header), m.Size, m.Partial)
			}
		}
		if total > int64(len(raw)) {
			t.Fatalf("%d bytes from %d", total, len(raw))
		}
		var box bytes.Buffer
		want := [][]byte{quotable(a), quotable(b)}
		for _, m := range want {
			box.WriteString("From x Mon Jan  1 00:00:00 2024\n")
			body := false
			for _, line := range bytes.SplitAfter(m, []byte("\n")) {
				if body && bytes.HasPrefix(bytes.TrimLeft(line, ">"), []byte("From ")) {
					box.WriteByte('>')
				}
				body = body || len(bytes.TrimRight(line, "\r\n")) == 0
				box.Write(line)
			}
			box.WriteString("\n")
		}
		got := readMbox(t, box.Bytes(), 1<<30)
		if len(got) != 2 || !bytes.Equal(got[0].Header, want[0]) || !bytes.Equal(got[1].Header, want[1]) {
			t.Fatalf("%q\ngives %d messages", box.Bytes(), len(got))
		}
	})
}

// quotable makes bytes into a message that an mbox can hold: no line of its header is a
// From_ line, and it ends with a line end.
func quotable(b []byte) []byte {
	return slices.Concat([]byte("A: b\n\n"), b, []byte("\n"))
}

func readMbox(t *testing.T, raw []byte, limit int64) (list []Message) {
	r := newMboxReader(bytes.NewReader(raw), limit)
	for {
		var m Message
		err := r.next(&m)
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		m.Header = bytes.Clone(m.Header)
		list = append(list, m)
	}
}
