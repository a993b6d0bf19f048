package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestWrittenHasNoOwner: anyone who can write the directory can put a file that one account
// alone could write where that account will write something else. From then on it has no
// owner.
func TestWrittenHasNoOwner(t *testing.T) {
	for what, c := range map[string]struct {
		at    string
		write func(d *Dir, at string) error
	}{
		"the log, written in place": {"logs/a", func(d *Dir, at string) error { return d.WriteAt(at, 0, []byte("x")) }},
		"the log, cut back":         {"logs/a", func(d *Dir, at string) error { return d.Truncate(at, 1) }},
		"made anew":                 {"index", func(d *Dir, at string) error { return d.Write(at, []byte("x"), time.Time{}) }},
		"in tmp":                    {"tmp/applied", func(d *Dir, at string) error { return d.Write(at, []byte("x"), time.Time{}) }},
	} {
		dir := t.TempDir()
		for _, name := range []string{"", "tmp", "logs", "said"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, fs.ModeSetgid|0o770); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Open(dir, options)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		yes := "said/1"
		if err := d.WriteOwned(yes, []byte("yes\n")); err != nil {
			t.Fatal(err)
		}
		ownedMode := mode(t, dir, yes)
		if err := d.Rename(yes, c.at); err != nil {
			t.Fatal(err)
		}
		if err := c.write(d, c.at); err != nil {
			t.Fatal(err)
		}
		if got := mode(t, dir, c.at); ownedMode != options.Owned || got != options.Shared {
			t.Errorf("%s: mode %04o, and %04o once it was written", what, ownedMode, got)
		}
		if _, owner, err := d.ReadOwned(c.at); owner != 0 || err != nil {
			t.Errorf("%s: owned by %d, %v", what, owner, err)
		}
	}
}

func mode(t *testing.T, dir, name string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestLike: a file that takes the place of another one is for the same accounts.
func TestLike(t *testing.T) {
	d := opened(t)
	if err := errors.Join(d.WriteAt("was", 0, nil), d.WriteAt("is", 0, nil), os.Chmod(filepath.Join(d.path, "was"), 0o640)); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 1234, 5678
		if err := os.Chown(filepath.Join(d.path, "was"), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(d.Like("is", "was"), d.SyncFile("is")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(d.path, "is"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); info.Mode() != 0o640 || int(st.Uid) != uid || int(st.Gid) != gid {
		t.Errorf("mode %v of %d:%d", info.Mode(), st.Uid, st.Gid)
	}
}

// TestLikeALink: in a directory of another account root makes nothing root's.
func TestLikeALink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another account: what root makes in the directory of one was not tried")
	}
	path := t.TempDir()
	suid := filepath.Join(path, "was")
	err := errors.Join(os.WriteFile(suid, nil, 0o600), os.Chmod(suid, 0o755|os.ModeSetuid), os.Chown(path, 1234, 5678))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Write("is", nil, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Like("is", "was"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	info, err := os.Stat(filepath.Join(path, "is"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || info.Mode() != 0o600 {
		t.Errorf("mode %v of %d", info.Mode(), st.Uid)
	}
}
