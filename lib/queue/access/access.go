// Package access decides who may use the directory of a queue, and where it may lie. It
// checks the owner and the groups that the queue was made for, the modes in it, the mounts
// and file systems under it, and the room on them. It reads no task and no log.
//
// Invariant: nothing here believes a file that anyone except the queue's owner and root
// could have put there. Caveat: root, and the owner of a directory further up, can always
// replace a path.
package access

import (
	"errors"
	"io/fs"
	"slices"

	"pulse/lib/queue/disk"
)

// FormatFile is the file that makes a directory a queue; it is made last.
const FormatFile = "format"

// Layout names what lies in the directory of a queue. Package spool, which knows the
// files, provides it.
type Layout struct {
	Dirs    []string
	Late    []string // those of Dirs that the queues of older versions don't have
	Tmp     string   // the one of Dirs where a file is written before it gets its name
	Lock    string   // the file that is locked
	Network string   // the file that lets the queue lie on a network file system
	Files   []string // other files outside of Dirs that must have the mode of a queue's files
	First   []string // other files that may be there before the queue is made
}

// Dir is the directory of a queue that is open.
type Dir struct {
	path   string
	disk   *disk.Dir
	layout *Layout
}

// Of returns the directory that is open as d, at path.
func Of(d *disk.Dir, path string, l *Layout) *Dir { return &Dir{path, d, l} }

// Owner returns the uid of the account whose queue this is.
func (d *Dir) Owner() int { return d.disk.UID }

// Shared reports whether the queue has approvers, who may write it.
func (d *Dir) Shared() bool { return d.disk.Shared() }

// Groups returns what the queue was made for.
func (d *Dir) Groups() (Groups, error) {
	restore, err := d.disk.As()
	if err != nil {
		return Groups{}, err
	}
	defer restore()
	return readGroups(d.path, uint32(d.disk.UID))
}

// Lacks returns the directories that are missing, because a copy may have left out empty
// ones. Those that come late are made when they are needed (Supply).
func (d *Dir) Lacks() (list []string) {
	for _, name := range d.layout.Dirs {
		if slices.Contains(d.layout.Late, name) {
			continue
		}
		if _, err := d.disk.Stat(name); errors.Is(err, fs.ErrNotExist) {
			list = append(list, name)
		}
	}
	return list
}
