package safefile

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// As makes this goroutine use files with the rights of another account until
// restore is called: root goes into directories that somebody else can fill with
// links, and what it makes there belongs to him. Only root can do that; the account
// it is already is a no-op, and so are calls that are nested.
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

// noID is no account: setfsuid(2) fails for it, and only says who it is.
const noID = -1

func fsuid(id int) (before int) { before, _ = unix.SetfsuidRetUid(id); return before }

func fsgid(id int) (before int) { before, _ = unix.SetfsgidRetGid(id); return before }
