package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/disk"
	"pulse/lib/escape"
	"pulse/lib/fault"
	"pulse/lib/record"
	"pulse/lib/safefile"
)

// groupsFile says for which groups a queue was made. Where it names approvers, they
// may write the queue: its directories are 2770 and its files 0660, all of that
// group, whatever the umask of who makes them.
const groupsFile = "groups"

// The modes of a queue that has approvers.
const (
	sharedDirMode  = fs.ModeSetgid | 0o770
	sharedFileMode = 0o660
	ownedFileMode  = 0o640 // of what one account says, and no other can change
)

// Group is a group of the system; the zero Group is none.
type Group struct {
	Name string
	ID   int
}

// Groups are those that a queue was made for.
type Groups struct {
	Approvers Group // whose members may answer; none: the owner alone
	Workers   Group // whose members may read snapshots
}

// Groups returns what the queue was made for.
func (s *Spool) Groups() (Groups, error) {
	d, ok := s.disk.(*disk.Dir)
	if !ok {
		return Groups{}, nil
	}
	restore, err := d.As()
	if err != nil {
		return Groups{}, err
	}
	defer restore()
	return readGroups(s.dir, uint32(d.UID))
}

// Owner returns the uid of the account whose queue this is.
func (s *Spool) Owner() int {
	if d, ok := s.disk.(*disk.Dir); ok {
		return d.UID
	}
	return os.Geteuid()
}

// Shared reports whether the queue has approvers, who may write it.
func (s *Spool) Shared() bool { return s.disk.Shared() }

// readGroups reads the marker of a queue, which its owner or root must have made, and
// nobody else can write. A queue without one has no groups.
func readGroups(dir string, owner uint32) (g Groups, err error) {
	path := filepath.Join(dir, groupsFile)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err != nil {
		return g, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return g, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return g, fmt.Errorf("%s: %w", path, safefile.ErrKind)
	case !ok || st.Uid != owner && st.Uid != 0:
		return g, fmt.Errorf("%s: %w", path, safefile.ErrOwner)
	case info.Mode().Perm()&0o022 != 0:
		return g, fmt.Errorf("%s: mode %04o: %w", path, info.Mode().Perm(), safefile.ErrWritable)
	}
	if err := besideIn(dir, f); err != nil {
		return g, fmt.Errorf("%s: %w", path, err)
	}
	b := make([]byte, 4<<10)
	n, err := f.Read(b)
	if err != nil {
		return g, fmt.Errorf("%s: %w", path, err)
	}
	if g, err = decodeGroups(b[:n]); err != nil {
		return g, fault.Usagef("man 5 pulse-queue", "%s: %w", path, err)
	}
	return g, nil
}

// besideIn fails if an open file lies on another mount than a directory: an approver
// could put one of his over a name there, and have it be the owner's.
func besideIn(dir string, f *os.File) error {
	in, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer in.Close()
	a, err := safefile.MountOf(int(in.Fd()))
	if err != nil {
		return err
	}
	b, err := safefile.MountOf(int(f.Fd()))
	if err == nil && !a.Same(b) {
		err = errMount
	}
	return err
}

func (g *Groups) append(dst []byte) []byte {
	var o record.Object
	for _, e := range []struct {
		name  string
		group Group
	}{{"approvers", g.Approvers}, {"workers", g.Workers}} {
		if e.group.Name != "" {
			o.Str(e.name, e.group.Name)
			o.Int(e.name+"_gid", int64(e.group.ID))
		}
	}
	return append(append(dst, o.Bytes()...), '\n')
}

func decodeGroups(b []byte) (g Groups, err error) {
	g = Groups{Group{ID: -1}, Group{ID: -1}}
	rec, err := record.Parse(b)
	if err != nil {
		return g, err
	}
	err = rec.Value().Each(func(name string, v record.Value) error {
		switch name {
		case "approvers":
			return v.Into(&g.Approvers.Name)
		case "approvers_gid":
			return v.Into(&g.Approvers.ID)
		case "workers":
			return v.Into(&g.Workers.Name)
		case "workers_gid":
			return v.Into(&g.Workers.ID)
		}
		return nil
	})
	for _, group := range []*Group{&g.Approvers, &g.Workers} {
		if err == nil && (group.Name == "") != (group.ID < 0) {
			err = errors.New("a group has a name and a gid")
		}
		if group.Name == "" {
			group.ID = 0
		}
	}
	return g, err
}

// among reports whether this process has the rights of a group.
func among(gid uint32) bool {
	if os.Getegid() == int(gid) {
		return true
	}
	list, err := os.Getgroups()
	return err == nil && slices.Contains(list, int(gid))
}

// trustShared is trust of a directory that a group may write: the owner named that
// group when he made the queue, and this is the owner, a member or root.
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
	if info.Mode().Perm()&0o002 != 0 || !ok || st.Uid != uid || g.Approvers.Name == "" || uint32(g.Approvers.ID) != st.Gid {
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
		return "run it as its owner or as one of the group " + name + ", who may answer; a worker gets a copy: pulse-queue snapshot"
	}
	return "ls -ld " + escape.Shell(filepath.Dir(dir)) + " " + escape.Shell(dir) + " " + escape.Shell(filepath.Join(dir, groupsFile))
}

// marked reports whether a directory has a marker, of whomever.
func marked(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, groupsFile))
	return !errors.Is(err, fs.ErrNotExist)
}

// sameGroups fails if a queue, or the beginning of one, was made for other groups than
// opt asks for. Whoever asks for none gets those that there are.
func sameGroups(dir string, opt *Options) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	was, err := readGroups(dir, info.Sys().(*syscall.Stat_t).Uid)
	if errors.Is(err, fs.ErrPermission) {
		return nil // it is somebody else's, as Open says
	}
	if err != nil {
		return err
	}
	_, made := os.Stat(filepath.Join(dir, formatFile))
	if asked := opt.Groups; asked != was && asked != (Groups{}) && (made == nil || was != (Groups{})) {
		return fault.Usagef("pulse-queue init with another --queue, and the groups",
			"%s: the queue is made already, for %s; groups can't be changed", dir, &was)
	}
	if was != (Groups{}) {
		opt.Groups = was
	}
	return nil
}

func (g *Groups) String() string {
	if *g == (Groups{}) {
		return "one account"
	}
	var list []string
	if g.Approvers.Name != "" {
		list = append(list, "approvers "+g.Approvers.Name)
	}
	if g.Workers.Name != "" {
		list = append(list, "workers "+g.Workers.Name)
	}
	return strings.Join(list, " and ")
}

// write leaves the marker in a queue that is being made, and then lets the approvers
// in.
func (g *Groups) write(dir string) error {
	if *g == (Groups{}) {
		return nil
	}
	d, err := openDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := writeSynced(d, groupsFile, g.append(nil)); err != nil {
		return err
	}
	return share(dir, g)
}

// share makes the directories of a queue that is being made those of its approvers.
// The last one is the queue itself: before that nobody else gets in.
func share(dir string, g *Groups) error {
	if g.Approvers.Name == "" {
		return nil
	}
	for _, name := range []string{groupsFile, lockFile} {
		mode := fs.FileMode(sharedFileMode)
		if name == groupsFile {
			mode = ownedFileMode
		}
		if err := give(filepath.Join(dir, name), g.Approvers.ID, mode); err != nil {
			return err
		}
	}
	for _, name := range append(directories(), "") {
		if err := give(filepath.Join(dir, name), g.Approvers.ID, sharedDirMode); err != nil {
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

// Lacks returns the directories that the queue has not, as a copy that left out what was
// empty.
func (s *Spool) Lacks() (list []string) {
	for _, name := range directories() {
		if _, err := s.disk.Stat(name); errors.Is(err, fs.ErrNotExist) {
			list = append(list, name)
		}
	}
	return list
}

// Modes returns what is not as it was when the queue was made: its directories, and
// the files that lie in none of them.
func (s *Spool) Modes() (list []string, err error) {
	d, ok := s.disk.(*disk.Dir)
	if !ok {
		return nil, nil
	}
	g, err := s.Groups()
	if err != nil {
		return nil, err
	}
	dirMode, fileMode, gid := fs.FileMode(0o700), fs.FileMode(0o600), -1
	names := directories() // of a private queue the directory itself may be readable: what is in it is not
	if g.Approvers.Name != "" {
		dirMode, fileMode, gid = sharedDirMode, sharedFileMode, g.Approvers.ID
		names = append(names, "")
	}
	for _, name := range append(names, lockFile, formatFile, agendaFile, startsFile, checkpointFile) {
		info, err := os.Lstat(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		want := fileMode
		if info.IsDir() {
			want = dirMode
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		mode := info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
		if gid < 0 {
			mode &^= fs.ModeSetgid // a parent may hand it on
		}
		switch owner := ok && (int(st.Uid) == d.UID || gid >= 0 && !info.IsDir()); {
		case !owner:
			list = append(list, fmt.Sprintf("%s belongs to uid %d", orSelf(name), st.Uid))
		case gid >= 0 && int(st.Gid) != gid:
			list = append(list, fmt.Sprintf("%s is of group %d, and was made for %s (gid %d)", orSelf(name), st.Gid, g.Approvers.Name, gid))
		case mode != want:
			list = append(list, fmt.Sprintf("%s has mode %s, and was made with %s", orSelf(name), octal(mode), octal(want)))
		}
	}
	return list, nil
}

func orSelf(name string) string {
	if name == "" {
		return "the queue"
	}
	return name
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
