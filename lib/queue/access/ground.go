package access

import (
	"errors"
	"os"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// answers lists the directories of a queue in which the owner of a file is the person who
// gave the answer in it.
var answers = []string{"approvals", "grants"}

// errMount reports that something lies on another mount than the queue.
var errMount = errors.New("it lies on another mount than the queue: " +
	"whose its files are is the word of whoever made that")

// Ground returns nil if the kernel vouches that the owner of a file in approvals and grants
// wrote it: the queue does not lie on a FUSE file system, and they are on its mount.
func (d *Dir) Ground() error {
	root, err := d.disk.Fd("")
	if err != nil {
		return err
	}
	for _, dir := range append([]string{""}, answers...) {
		fd, err := d.disk.Fd(dir)
		if err != nil {
			return err
		}
		same, err := safefile.OnGround(root, fd)
		if err == nil && !same {
			err = errMount
		}
		if err != nil {
			return fault.Usagef("findmnt -T "+escape.Shell(d.path+"/"+dir), "%s: %w", d.path+"/"+dir, err)
		}
	}
	return nil
}

// Ground opens the queue in a directory and calls its Ground.
func Ground(dir string) error {
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	return Of(d, dir, nil).Ground()
}

// onMountOf fails if an open file lies on another mount than a directory. An approver
// could mount a file of theirs over one in the directory, so that it is taken for the
// owner's.
func onMountOf(dir string, f *os.File) error {
	in, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	a, err := safefile.MountOf(int(in.Fd()))
	if err != nil {
		return err
	}
	b, err := safefile.MountOf(int(f.Fd()))
	if err == nil && !a.Same(b) {
		err = errMount
	}
	return err
}
