package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pulse/lib/shared/safefile"
)

// as runs fn with the rights of an account that is not root, in a directory of that mode
// and owner.
func as(t *testing.T, dir string, mode fs.FileMode, owner int, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another account: what file modes keep out was not tried")
	}
	const nobody = 65534
	for above := filepath.Dir(dir); above != filepath.Clean(os.TempDir()); above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	names, err := filepath.Glob(dir + "/*")
	for _, name := range names {
		err = errors.Join(err, os.Chown(name, nobody, nobody))
	}
	if err := errors.Join(err, os.Chown(dir, owner, owner), os.Chmod(dir, mode)); err != nil {
		t.Fatal(err)
	}
	restore, err := safefile.As(nobody, nobody)
	if err != nil {
		t.Fatal(err)
	}
	defer restore()
	fn()
}

// TestDirectoryToSearch: a ledger can be added to by its owner, who may not read the
// directory.
func TestDirectoryToSearch(t *testing.T) {
	l := filled(t, 3)
	as(t, filepath.Dir(l.Path), 0o711, 0, func() {
		if err := l.Check(use(nonce, task, now)); err != nil {
			t.Error(err)
		}
		if err := l.Spend(now, use(nonce, task, now)); err != nil {
			t.Error(err)
		}
		if err := l.Spend(now, use(nonce, task, now)); !errors.Is(err, ErrSpent) {
			t.Error(err)
		}
		other := Ledger{filepath.Join(filepath.Dir(l.Path), "other")}
		if err := other.Spend(now, use(nonce, task, now)); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("one that is not there: %v", err)
		}
	})
}

// TestNameNotSynced: where the directory can be written and not synced, what was spent in a
// smaller file is spent in the one that has the name.
func TestNameNotSynced(t *testing.T) {
	l := filled(t, 200)
	small(t, 1000)
	end := now.Add(200*time.Hour + 2*dropAfter)
	late := Use{Nonces: []string{other}, Task: task, Expires: end.Add(time.Hour)}
	as(t, filepath.Dir(l.Path), 0o300, 65534, func() {
		if err := l.Spend(end, late); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("acknowledged: %v", err)
		}
		if err := l.Spend(end, late); !errors.Is(err, ErrSpent) {
			t.Errorf("spent twice: %v", err)
		}
	})
}
