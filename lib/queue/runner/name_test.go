package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestName: a directory has one id, whoever gives it, and no id that another one has.
func TestName(t *testing.T) {
	d := Dir(t.TempDir())
	if _, err := d.ID(); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			err := d.Name()
			if err == nil {
				ids[i], err = d.ID()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("%q and %q", id, ids[0])
		}
	}
	if left, err := os.ReadDir(string(d)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	other := Dir(t.TempDir())
	if err := other.Name(); err != nil {
		t.Error(err)
	}
	if id, err := other.ID(); err != nil || id == ids[0] {
		t.Errorf("%q, %v", id, err)
	}
	for _, text := range []string{"", "short", ids[0] + "\n"} { // what is no id is not taken for one
		if err := os.WriteFile(filepath.Join(string(d), idFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ID(); err == nil {
			t.Errorf("%q is an id", text)
		}
		if err := d.Name(); err == nil {
			t.Errorf("%q stays", text)
		}
	}
}

// TestFlatNames: the locks of a queue that is a directory lie in it, so that a run there is seen
// whatever the queue is called.
func TestFlatNames(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "q")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	l, err := Dir(real).Take("1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Drop()
	t.Chdir(real)
	for _, name := range []string{link, ".", "../" + filepath.Base(real)} {
		if Dir(name).Dead("1") {
			t.Errorf("%s: it is dead there", name)
		}
	}
}
