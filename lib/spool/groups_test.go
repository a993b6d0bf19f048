package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pulse/lib/safefile"
)

func TestGroupsRoundTrip(t *testing.T) {
	a, b := Group{"approvers", 1002}, Group{"workers", 1003}
	for _, g := range []Groups{{}, {Approvers: a}, {Workers: b}, {a, b}, {Approvers: Group{"root", 0}}} {
		if got, err := decodeGroups(g.append(nil)); err != nil || got != g {
			t.Errorf("%+v, %v, want %+v", got, err, g)
		}
	}
	for _, bad := range []string{
		``, `[]`, `{"approvers":"a"}`, `{"approvers_gid":7}`, `{"approvers":"a","approvers_gid":-1}`, `{"approvers":"a","approvers_gid":"7"}`,
		`{"approvers":"","approvers_gid":7}`, `{"approvers":"a","approvers_gid":7,"approvers_gid":8}`, `{"approvers":7,"approvers_gid":7}`,
	} {
		if g, err := decodeGroups([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, g)
		}
	}
}

// TestGroupMayWriteOnlyWhereItIsNamed: a marker makes a group one of the queue's, and
// nothing else does.
func TestGroupMayWriteOnlyWhereItIsNamed(t *testing.T) {
	me := Group{"mine", os.Getegid()}
	dir := filepath.Join(t.TempDir(), "q")
	if err := Create(dir, Options{Groups: Groups{Approvers: me}}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	modes, err := s.Modes()
	s.Close()
	if err != nil || len(modes) > 0 || !s.Shared() {
		t.Errorf("as it was made: %v, %v", modes, err)
	}
	marker := filepath.Join(dir, groupsFile)
	good, err := os.ReadFile(marker)
	if err != nil {
		t.Fatal(err)
	}
	other := Groups{Approvers: Group{"other", me.ID + 1}}
	for what, spoil := range map[string]func() error{
		"it is gone":             func() error { return os.Remove(marker) },
		"it names another group": func() error { return os.WriteFile(marker, other.append(nil), 0o640) },
		"its group may write it": func() error { return os.Chmod(marker, 0o660) },
		"it is a link":           func() error { return errors.Join(os.Remove(marker), os.Symlink("format", marker)) },
		"the queue is for all":   func() error { return os.Chmod(dir, 0o777) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if err := Trust(dir); err == nil {
			t.Errorf("%s: the queue is trusted", what)
		}
		os.Remove(marker)
		if err := errors.Join(os.WriteFile(marker, good, 0o640), os.Chmod(marker, 0o640), os.Chmod(dir, 0o770|os.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Trust(dir); err != nil {
		t.Errorf("put right: %v", err)
	}
	if err := Create(dir, Options{Groups: other}); err == nil || !strings.Contains(err.Error(), "made already") {
		t.Errorf("made for another group: %v", err)
	}
}

// TestUmaskIsNoMatter: what is made in a queue of a group is for its members.
func TestUmaskIsNoMatter(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	dir := filepath.Join(t.TempDir(), "q")
	if err := Create(dir, Options{Groups: Groups{Approvers: Group{"mine", os.Getegid()}}}); err != nil {
		t.Fatal(err)
	}
	d, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	err = errors.Join(d.WriteAt("audit/2026-11.jsonl", 0, []byte("x")), writeSynced(d, "meta/x", []byte("x")), d.WriteOwned("tmp/x", []byte("x")),
		d.Rename("tmp/x", "approvals/x"), d.WriteOwned("tmp/y", []byte("x")), os.Link(filepath.Join(dir, "tmp/y"), filepath.Join(dir, "grants/y")))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"audit/2026-11.jsonl": "0660", "meta/x": "0660", "approvals/x": "0640", "lock": "0660", "agenda": "0660"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || octal(info.Mode()) != want {
			t.Errorf("%s: %v, %v, want %s", name, info, err, want)
		}
	}
	for name, want := range map[string]int{"approvals/x": os.Geteuid(), "meta/x": 0, "grants/y": 0} {
		if b, holder, err := d.ReadOwned(name); err != nil || string(b) != "x" || holder != want {
			t.Errorf("%s: %q of %d, %v", name, b, holder, err)
		}
	}
	if _, _, err := d.ReadOwned("approvals/none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := safefile.GuardedGroup(filepath.Join(dir, "meta/x"), uint32(os.Getegid()), uint32(os.Geteuid())); !errors.Is(err, safefile.ErrWritable) {
		t.Errorf("what leads to it may be written: %v", err)
	}
}
