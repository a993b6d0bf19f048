package access

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/safefile"
	"pulse/lib/shared/safefile/fusetest"
)

// person is an account that wrote nothing of what a mount shows as its own.
const person = 54321

// TestHeldByMount: what another mount, or a FUSE file system, shows as a person's file does
// not count as that person's yes.
func TestHeldByMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a yes in what another mount shows was not tried")
	}
	for what, c := range map[string]struct {
		mount func(t *testing.T, q, beside string)
		held  bool  // the file of the approval is that person's
		want  error // of Ground
	}{
		"none": {func(t *testing.T, q, beside string) {
			ofPerson(t, filepath.Join(q, "approvals/x"))
		}, true, nil},
		"tmpfs over approvals": {func(t *testing.T, q, beside string) {
			mounted(t, "tmpfs", filepath.Join(q, "approvals"), "tmpfs", 0)
			ofPerson(t, filepath.Join(q, "approvals/x"))
		}, false, errMount},
		"a directory over approvals": {func(t *testing.T, q, beside string) {
			ofPerson(t, filepath.Join(beside, "x"))
			mounted(t, beside, filepath.Join(q, "approvals"), "", syscall.MS_BIND)
		}, false, errMount},
		"a file over the approval": {func(t *testing.T, q, beside string) {
			ofPerson(t, filepath.Join(beside, "x"))
			ofPerson(t, filepath.Join(q, "approvals/x"))
			mounted(t, filepath.Join(beside, "x"), filepath.Join(q, "approvals/x"), "", syscall.MS_BIND)
		}, false, nil},
		"a directory over grants": {func(t *testing.T, q, beside string) {
			ofPerson(t, filepath.Join(q, "approvals/x"))
			mounted(t, beside, filepath.Join(q, "grants"), "", syscall.MS_BIND)
		}, true, errMount},
		"FUSE over approvals": {func(t *testing.T, q, beside string) {
			fusetest.Mount(t, filepath.Join(q, "approvals"), 0, map[string]fusetest.File{
				"":  {Mode: syscall.S_IFDIR | syscall.S_ISGID | 0o770, GID: uint32(os.Getegid())},
				"x": {Mode: syscall.S_IFREG | 0o640, UID: person, GID: uint32(os.Getegid()), Data: "yes"},
			})
		}, false, errMount},
	} {
		t.Run(what, func(t *testing.T) {
			q, beside := made(t, mine()).path, t.TempDir()
			c.mount(t, q, beside)
			d := opened(t, q)
			want := 0
			if c.held {
				want = person
			}
			b, holder, err := d.disk.ReadOwned("approvals/x")
			if err != nil || string(b) != "yes" || holder != want {
				t.Errorf("%q of %d, %v, want %d", b, holder, err, want)
			}
			if err := errors.Join(d.Ground(), Ground(q)); !errors.Is(err, c.want) {
				t.Errorf("Ground: %v, want %v", err, c.want)
			}
		})
	}
}

// TestQueueOnFUSE: all owners in it are what the account that mounted it says.
func TestQueueOnFUSE(t *testing.T) {
	dir := t.TempDir()
	fusetest.Mount(t, dir, 0, map[string]fusetest.File{
		"": {Mode: syscall.S_IFDIR | 0o2770, GID: uint32(os.Getegid())}, "x": {Mode: syscall.S_IFREG | 0o640, UID: person, GID: uint32(os.Getegid()), Data: "yes"},
	})
	if err := Ground(dir); !errors.Is(err, safefile.ErrFUSE) {
		t.Error(err)
	}
	d := opened(t, dir)
	if b, holder, err := d.disk.ReadOwned("x"); !d.Shared() || err != nil || string(b) != "yes" || holder != 0 {
		t.Errorf("%q of %d, %v", b, holder, err)
	}
}

// TestNetworkQueue: a queue lies on a file system that may be a network one only if it says
// so.
func TestNetworkQueue(t *testing.T) {
	files := map[string]fusetest.File{"": {Mode: syscall.S_IFDIR | 0o700}}
	for _, allowed := range []bool{false, true} {
		if allowed {
			files[layout.Network] = fusetest.File{Mode: syscall.S_IFREG | 0o600}
		}
		dir := t.TempDir()
		fusetest.Mount(t, dir, 0, files)
		if err := opened(t, dir).Trust(); (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "lies on fuse") {
			t.Errorf("allowed: %v, %v", allowed, err)
		}
	}
}

// TestGroupsByMount: a file of another mount doesn't say who approves.
func TestGroupsByMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a list of approvers from another mount was not tried")
	}
	q, beside := made(t, mine()).path, t.TempDir()
	other := mine()
	other.Workers = Group{"others", os.Getegid() + 1}
	marker := filepath.Join(beside, groupsFile)
	if err := os.WriteFile(marker, other.append(nil), 0o640); err != nil {
		t.Fatal(err)
	}
	mounted(t, marker, filepath.Join(q, groupsFile), "", syscall.MS_BIND)
	if g, err := opened(t, q).Groups(); !errors.Is(err, errMount) {
		t.Errorf("%v, %v", g, err)
	}
	if err := Trust(q); !errors.Is(err, errMount) {
		t.Error(err)
	}
}

// ofPerson makes a file as the one in which a person said yes.
func ofPerson(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte("yes"), 0o600), os.Chown(path, person, os.Getegid()), os.Chmod(path, 0o640)); err != nil {
		t.Fatal(err)
	}
}

func mounted(t *testing.T, what, at, kind string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount(what, at, kind, flags, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
