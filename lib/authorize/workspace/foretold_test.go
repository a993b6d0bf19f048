package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWorkspaceBehindForeignLink: a user who may write to a directory above the workspace
// can put a link in its place, which must not be followed.
func TestWorkspaceBehindForeignLink(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"real/ws", "secret"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"alias": "real/ws", "far": filepath.Join(dir, "real"), "loop": "loop", "swapped": "secret"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Open(filepath.Join(dir, "real/ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	me := uint32(os.Geteuid())
	for _, name := range []string{"real/ws", "alias", "far/ws", "far/../real/ws/"} {
		if err := foretold(dir+"/"+name, self, 0, me); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := foretold(dir+"/real/ws", self); err != nil {
		t.Errorf("without a link: %v", err)
	}
	for _, name := range []string{"alias", "far/ws"} {
		if err := foretold(dir+"/"+name, self, me+1); !errors.Is(err, errMoved) {
			t.Errorf("%s, a link of another user: %v, want errMoved", name, err)
		}
	}
	if err := foretold(dir+"/swapped", self, 0, me); !errors.Is(err, errMoved) {
		t.Errorf("another directory: %v, want errMoved", err)
	}
	for _, name := range []string{"loop", "absent"} {
		if err := foretold(dir+"/"+name, self, 0, me); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
