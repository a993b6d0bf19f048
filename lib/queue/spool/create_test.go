package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"pulse/lib/queue/access"
	"pulse/lib/shared/safefile"
)

// TestUmaskIsNoMatter: the members of a queue's group may write what is made in it.
func TestUmaskIsNoMatter(t *testing.T) {
	defer unix.Umask(unix.Umask(0o077))
	dir := filepath.Join(t.TempDir(), "q")
	if err := Create(dir, Options{Groups: access.Groups{Approvers: access.Group{Name: "mine", ID: os.Getegid()}}}); err != nil {
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
		if err != nil || fmt.Sprintf("%04o", info.Mode().Perm()) != want {
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

// TestAnswersAreGround: package access looks at the directories in which the owner of a
// file is the person who answered, and at no others.
func TestAnswersAreGround(t *testing.T) {
	for _, name := range directories() {
		s := made(t)
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			t.Fatal(err)
		}
		if err := access.Ground(s.dir); (err != nil) != slices.Contains([]string{approvalDir, grantDir}, name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
