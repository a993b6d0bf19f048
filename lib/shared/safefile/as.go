package safefile

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	_ "pulse/lib/shared/linux"
)

// As makes this goroutine use files with the rights of another account until restore is
// called. Root does so in a directory that another user can fill with links: it then
// reaches nothing that this user can't, and the files that it creates there are theirs.
// Only root can do that. As does nothing if it is given the account in use already, as
// in a nested call.
func As(uid, gid int) (restore func(), err error) {
	runtime.LockOSThread() // fsuid is the thread's
	wasUID, wasGID := fsuid(noID), fsgid(noID)
	restore = func() {
		fsgid(wasGID)
		if fsuid(wasUID); fsuid(noID) == wasUID {
			runtime.UnlockOSThread() // else the thread ends with the goroutine
		}
	}
	fsgid(gid)
	fsuid(uid)
	if fsuid(noID) != uid || fsgid(noID) != gid {
		restore()
		return nil, fmt.Errorf("can't use files as uid %d, gid %d: %w", uid, gid, unix.EPERM)
	}
	return restore, nil
}

// noID is not an account: setfsuid(2) fails for it, and only returns the current one.
const noID = -1

func fsuid(id int) (before int) { before, _ = unix.SetfsuidRetUid(id); return before }

func fsgid(id int) (before int) { before, _ = unix.SetfsgidRetGid(id); return before }
