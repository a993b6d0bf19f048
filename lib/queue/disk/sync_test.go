package disk

import (
	"errors"
	"fmt"
	"os"
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
	if err := d.SyncFile("tmp/x"); !errors.Is(err, ErrOdd) {
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
