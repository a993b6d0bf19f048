package access

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	for magic, refused := range map[int64]bool{0x6969: true, 0xff534d42: true, 0x65735546: true, 0xef53: false, 0x01021994: false, 0x58465342: false} {
		err := refuseType("/queue", magic)
		if (err != nil) != refused || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%#x: %v", magic, err)
		}
	}
}

func TestVolatileMounts(t *testing.T) {
	const mounts = "21 26 0:20 / /proc rw - proc proc rw\n" +
		"300 26 0:77 / /q rw,relatime shared:1 - overlay overlay rw,lowerdir=/l,upperdir=/volatile,workdir=/w\n" +
		"30 26 0:78 / /v rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w,volatile\n" +
		"31 26 0:79 / /v rw,relatime - overlay overlay rw,fsync=volatile,lowerdir=/l\n"
	for id, want := range map[uint64]bool{21: false, 300: false, 30: true, 31: true, 3: false} {
		if got := volatileMount(mounts, id); got != want {
			t.Errorf("%d: %v", id, got)
		}
	}
}

// TestDurable: what a reboot takes is said, on the real file systems.
func TestDurable(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount: a queue in memory and on an overlay was not tried")
	}
	dir := t.TempDir()
	for _, sub := range []string{"l", "u", "w", "tmpfs", "volatile", "kept"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	layers := fmt.Sprintf("lowerdir=%s/l,upperdir=%[1]s/u,workdir=%[1]s/w", dir)
	for _, c := range []struct{ name, kind, data, want string }{
		{"tmpfs", "tmpfs", "", "lies on tmpfs"}, {"kept", "overlay", layers, ""}, {"volatile", "overlay", layers + ",volatile", "volatile"},
	} {
		at := filepath.Join(dir, c.name)
		if err := unix.Mount(c.kind, at, c.kind, 0, c.data); errors.Is(err, unix.EPERM) {
			t.Skip("root may not mount here, as in a container without CAP_SYS_ADMIN: file systems that lose what was synced were not tried: ", err)
		} else if err != nil {
			t.Fatalf("mount -t %s -o %s: %v", c.kind, c.data, err)
		}
		got := ""
		if err := Durable(at); err != nil {
			got = err.Error()
		}
		if err := unix.Unmount(at, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
		if (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
