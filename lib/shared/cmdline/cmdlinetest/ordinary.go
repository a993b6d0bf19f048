package cmdlinetest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ordinary is the account, and the group, under which a root's test starts what is not for root.
const ordinary = 65534

// Ordinary makes a command one of an ordinary account, and returns it: where the test is root's,
// of nobody.
func Ordinary(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	return cmd
}

// OrdinaryDir returns a temporary directory that belongs to the account of Ordinary.
func OrdinaryDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	Own(t, dir)
	return dir
}

// Own gives a directory with all that is in it to the account of Ordinary.
func Own(t *testing.T, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, ordinary, ordinary))
	})
	if err != nil {
		t.Fatal(err)
	}
}
