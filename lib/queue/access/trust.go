package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/safefile"
)

// There fails if a path does not hold a queue: only pulse-queue init makes one. A mistyped
// path, or a volume that is not mounted, must not look like an empty queue.
func There(dir string) error {
	hint := "is that its name, and its volume mounted? only if there never was one: pulse-queue init --queue " + escape.Shell(dir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || err == nil && !info.IsDir():
		return fault.Usagef(hint, "%s: there is no queue", dir)
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENAMETOOLONG):
		return fault.Usagef("ls -ld "+escape.Shell(dir), "queue: %w", err)
	case err != nil:
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, FormatFile)); errors.Is(err, fs.ErrNotExist) {
		return fault.Usagef(hint, "%s: not a queue: it has no file %s", dir, FormatFile)
	}
	return nil // if it can't be looked at, Trust says why
}

// Trust fails if others may write a queue, or put another one in its place. Root may use
// another account's queue if only that account and root can change any directory on the
// way to it. So may the members of the group that the queue was made for.
func Trust(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	st := info.Sys().(*syscall.Stat_t)
	return trust(dir, st.Uid, st.Gid, info.Mode().Perm()&0o020 != 0)
}

// Trust does the same as the function Trust for the directory that was opened, because its
// path may have led to another one before. It also fails on a network file system, unless
// the queue says that it may lie there.
func (d *Dir) Trust() error {
	if err := trust(d.path, uint32(d.disk.UID), uint32(d.disk.GID), d.disk.Shared()); err != nil {
		return err
	}
	if _, err := d.disk.Stat(d.layout.Network); err != nil {
		return local(d.path)
	}
	return nil
}

// trust is Trust for a directory that belongs to uid and gid. shared says that the group
// may write it.
func trust(dir string, uid, gid uint32, shared bool) (err error) {
	if shared {
		err = trustShared(dir, uid, gid)
	} else if uid != 0 && os.Geteuid() == 0 {
		err = safefile.Guarded(dir, uid)
	} else {
		if err = safefile.Own(dir); err == nil {
			err = safefile.Directory(filepath.Dir(dir))
		}
	}
	if errors.Is(err, safefile.ErrFUSE) {
		return fault.Usagef("findmnt -T "+escape.Shell(dir), "queue can't be trusted: %w", err)
	}
	if !errors.Is(err, safefile.ErrWritable) && !errors.Is(err, safefile.ErrOwner) &&
		!errors.Is(err, fs.ErrPermission) {
		return err
	}
	hint := "chmod 700 " + escape.Shell(dir) + " (or run this as its owner)"
	if shared && marked(dir) {
		hint = hintShared(dir, gid)
	} else if safefile.Own(dir) == nil {
		hint = "chmod go-w " + escape.Shell(filepath.Dir(dir)) + ", or put the queue elsewhere"
	}
	return fault.Usagef(hint, "queue can't be trusted: %w", err)
}

// trustShared is trust for a directory that a group may write. The owner must have named
// that group when the queue was made, and this account must be the owner, a member or
// root.
func trustShared(dir string, uid, gid uint32) error {
	me := os.Geteuid()
	if me != 0 && me != int(uid) && !among(gid) {
		return fmt.Errorf("%s: %w", dir, safefile.ErrOwner)
	}
	if me == 0 && uid != 0 {
		if err := safefile.GuardedGroup(dir, gid, uid); err != nil {
			return err
		}
	} else if err := safefile.Directory(filepath.Dir(dir), uid); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	g, err := readGroups(dir, uid)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if info.Mode().Perm()&0o002 != 0 || !ok || st.Uid != uid ||
		g.Approvers.Name == "" || uint32(g.Approvers.ID) != st.Gid {
		return fmt.Errorf("%s: mode %04o: %w", dir, info.Mode().Perm(), safefile.ErrWritable)
	}
	return nil
}

// hintShared says what to type about a queue of a group that can't be trusted.
func hintShared(dir string, gid uint32) string {
	if os.Geteuid() != 0 && !among(gid) {
		name := strconv.Itoa(int(gid))
		if g, err := user.LookupGroupId(name); err == nil {
			name = g.Name
		}
		return "run it as its owner or as one of the group " + name +
			", who may answer; a worker gets a copy: pulse-queue snapshot"
	}
	return "ls -ld " + escape.Shell(filepath.Dir(dir)) + " " + escape.Shell(dir) + " " +
		escape.Shell(filepath.Join(dir, groupsFile))
}

// marked reports whether a directory has a marker, even one that can't be trusted.
func marked(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, groupsFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// among reports whether this process has the rights of a group.
func among(gid uint32) bool {
	if os.Getegid() == int(gid) {
		return true
	}
	list, err := os.Getgroups()
	return err == nil && slices.Contains(list, int(gid))
}

// TrustSnapshot fails if anyone except its owner and root may write a snapshot, or put
// another one in its place. It may belong to any account, because it is made for others.
func TrustSnapshot(dir string) error {
	for _, path := range []string{dir, filepath.Dir(filepath.Clean(dir))} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if mode := info.Mode(); mode.Perm()&0o022 != 0 && (path == dir || mode&fs.ModeSticky == 0) {
			return fault.Usagef("chmod go-w "+path,
				"snapshot can't be trusted: %s: mode %04o: %w", path, mode.Perm(), safefile.ErrWritable)
		}
	}
	return nil
}
