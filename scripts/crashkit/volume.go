package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// volume is a file system in an image, mounted, whose power can be cut.
//
// The image lies on an xfs of its own, where a file can be cloned at one moment
// (FICLONE). A copy made block by block while the file system is in use would mix
// several moments.
type volume struct {
	k      *kit
	fstype string
	how    string // copy: of the image; shutdown: of the file system; below: of the one below it
	dir    string
	image  string
	mnt    string
}

// mkfs are the file systems, the least size that they need in MiB, and the command that
// mends one without a journal after a power cut.
var mkfs = map[string]struct {
	argv []string
	size int64
	kind string // as mount(8) wants it
	fsck []string
}{
	"ext4":                   {[]string{"mkfs.ext4", "-q", "-F"}, 64, "ext4", nil},
	"ext4, encrypted":        {[]string{"mkfs.ext4", "-q", "-F", "-O", "encrypt"}, 64, "ext4", nil},
	"ext4 without a journal": {[]string{"mkfs.ext4", "-q", "-F", "-O", "^has_journal"}, 64, "ext4", []string{"e2fsck", "-f", "-y"}},
	"xfs":                    {[]string{"mkfs.xfs", "-q", "-f"}, 320, "xfs", nil},
	"btrfs":                  {[]string{"mkfs.btrfs", "-q", "-f"}, 256, "btrfs", nil},
}

// mend runs the fsck that a machine runs when it is switched on again.
func mend(image, fstype string) error {
	if mkfs[fstype].fsck == nil {
		return nil
	}
	var exit *exec.ExitError
	err := tool(append(slices.Clone(mkfs[fstype].fsck), image)...)
	if errors.As(err, &exit) && exit.ExitCode() <= 1 { // 1: errors were corrected
		return nil
	}
	return err
}

func format(image, fstype string, mib int64) error {
	f, err := os.Create(image)
	if err == nil {
		err = errors.Join(f.Truncate(mib<<20), f.Close())
	}
	if err != nil {
		return err
	}
	return tool(append(slices.Clone(mkfs[fstype].argv), image)...)
}

func newVolume(k *kit, fstype, how string) (v *volume, err error) {
	v = &volume{k: k, fstype: fstype, how: how, dir: filepath.Join(k.dir, "power")}
	v.mnt = filepath.Join(v.dir, "disk")
	if err := errors.Join(os.RemoveAll(v.dir), os.MkdirAll(v.mnt, 0o700)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			v.remove()
		}
	}()
	base := v.base()
	for _, dir := range []string{base, filepath.Join(v.dir, "cut")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := format(base+".img", "xfs", 2048); err != nil {
		return nil, err
	}
	if err := mount(base, "xfs", base+".img", "loop"); err != nil {
		return nil, err
	}
	v.image = filepath.Join(base, "image")
	if err := format(v.image, fstype, mkfs[fstype].size); err != nil {
		return nil, err
	}
	if err := v.desk("").limits(3); err != nil {
		return nil, err
	}
	return v, v.mount(v.image, v.mnt)
}

func (v *volume) mount(image, mnt string) error {
	options := "loop"
	if v.fstype == "xfs" {
		options += ",nouuid" // a clone has the same
	}
	if err := mount(mnt, mkfs[v.fstype].kind, image, options); err != nil || keyed[v.fstype] == "" {
		return err
	}
	return unlock(filepath.Join(mnt, keyed[v.fstype]))
}

func (v *volume) base() string { return filepath.Join(v.dir, "base") }

// remove unmounts the volume and deletes all its files.
func (v *volume) remove() {
	unmountAll()
	os.RemoveAll(v.dir)
}

// desk returns a queue on the volume. Everything else that it needs lies outside the
// volume.
func (v *volume) desk(name string) *desk {
	d := v.k.at(v.dir, filepath.Join(v.mnt, keyed[v.fstype], name))
	d.notes = filepath.Join(v.dir, name+".starts")
	return d
}

// outage holds what a power cut left.
type outage struct {
	desk *desk
	same bool // the volume itself, which its commands lost
	end  func() error
}

// cut cuts the power and switches it on again. The books are those of the moment before.
func (v *volume) cut(d *desk, b *books) (*outage, *books, error) {
	if v.how != "copy" {
		err := v.shutdown()
		return &outage{d, true, func() error { return nil }}, b, err
	}
	then, b := *d, b.clone()
	then.notes = d.notes + ".cut"
	then.state = filepath.Join(v.dir, "state.cut") // of before: what is noted, the disk has
	err := errors.Join(os.MkdirAll(d.state, 0o700), mirror(d.state, then.state), os.RemoveAll(then.notes))
	if notes, e := os.ReadFile(d.notes); !errors.Is(e, os.ErrNotExist) {
		err = errors.Join(err, e, os.WriteFile(then.notes, notes, 0o600))
	}
	if err != nil {
		return nil, nil, err
	}
	image, mnt := filepath.Join(v.dir, "base", "clone"), filepath.Join(v.dir, "cut")
	// A clone, and never a copy.
	if err := errors.Join(tool("cp", "--reflink=always", v.image, image), mend(image, v.fstype), v.mount(image, mnt)); err != nil {
		return nil, nil, err
	}
	rel, err := filepath.Rel(v.mnt, d.queue)
	then.queue = filepath.Join(mnt, rel)
	return &outage{&then, false, func() error { return errors.Join(unmount(mnt), os.Remove(image)) }}, b, err
}

// goingDown is the ioctl of xfs_io -x -c shutdown, which ext4 knows too; noFlush
// is what a power cut does to the journal in memory.
const (
	goingDown = 0x8004587d
	noFlush   = 2
)

// shutdown shuts the file system down, or the one below it: what the upper one has written and
// not flushed is then lost, in any order, as in the cache of a disk.
func (v *volume) shutdown() error {
	mnt := v.mnt
	if v.how == "below" {
		mnt = v.base()
	}
	fd, err := unix.Open(mnt, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = unix.IoctlSetPointerInt(fd, goingDown, noFlush)
	if unix.Close(fd); err != nil {
		return fmt.Errorf("shutdown of %s: %w", v.fstype, err)
	}
	return nil
}

// again mounts the file system that was shut down, once no process uses it any more.
func (v *volume) again() error {
	if err := unmount(v.mnt); err != nil {
		return err
	}
	if v.how == "below" {
		if err := errors.Join(idle(v.image), unmount(v.base()), mount(v.base(), "xfs", v.base()+".img", "loop")); err != nil {
			return err
		}
	}
	return v.mount(v.image, v.mnt)
}

// idle waits until no loop device uses an image: the kernel gives it back after umount returns.
func idle(image string) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command("losetup", "--associated", image).Output()
		if err != nil || len(out) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s is still in use: %s", image, bytes.TrimSpace(out))
		}
	}
}
