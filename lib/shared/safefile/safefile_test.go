package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name            string
		file, dir       fs.FileMode
		err, secretsErr error
	}{
		{"private", 0o600, 0o700, nil, nil},
		{"others may read", 0o644, 0o755, nil, ErrReadable},
		{"the group may read", 0o640, 0o755, nil, ErrReadable},
		{"the group may write", 0o620, 0o700, ErrWritable, ErrReadable},
		{"all may write", 0o602, 0o700, ErrWritable, ErrReadable},
		{"the group may replace it", 0o600, 0o770, ErrWritable, ErrWritable},
		{"all may replace it", 0o600, 0o777, ErrWritable, ErrWritable},
		{"sticky, as /tmp", 0o600, 0o777 | fs.ModeSticky, nil, nil},
	} {
		dir := filepath.Join(t.TempDir(), "d")
		name := filepath.Join(dir, "f")
		err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(name, []byte("text"), 0o600), os.Chmod(name, c.file), os.Chmod(dir, c.dir))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Read(name, 4); !errors.Is(err, c.err) || c.err == nil && string(b) != "text" {
			t.Errorf("%s: %q, %v", c.name, b, err)
		}
		if b, err := ReadSecret(name, 4); !errors.Is(err, c.secretsErr) || c.secretsErr == nil && string(b) != "text" {
			t.Errorf("%s, a secret: %q, %v", c.name, b, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(path("large"), []byte("12345"), 0o600), os.Mkdir(path("dir"), 0o700), syscall.Mkfifo(path("fifo"), 0o600),
		os.WriteFile(path("open"), nil, 0o600), os.Chmod(path("open"), 0o666), os.Symlink(path("open"), path("link")), os.Symlink("loop", path("loop")))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"large": errTooLarge, "dir": ErrKind, "fifo": ErrKind, "link": ErrWritable, "loop": syscall.ELOOP, "none": fs.ErrNotExist, "large/x": syscall.ENOTDIR,
	} {
		if b, err := Read(path(name), 4); !errors.Is(err, want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := Read("/dev/null", 4); !errors.Is(err, ErrKind) {
		t.Error(err)
	}
	if b, err := Read("/etc/passwd", 1<<20); err != nil || len(b) == 0 {
		t.Errorf("root's file: %v", err)
	}
}

func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away: a file that another account may write was not tried")
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chown(name, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(name, 4); !errors.Is(err, ErrOwner) {
		t.Error(err)
	}
	if err := os.Chown(filepath.Dir(name), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := Directory(filepath.Dir(name)); !errors.Is(err, ErrOwner) {
		t.Error(err)
	}
}
