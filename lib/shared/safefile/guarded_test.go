package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestGuarded: no other user may be able to put another file in the place of one,
// anywhere on the way to it.
func TestGuarded(t *testing.T) {
	me := uint32(os.Geteuid())
	for name, c := range map[string]struct {
		change func(at func(string) string) error
		want   error
	}{
		"as it is":              {func(func(string) string) error { return nil }, nil},
		"file for a group":      {func(at func(string) string) error { return os.Chmod(at("b/file"), 0o620) }, ErrWritable},
		"file for all":          {func(at func(string) string) error { return os.Chmod(at("b/file"), 0o602) }, ErrWritable},
		"directory for a group": {func(at func(string) string) error { return os.Chmod(at("b"), 0o770) }, ErrWritable},
		"directory further up":  {func(at func(string) string) error { return os.Chmod(at(""), 0o707) }, ErrWritable},
		"sticky directory":      {func(at func(string) string) error { return os.Chmod(at("b"), 0o777|fs.ModeSticky) }, nil},
		"a link":                {func(at func(string) string) error { return relink(at, at("b/real")) }, nil},
		"a relative link":       {func(at func(string) string) error { return relink(at, ".././b//real") }, nil},
		"a link into the open": {func(at func(string) string) error {
			return errors.Join(os.Mkdir(at("o"), 0o700), os.Chmod(at("o"), 0o777), relink(at, at("o/real")))
		}, ErrWritable},
		"a link to nothing": {func(at func(string) string) error { return os.Rename(at("b/file"), at("b/gone")) }, fs.ErrNotExist},
		"nothing in a sticky one": {func(at func(string) string) error {
			return errors.Join(os.Remove(at("b/file")), os.Chmod(at("b"), 0o777|fs.ModeSticky))
		}, ErrWritable},
		"no directory": {func(at func(string) string) error { return os.RemoveAll(at("b")) }, fs.ErrNotExist},
		"a link to itself": {func(at func(string) string) error {
			return errors.Join(os.Remove(at("b/file")), os.Symlink("file", at("b/file")))
		}, syscall.ELOOP},
		"a directory that is a file": {func(at func(string) string) error {
			return errors.Join(os.RemoveAll(at("b")), os.WriteFile(at("b"), nil, 0o600))
		}, syscall.ENOTDIR},
	} {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		err := errors.Join(os.Chmod(dir, 0o700), os.Mkdir(at("b"), 0o700), os.WriteFile(at("b/file"), nil, 0o600), c.change(at))
		if err != nil {
			t.Fatal(err)
		}
		if err := Guarded(at("b/file"), me); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// relink moves the file to another place, and puts a link in its old one.
func relink(at func(string) string, to string) error {
	real := to
	if !filepath.IsAbs(to) {
		real = filepath.Join(at("b"), to)
	}
	return errors.Join(os.Rename(at("b/file"), real), os.Symlink(to, at("b/file")))
}

// TestGuardedOwners: the owner of each part of the way counts, links included.
func TestGuardedOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away: that the owner of each part of the way counts was not tried")
	}
	const a, b = 54321, 54322
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(at("a"), 0o755), os.Mkdir(at("b"), 0o755), os.WriteFile(at("a/file"), nil, 0o600),
		os.WriteFile(at("b/file"), nil, 0o600), os.Symlink(at("b/file"), at("a/link")),
		os.Chown(at("a"), a, a), os.Chown(at("a/file"), a, a), os.Lchown(at("a/link"), a, a), os.Chown(at("b"), b, b), os.Chown(at("b/file"), b, b))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		owners []uint32
		want   bool
	}{
		{"a/file", nil, false}, {"a/file", []uint32{b}, false}, {"a/file", []uint32{a}, true}, {"a/file", []uint32{b, a}, true},
		{"a/link", []uint32{a}, false}, {"a/link", []uint32{b}, false}, {"a/link", []uint32{a, b}, true},
		{"b/../a/file", []uint32{a}, false}, {"b/../a/file", []uint32{a, b}, true}, {"b/file", []uint32{b}, true},
	} {
		path := dir + "/" + c.name // not cleaned
		if err := Guarded(path, c.owners...); (err == nil) != c.want || err != nil && !errors.Is(err, ErrOwner) {
			t.Errorf("%s, %v: %v", c.name, c.owners, err)
		}
	}
}

// TestAs: root can reach and create only what the account could, and has its own rights
// again afterwards.
func TestAs(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can act for another account: what it can reach then was not tried")
	}
	const a = 54321
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755), os.Mkdir(at("his"), 0o700), os.Chown(at("his"), a, a), os.WriteFile(at("secret"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		restore, err := As(a, a)
		if err != nil {
			t.Fatal(err)
		}
		again, err := As(a, a)
		if err != nil {
			t.Fatal(err)
		}
		again()
		_, secret := os.ReadFile(at("secret"))
		made := os.WriteFile(at("his/made"), nil, 0o600)
		restore()
		info, err := os.Stat(at("his/made"))
		if !errors.Is(secret, fs.ErrPermission) || made != nil || err != nil || info.Sys().(*syscall.Stat_t).Uid != a || info.Sys().(*syscall.Stat_t).Gid != a {
			t.Errorf("secret: %v, made: %v, %v", secret, made, err)
		}
		if _, err := os.ReadFile(at("secret")); err != nil {
			t.Errorf("root lacks its own rights afterwards: %v", err)
		}
	}
}
