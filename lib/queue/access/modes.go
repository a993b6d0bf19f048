package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"pulse/lib/queue/disk"
)

// The modes in a queue that has approvers.
const (
	sharedDirMode = fs.ModeSetgid | 0o770
	sharedMode    = 0o660
	ownedMode     = 0o640 // of a file with one account's answer, which no other account can change
)

// Options returns how a queue uses its directory. If the queue has approvers, their group
// may write it.
func Options(tmp string, most func(name string) int64) disk.Options {
	return disk.Options{Tmp: tmp, Most: most, Shared: sharedMode, Owned: ownedMode}
}

// Admit leaves the marker in a queue that is being made, and then lets the approvers in.
// It opens the directory itself last: until then no other account gets in.
func (d *Dir) Admit(g *Groups) error {
	if *g == (Groups{}) {
		return nil
	}
	if err := disk.WriteSynced(d.disk, d.layout.Tmp+"/"+groupsFile, groupsFile, g.append(nil)); err != nil {
		return err
	}
	if g.Approvers.Name == "" {
		return nil
	}
	gid := g.Approvers.ID
	if err := give(filepath.Join(d.path, groupsFile), gid, ownedMode); err != nil {
		return err
	}
	if err := give(filepath.Join(d.path, d.layout.Lock), gid, sharedMode); err != nil {
		return err
	}
	for _, name := range append(d.layout.Dirs[:len(d.layout.Dirs):len(d.layout.Dirs)], "") {
		if err := give(filepath.Join(d.path, name), gid, sharedDirMode); err != nil {
			return err
		}
	}
	return nil
}

func give(path string, gid int, mode fs.FileMode) error {
	if err := os.Lchown(path, -1, gid); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

// Modes returns what is wrong with owners, groups and modes, in one sentence for each of
// the queue's directories, and of the files that lie in none of them, that is not as it
// was made.
func (d *Dir) Modes() (list []string, err error) {
	g, err := d.Groups()
	if err != nil {
		return nil, err
	}
	for _, name := range d.checked(&g) {
		said, err := d.mode(name, &g)
		if err != nil {
			return nil, err
		}
		if said != "" {
			list = append(list, said)
		}
	}
	return list, nil
}

// checked returns the names that Modes looks at. The directory of a private queue may be
// readable, because what is in it is not.
func (d *Dir) checked(g *Groups) (names []string) {
	names = append(names, d.layout.Dirs...)
	if g.Approvers.Name != "" {
		names = append(names, "")
	}
	return append(append(names, d.layout.Lock), d.layout.Files...)
}

// mode returns what is wrong with the owner, group or mode of a name, or the empty string
// if nothing is, or if there is no such file.
func (d *Dir) mode(name string, g *Groups) (string, error) {
	info, err := os.Lstat(filepath.Join(d.path, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	shared := g.Approvers.Name != ""
	mode := info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
	if !shared {
		mode &^= fs.ModeSetgid // a parent may hand it on
	}
	if name == "" {
		name = "the queue"
	}
	switch want := wanted(shared, info.IsDir()); {
	case !ok || int(st.Uid) != d.Owner() && (!shared || info.IsDir()):
		return fmt.Sprintf("%s belongs to uid %d", name, st.Uid), nil
	case shared && int(st.Gid) != g.Approvers.ID:
		return fmt.Sprintf("%s is of group %d, and was made for %s (gid %d)",
			name, st.Gid, g.Approvers.Name, g.Approvers.ID), nil
	case mode != want:
		return fmt.Sprintf("%s has mode %s, and was made with %s", name, octal(mode), octal(want)), nil
	}
	return "", nil
}

// wanted returns the mode of a directory or a file of a queue.
func wanted(shared, dir bool) fs.FileMode {
	switch {
	case shared && dir:
		return sharedDirMode
	case shared:
		return sharedMode
	case dir:
		return 0o700
	}
	return 0o600
}

// octal writes a mode as chmod(1) takes it.
func octal(m fs.FileMode) string {
	n := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		n |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		n |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		n |= 0o1000
	}
	return fmt.Sprintf("%04o", n)
}
