package access

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
)

// networks holds the file systems (statfs(2)) on which flock(2) or fsync(2) may not have
// the same meaning for several hosts.
var networks = map[int64]string{
	0x6969: "nfs", 0x517b: "smb", 0xfe534d42: "smb2", 0xff534d42: "cifs", 0x5346414f: "afs", 0x6b414653: "afs",
	0x00c36400: "ceph", 0x01021997: "9p", 0x73757245: "coda", 0x564c: "ncp", 0x0bd00bd0: "lustre",
	0x7461636f: "ocfs2", 0x01161970: "gfs2", 0x47504653: "gpfs", 0x19830326: "beegfs", 0x65735546: "fuse",
}

// local fails if dir lies on a network file system, or on one that may be one.
func local(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return refuseType(dir, int64(uint32(st.Type)))
}

func refuseType(dir string, magic int64) error {
	if name, ok := networks[magic]; ok {
		return fault.Usagef("put it on a local disk, "+
			"or pulse-queue init --allow-network after reading CAVEATS of pulse-queue(5)",
			"%s lies on %s, where locks and syncs of several hosts can't be trusted", dir, name)
	}
	return nil
}

// fleeting holds the file systems that a reboot empties.
var fleeting = map[int64]string{0x01021994: "tmpfs", 0x858458f6: "ramfs"}

const overlay = 0x794c7630

// Durable returns nil if what is synced in dir survives a power cut, and otherwise an
// error that says why not.
func Durable(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil // whatever uses dir says what is wrong with it
	}
	magic := int64(uint32(st.Type))
	if name, ok := fleeting[magic]; ok {
		return fault.Usagef("put the queue on a disk",
			"%s lies on %s: a reboot or a power cut takes all of it", dir, name)
	}
	if magic == overlay && volatile(dir) {
		return fault.Usagef("mount the overlay without volatile, or put the queue on a volume",
			"%s lies on an overlay that is volatile: it syncs nothing", dir)
	}
	return nil
}

// volatile reports whether the mount that holds dir syncs nothing.
func volatile(dir string) bool {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_MNT_ID, &st) != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return false // the kernel is older than Linux 5.8, and does not know volatile either
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && volatileMount(string(mounts), st.Mnt_id)
}

// volatileMount looks a mount up in mountinfo (proc_pid_mountinfo(5)): its options are
// the last word.
func volatileMount(mounts string, id uint64) bool {
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) > 0 && fields[0] == strconv.FormatUint(id, 10) {
			options := strings.FieldsFunc(fields[len(fields)-1], func(r rune) bool { return r == ',' || r == '=' })
			return slices.Contains(options, "volatile")
		}
	}
	return false
}
