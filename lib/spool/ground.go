package spool

import (
	"errors"

	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/safefile"
)

// errMount is the error of what lies on another mount than the queue.
var errMount = errors.New("it lies on another mount than the queue: whose its files are is the word of whoever made that")

// Ground returns nil if the owner of a file in approvals and grants is who wrote it, by
// the kernel's word: the queue is on no FUSE file system, and they are on its mount.
func (s *Spool) Ground() error {
	d, ok := s.disk.(*osDisk)
	if !ok {
		return nil
	}
	return d.ground(s.dir)
}

// Ground is Spool.Ground of the queue in a directory.
func Ground(dir string) error {
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.close()
	return d.ground(dir)
}

func (d *osDisk) ground(path string) error {
	for _, dir := range []string{"", approvalDir, grantDir} {
		fd, err := d.dir(dir)
		if err != nil {
			return err
		}
		if err := d.onGround(fd); err != nil {
			return fault.Usagef("findmnt -T "+escape.Shell(path+"/"+dir), "%s: %w", path+"/"+dir, err)
		}
	}
	return nil
}

// onGround returns nil if an open file lies on the mount of the queue, and that is no
// FUSE file system.
func (d *osDisk) onGround(fd int) error {
	queue, err := safefile.MountOf(d.dirs[""])
	if err != nil {
		return err
	}
	on, err := safefile.MountOf(fd)
	switch {
	case err != nil:
		return err
	case queue.FUSE:
		return safefile.ErrFUSE
	case !on.Same(queue):
		return errMount
	}
	return nil
}
