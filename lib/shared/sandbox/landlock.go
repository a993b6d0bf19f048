package sandbox

import (
	"errors"
	"io/fs"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// newest is the last version of Landlock that the library knows.
const newest = 11

// least is the first version that lets a process move files between directories,
// without which no queue works.
const least = 2

// The rights that a profile gives on the files that it keeps. Nothing may be executed.
const (
	readFile landlock.AccessFSSet = ll.AccessFSReadFile
	readDir  landlock.AccessFSSet = readFile | ll.AccessFSReadDir
	writeDir landlock.AccessFSSet = readDir | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSMakeReg |
		ll.AccessFSMakeDir | ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer
)

// landlockHere returns the version of Landlock that is used here, 0 if there is none.
func landlockHere() int {
	v, err := ll.LandlockGetABIVersion()
	if err != nil || v < least || !everyThread() {
		return 0
	}
	return min(v, newest)
}

// restrictFiles leaves the process the files and ports of the profile.
func restrictFiles(p Profile) error {
	var rules []landlock.Rule
	for _, path := range p.Read {
		rule, ok, err := reading(path)
		if err != nil {
			return err
		}
		if ok {
			rules = append(rules, rule)
		}
	}
	if len(p.Write) > 0 {
		rules = append(rules, landlock.PathAccess(writeDir, p.Write...).IgnoreIfMissing())
	}
	if p.DNS != 0 {
		rules = append(rules, landlock.ConnectTCP(p.DNS), landlock.BindUDP(0), landlock.ConnectSendUDP(p.DNS))
	}
	if p.Way != 0 {
		rules = append(rules, landlock.ConnectTCP(p.Way))
	}
	return landlock.V11.BestEffort().Restrict(rules...)
}

// reading returns the rule that lets a path be read. A path that does not exist needs
// none. Neither does a pipe that is open already and has a name below /proc, such as
// /dev/stdin: Landlock does not guard pipes, and takes no rule for them.
func reading(path string) (rule landlock.Rule, ok bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var sys unix.Statfs_t
	if err := unix.Statfs(path, &sys); err != nil {
		return nil, false, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	if sys.Type == unix.PIPEFS_MAGIC || sys.Type == unix.SOCKFS_MAGIC {
		return nil, false, nil
	}
	if info.IsDir() {
		return landlock.PathAccess(readDir, path), true, nil
	}
	return landlock.PathAccess(readFile, path), true, nil
}
