package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/fault"
)

// Claim makes the directory of a queue, or checks that it can become one: the parent must
// exist, and dir must be absent, empty, or what an interrupted making left. made means
// that it is a queue already. Claim fails if the queue, or the beginning of one, was made
// for other groups than those in g. If g is empty, it gets those that the queue was made
// for.
func Claim(dir string, l *Layout, network bool, g *Groups) (made bool, err error) {
	if !network {
		if err := local(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	if err := mkdir(dir); err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join(dir, FormatFile))
	if made = err == nil; !made {
		if err := onlyOurs(dir, l); err != nil {
			return false, err
		}
	}
	if err := sameGroups(dir, made, g); made || err != nil {
		return made, err
	}
	mine, err := own(dir)
	if err == nil && !mine {
		err = fault.Usagef("pulse-queue init --queue "+escape.Shell(dir)+", as its owner",
			"%s: somebody else's directory is no queue yet", dir)
	}
	return false, err
}

// mkdir makes a directory that others can't read, unless it is there.
func mkdir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fault.Usagef("mkdir -p "+escape.Shell(filepath.Dir(dir)), "can't make the queue: %w", err)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fault.Usagef("name a directory that does not exist yet", "%s: not a directory", dir)
	}
	return nil
}

// own reports whether a directory is this account's.
func own(dir string) (bool, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return false, err
	}
	return int(info.Sys().(*syscall.Stat_t).Uid) == os.Geteuid(), nil
}

// onlyOurs refuses to make a queue among other people's files.
func onlyOurs(dir string, l *Layout) error {
	if err := Trust(dir); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	ours := slices.Concat(l.Dirs, l.First, []string{l.Lock, l.Network, FormatFile, groupsFile})
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) {
			return fault.Usagef("name a directory that does not exist yet",
				"%s: not a queue and not empty: it holds %s", dir, e.Name())
		}
	}
	return nil
}

// sameGroups fails if a queue, or the beginning of one, was made for other groups than
// those asked for.
func sameGroups(dir string, made bool, asked *Groups) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	was, err := readGroups(dir, info.Sys().(*syscall.Stat_t).Uid)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it is another account's, as Trust says
	}
	if err != nil {
		return err
	}
	none := Groups{}
	if *asked != was && *asked != none && (made || was != none) {
		return fault.Usagef("pulse-queue init with another --queue, and the groups",
			"%s: the queue is made already, for %s; groups can't be changed", dir, was.words())
	}
	if was != none {
		*asked = was
	}
	return nil
}

// Refill makes the directories that a queue of this account lacks, because a copy may have
// left out empty ones. It does nothing if Trust does not accept the queue.
func Refill(dir string, l *Layout, g *Groups) error {
	mine, err := own(dir)
	if err != nil || !mine || Trust(dir) != nil {
		return err
	}
	made := false
	for _, name := range l.Dirs {
		path := filepath.Join(dir, name)
		err := os.Mkdir(path, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && g.Approvers.Name != "" {
			err = give(path, g.Approvers.ID, sharedDirMode)
		}
		if err != nil {
			return err
		}
		made = true
	}
	if !made {
		return nil
	}
	return disk.Sync(dir)
}

// Supply makes the directories of Layout.Late that the queue lacks, and reports whether it has
// them all. Only the owner and root can make one.
func (d *Dir) Supply() (bool, error) {
	there := func(name string) bool {
		_, err := d.disk.Fd(name) // what is not a directory is not there
		return err == nil
	}
	if all(d.layout.Late, there) {
		return true, nil
	}
	g, err := d.Groups()
	if err != nil {
		return false, err
	}
	restore, err := d.disk.As()
	if err != nil {
		return false, err
	}
	err = Refill(d.path, d.layout, &g)
	restore()
	if errors.Is(err, syscall.ENOTDIR) {
		err = nil // a person put something else there, and the queue does without
	}
	return all(d.layout.Late, there), err
}

func all(names []string, is func(string) bool) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !is(name) })
}
