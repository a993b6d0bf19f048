package spool

import (
	"errors"

	"pulse/lib/disk"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/safefile"
)

// errMount is the error of what lies on another mount than the queue.
var errMount = errors.New("it lies on another mount than the queue: whose its files are is the word of whoever made that")

// Ground returns nil if the owner of a file in approvals and grants is who wrote it, by
// the kernel's word: the queue is on no FUSE file system, and they are on its mount.
func (s *Spool) Ground() error {
	d, ok := s.disk.(*disk.Dir)
	if !ok {
		return nil
	}
	return ground(d, s.dir)
}

// Ground is Spool.Ground of the queue in a directory.
func Ground(dir string) error {
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return ground(d, dir)
}

func ground(d *disk.Dir, path string) error {
	root, err := d.Fd("")
	if err != nil {
		return err
	}
	for _, dir := range []string{"", approvalDir, grantDir} {
		fd, err := d.Fd(dir)
		if err != nil {
			return err
		}
		same, err := safefile.OnGround(root, fd)
		if err == nil && !same {
			err = errMount
		}
		if err != nil {
			return fault.Usagef("findmnt -T "+escape.Shell(path+"/"+dir), "%s: %w", path+"/"+dir, err)
		}
	}
	return nil
}
