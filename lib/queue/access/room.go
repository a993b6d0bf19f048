package access

import (
	"fmt"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// Room fails if less than reserve bytes of the file system are free, so that room is left
// for the answers and the ends of what was accepted. The reserve is at most a sixteenth of
// the file system, however small that is.
func (d *Dir) Room(reserve int64) error {
	if err := unix.Access(d.path, unix.W_OK); err == unix.EROFS {
		return fault.Temporaryf("mount -o remount,rw, once the disk is sound", "%s: %w", d.path, err)
	}
	left, reserve, err := d.reserved(reserve)
	if err != nil || left >= reserve {
		return err
	}
	return fault.Temporaryf("make room, or pulse-queue prune --older-than 30d",
		"%s: %d KiB are free, and limits.disk_reserve keeps %d KiB for what is accepted already",
		d.path, left>>10, reserve>>10)
}

// Spare returns how many bytes can be written so that twice the reserve stays free for what is
// accepted later. It is 0 if that can't be known.
func (d *Dir) Spare(reserve int64) int64 {
	left, reserve, err := d.reserved(reserve)
	if err != nil {
		return 0
	}
	return max(0, left-2*reserve)
}

// reserved returns how many bytes are free, and the reserve that this file system can have.
func (d *Dir) reserved(reserve int64) (left, most int64, err error) {
	left, total, err := free(d.path)
	return left, min(reserve, total/16), err
}

// free returns how many bytes of the file system of dir may still be written, and how many
// it has in all.
func free(dir string) (left, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Frsize), int64(st.Blocks) * int64(st.Frsize), nil
}

// Size returns how many bytes the files in one of the queue's directories have. Files that
// can't be looked at do not count.
func (d *Dir) Size(name string) (size int64) {
	_ = d.disk.Names(name, func(file string) error {
		if st, err := d.disk.Stat(name + "/" + file); err == nil {
			size += st.Size
		}
		return nil
	})
	return size
}
