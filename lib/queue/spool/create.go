package spool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"pulse/lib/queue/access"
	"pulse/lib/queue/disk"
	"pulse/lib/queue/snapshot"
)

// Options say what a new queue is for.
type Options struct {
	Unsafe  bool // it accepts what --unsafe-allow-all let through
	Network bool // it may lie on a network file system
	access.Groups
}

// HasLog reports whether a directory holds lines of a log, or may hold some. A queue that
// lost its file format must not pass for a new one when it gets that file again.
func HasLog(dir string) bool {
	entries, err := os.ReadDir(filepath.Join(dir, auditDir))
	return len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// Create makes a queue, or finishes one whose making was interrupted. The parent
// must exist, and dir must be absent or empty.
func Create(dir string, opt Options) error {
	made, err := access.Claim(dir, &plan, opt.Network, &opt.Groups)
	if err != nil {
		return err
	}
	if made && !snapshot.Is(dir) {
		return access.Refill(dir, &plan, &opt.Groups)
	}
	if made {
		return nil // Open says what is wrong
	}
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := lockOf(d).take()
	if err != nil {
		return err
	}
	defer unlock()
	if made, err = access.Claim(dir, &plan, opt.Network, &opt.Groups); made || err != nil {
		return err // another command was faster
	}
	return build(dir, opt)
}

// build makes the directories, and the file format last.
func build(dir string, opt Options) error {
	for _, name := range plan.Dirs {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := admit(dir, &opt.Groups); err != nil {
		return err
	}
	d, err := openDisk(dir) // again: now the approvers may write there, if there are any
	if err != nil {
		return err
	}
	defer d.Close()
	empty := []string{agendaFile, startsFile}
	if opt.Unsafe {
		empty = append(empty, unsafeFile)
	}
	if opt.Network {
		empty = append(empty, networkFile)
	}
	for _, name := range empty {
		if err := d.Write(name, nil, time.Time{}); err != nil {
			return err
		}
	}
	// On a file system without a journal, a directory that was never synced may hold, after a
	// power cut, what lay in the blocks before.
	if err := d.SyncAll(); err != nil {
		return err
	}
	if err := writeSynced(d, formatFile, []byte(format)); err != nil {
		return err
	}
	return disk.Sync(filepath.Dir(filepath.Clean(dir)))
}

// admit lets the approvers into a queue that has its directories.
func admit(dir string, g *access.Groups) error {
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return access.Of(d, dir, &plan).Admit(g)
}
