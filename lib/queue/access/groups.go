package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/safefile"
)

// groupsFile says for which groups a queue was made. If it names approvers, they may write
// the queue: its directories have mode 2770 and its files 0660, and all belong to that
// group, whatever the umask of the command that makes them.
const groupsFile = "groups"

// Group is a group of the system; the zero Group stands for no group.
type Group struct {
	Name string
	ID   int
}

// Groups are the groups that a queue was made for.
type Groups struct {
	Approvers Group // its members may answer; none: only the owner may
	Workers   Group // its members may read snapshots
}

// readGroups reads the marker of a queue. The owner or root must have made it, and no
// other account may be able to write it. A queue without a marker has no groups.
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
	if err := onMountOf(dir, f); err != nil {
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
	err = rec.Value().Each(record.To(
		"approvers", &g.Approvers.Name, "approvers_gid", &g.Approvers.ID, "workers", &g.Workers.Name,
		"workers_gid", &g.Workers.ID,
	))
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

func (g *Groups) words() string {
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
