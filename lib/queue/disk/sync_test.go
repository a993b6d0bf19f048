package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSyncedAsWritten: what is synced is the file that was written, whatever has its name
// by then.
func TestSyncedAsWritten(t *testing.T) {
	d := opened(t)
	if err := d.Write("tmp/x", []byte("x"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(d.path+"/tmp/x"), unix.Mkfifo(d.path+"/tmp/x", 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := d.SyncFile("tmp/x"); err != nil {
		t.Error(err)
	}
	if err := d.SyncFile("tmp/x"); !errors.Is(err, errOdd) {
		t.Errorf("it is synced, and no other is opened: %v", err)
	}
	for i := range 3 * maxUnsynced {
		if err := d.WriteAt(fmt.Sprintf("tmp/%d", i), 0, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.unsynced) > maxUnsynced {
		t.Errorf("%d descriptors are open", len(d.unsynced))
	}
	for i := range 3 * maxUnsynced {
		if err := d.SyncFile(fmt.Sprintf("tmp/%d", i)); err != nil {
			t.Error(err)
		}
	}
}

// TestSyncFails: of what is synced at the same time, any one that fails is named, and the
// others were synced as well.
func TestSyncFails(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		for bad := range 3 {
			d := opened(t)
			names := []string{"tmp/0", "tmp/1", "tmp/2"}
			for _, name := range names {
				if err := d.Write(name, []byte("x"), time.Time{}); err != nil {
					t.Fatal(err)
				}
			}
			pipe := make([]int, 2)
			if err := unix.Pipe2(pipe, unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			unix.Close(pipe[1])
			d.drop(names[bad])
			d.unsynced[names[bad]] = pipe[0] // the kernel syncs no pipe
			var failed *fs.PathError
			err := d.Sync(names, []string{"tmp"})
			if !errors.As(err, &failed) || failed.Path != names[bad] || !errors.Is(err, unix.EINVAL) {
				t.Errorf("%d of %d processors: %v", bad, processors, err)
			}
			if len(d.unsynced) > 0 {
				t.Errorf("kept: %v", d.unsynced)
			}
			if err := d.SyncDir("", "tmp"); err != nil {
				t.Error(err)
			}
		}
	}
}
