package monthkit

import (
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// volume makes a small file system for the queue. Without root there is none, and the disk is
// never full.
func (w *world) volume() string {
	if os.Geteuid() != 0 {
		return w.dir
	}
	image, dir := w.dir+"/image", w.dir+"/disk"
	out, err := exec.Command("bash", "-euc", `PATH=$PATH:/usr/sbin:/sbin
truncate -s 512M "$0"; mkfs.ext4 -q "$0"; mkdir "$1"; mount -o loop "$0" "$1"; chmod 755 "$1"`, image, dir).CombinedOutput()
	if err != nil {
		w.t.Skipf("NOT TRIED: a month, because no file system can be mounted here: %v: %s", err, out)
	}
	w.t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			w.t.Error(err)
		}
	})
	return dir
}

// fill leaves nothing of the disk.
func (w *world) fill() {
	out, err := exec.Command("bash", "-c", `cat /dev/zero >"$0/ballast"`, w.disk).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "No space left") {
		w.t.Fatalf("the disk does not get full: %v: %s", err, out)
	}
}

// empty gives the disk back.
func (w *world) empty() {
	if err := os.Remove(w.disk + "/ballast"); err != nil {
		w.t.Fatal(err)
	}
}
