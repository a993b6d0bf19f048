package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"pulse/lib/shared/safefile/fusetest"
)

func TestMountedBy(t *testing.T) {
	const table = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw,user_id=7\n" +
		"40 22 0:35 / /home/a rw,nosuid,nodev - fuse.sshfs a: rw,user_id=1000,group_id=1000,allow_other\n" +
		"41 22 0:36 / /srv rw - virtiofs srv rw\n" +
		"42 22 0:37 / /x rw - fuse x rw,user_id=x\n43 22\n"
	for id, want := range map[uint64]int{22: 7, 40: 1000, 41: 0, 42: -1, 43: -1, 4: -1, 0: -1} {
		uid, ok := mountedBy(table, id)
		if ok != (want >= 0) || ok && int(uid) != want {
			t.Errorf("%d: %d, %v, want %d", id, uid, ok, want)
		}
	}
}

// TestFUSE: a file system that claims every file for root is believed only if the user
// that mounted it is trusted anyway: root, this user or an owner.
func TestFUSE(t *testing.T) {
	const a, b = 54321, 54322
	for _, c := range []struct {
		by     uint32
		owners []uint32
		want   error
	}{
		{a, nil, ErrFUSE}, {a, []uint32{b}, ErrFUSE}, {a, []uint32{b, a}, nil}, {0, nil, nil},
	} {
		dir := t.TempDir()
		at := filepath.Join(dir, "a")
		if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(at, 0o755)); err != nil {
			t.Fatal(err)
		}
		fusetest.Mount(t, at, c.by, map[string]fusetest.File{
			"": {Mode: syscall.S_IFDIR | 0o755}, "file": {Mode: syscall.S_IFREG | 0o644, Data: "text"},
		})
		file := filepath.Join(at, "file")
		if err := Guarded(file, c.owners...); !errors.Is(err, c.want) {
			t.Errorf("by %d for %v: guarded: %v", c.by, c.owners, err)
		}
		if err := Directory(at, c.owners...); !errors.Is(err, c.want) {
			t.Errorf("by %d for %v: directory: %v", c.by, c.owners, err)
		}
		if err := Guarded(filepath.Join(at, "none"), c.owners...); c.want != nil && !errors.Is(err, c.want) || err == nil {
			t.Errorf("by %d for %v: nothing there: %v", c.by, c.owners, err)
		}
		text, err := Read(file, 10)
		if len(c.owners) == 0 && (!errors.Is(err, c.want) || (err == nil) != (string(text) == "text")) {
			t.Errorf("by %d: read: %q, %v", c.by, text, err)
		}
		info, err := os.Stat(file)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 || info.Mode() != fs.FileMode(0o644) {
			t.Errorf("the mount does not claim the file for root: %v, %v", info, err)
		}
	}
}
