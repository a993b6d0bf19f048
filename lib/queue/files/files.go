// Package files looks at the places where workers may write files: what changed in them while a
// worker ran, and what a worker that reads there may get. It says so in ids of things, under which
// a queue keeps what it knows of them: one of the path, and one of the content.
//
// Invariant: what can't be looked at, for whatever reason, is reported as unknown. Nothing is
// followed out of a place, and no file is changed. Caveat: of a file of more than 1 MiB the
// beginning and the length are its content.
package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pulse/lib/shared/task"
)

// The bounds of one look.
const (
	maxFiles = 200_000 // that are compared
	maxNamed = 256     // changed files that are named one by one
	maxRead  = 20_000  // files that a use may read
	maxBytes = 256 << 20
	maxFile  = 1 << 20 // bytes of one file
	maxTime  = 10 * time.Second
)

// Places are directories, without links on the way to them, none within another.
type Places []string

// Of returns the places that directories are. What does not exist is none.
func Of(dirs ...string) (p Places) {
	for _, dir := range dirs {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if dir == "" || errors.Is(err, fs.ErrNotExist) || p.of(real) != "" {
			continue
		}
		if err != nil { // it is looked at all the same, and can't be
			real = dir
		}
		p = append(slices.DeleteFunc(p, func(have string) bool { return within(real, have) }), real)
	}
	return p
}

// within reports whether a path is dir or below it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// of returns the place that a path is in, or the empty string.
func (p Places) of(path string) string {
	for _, dir := range p {
		if within(dir, path) {
			return dir
		}
	}
	return ""
}

// Path returns the id of a path. That of a directory stands for all in it.
func Path(path string) string { return task.ThingID("path", path) }

// name returns the id of a directory's name, which a list of what lies beside it has.
func name(dir string) string { return task.ThingID("name", dir) }

// content returns the id of what a file holds, and how much of it was read; empty if it holds nothing.
// A link holds the path that it leads to.
func content(path string) (id string, n int64, err error) {
	if to, err := os.Readlink(path); err == nil {
		return task.ThingID("link", to), 0, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrInvalid
	}
	h := sha256.New()
	if err == nil {
		n, err = io.Copy(h, io.LimitReader(f, maxFile))
	}
	if n == 0 || err != nil {
		return "", n, err
	}
	return task.ThingID("content", fmt.Sprintf("%d %x", info.Size(), h.Sum(nil))), n, nil
}

// state is what tells that a file changed: the time of that, which nobody can put back, or what it holds.
type state struct {
	syscall.Stat_t
	holds string
}

func (s *state) changed() time.Time { return time.Unix(s.Ctim.Unix()) }

func (s *state) is(kind uint32) bool { return s.Mode&syscall.S_IFMT == kind }

// slack is how far the clocks of a queue and of a file system may be apart.
const slack = time.Minute

// Before reports whether a file that changed then did so before a time of the queue. If that is
// still to come, a clock went back, and nothing counts as before it.
func Before(changed, t time.Time) bool {
	return changed.Before(t.Add(-slack)) && t.Before(time.Now().Add(slack))
}

var errBound = errors.New("files: it is beyond a bound")

// walk calls fn for what lies at a path and below it, and returns where that can't be looked at.
// Once fn returns errBound, it calls fn no more.
func walk(path string, fn func(path string, s state) error) (lost []string) {
	end := time.Now().Add(maxTime)
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		if err == nil {
			s := state{Stat_t: *info.Sys().(*syscall.Stat_t)}
			s.Atim, s.Blocks = syscall.Timespec{}, 0 // these change without a change
			err = fn(at, s)
		}
		switch {
		case errors.Is(err, errBound) || time.Now().After(end):
			return errBound
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return nil
		}
		if lost = append(lost, at); d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		lost = append(lost, path)
	}
	return lost
}

// Look is what lay in places at one moment.
type Look struct {
	at   map[string]state
	lost []string // what could not be looked at
}

// stamped are the types of file systems (statfs(2)) that were tried and give a file the time of each
// change: ext4, xfs and btrfs. A tmpfs does not if it is changed through memory.
var stamped = []int64{0xef53, 0x58465342, 0x9123683e}

// Look looks at all that lies in the places.
func (p Places) Look() *Look {
	l, stamps, bytes := &Look{at: map[string]state{}}, map[uint64]bool{}, int64(0)
	for _, dir := range p {
		l.lost = append(l.lost, walk(dir, func(path string, s state) (err error) {
			if _, known := stamps[s.Dev]; !known && !s.is(syscall.S_IFLNK) {
				var on syscall.Statfs_t
				err = syscall.Statfs(path, &on)
				stamps[s.Dev] = err == nil && slices.Contains(stamped, int64(on.Type))
			}
			if err == nil && s.is(syscall.S_IFREG) && !stamps[s.Dev] {
				var n int64
				s.holds, n, err = content(path)
				if bytes += n; err == nil && (s.Size > maxFile || bytes > maxBytes) {
					err = fs.ErrInvalid
				}
			}
			if l.at[path] = s; len(l.at) > maxFiles {
				return errBound
			}
			return err
		})...)
	}
	return l
}

// above returns the directory by which a file that is not named is known: the highest that is new, or
// its own.
func (l *Look) above(path string) string {
	for {
		dir := filepath.Dir(path)
		_, was := l.at[dir]
		_, old := l.at[filepath.Dir(dir)]
		if was || old || dir == filepath.Dir(dir) {
			return dir
		}
		path = dir
	}
}

// Changed returns the things that changed between two looks, and those of which only that is known.
func (l *Look) Changed(now *Look) (wrote, lost []string) {
	unknown := slices.Concat(l.lost, now.lost)
	n := 0
	for _, path := range slices.Sorted(maps.Keys(now.at)) {
		s := now.at[path]
		was, there := l.at[path]
		dir := s.is(syscall.S_IFDIR)
		if there && (was == s || dir && was.is(syscall.S_IFDIR)) {
			continue
		}
		switch n++; {
		case n > maxNamed && dir:
			unknown = append(unknown, l.above(path+"/."))
			continue
		case n > maxNamed:
			unknown = append(unknown, l.above(path))
			continue
		case dir:
			wrote = append(wrote, name(path))
			continue
		}
		wrote = append(wrote, Path(path))
		if !s.is(syscall.S_IFREG) && !s.is(syscall.S_IFLNK) {
			continue
		}
		if id, _, err := content(path); id != "" {
			wrote = append(wrote, id)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			unknown = append(unknown, path)
		}
	}
	slices.Sort(unknown)
	for _, path := range slices.Compact(unknown) {
		lost = append(lost, Path(path))
	}
	return wrote, lost
}

// Since returns the things that changed since a time.
func (l *Look) Since(t time.Time) []string {
	was := &Look{at: map[string]state{}}
	for _, path := range slices.Sorted(maps.Keys(l.at)) {
		s := l.at[path]
		up, below := l.at[filepath.Dir(path)]
		_, old := was.at[filepath.Dir(path)]
		// A directory that was renamed changed, and what it lies in; nothing in it did.
		changed := !Before(s.changed(), t) && !(s.is(syscall.S_IFDIR) && (!below || Before(up.changed(), t)))
		if !changed && (old || !below) {
			was.at[path] = s
		}
	}
	wrote, lost := was.Changed(l)
	return append(wrote, lost...)
}

// Reading is what a use may get.
type Reading struct {
	Things []string
	Newest time.Time // when the last of it changed, or a directory that was on the way to it
	Lost   bool      // there may be more: what can't be read, or is beyond the bounds

	files int
	bytes int64
}

// Read returns what a use gets that reads these files, or any in the places if names is nil. A name is
// absolute, or from a directory; if there is none, nobody knows which file it means. With .. in it, a name
// means two files: the kernel follows what is before it, which some programs take out before they open it.
func (p Places) Read(dir string, names []string) *Reading {
	r := &Reading{}
	if names == nil {
		names = p
	}
	for _, name := range names {
		if !filepath.IsAbs(name) {
			if dir == "" {
				r.Lost = true
				continue
			}
			name = dir + "/" + name
		}
		p.read(r, name)
		if slices.Contains(strings.Split(name, "/"), "..") {
			p.read(r, filepath.Clean(name))
		}
	}
	return r
}

// read adds to a reading what an absolute name leads to.
func (p Places) read(r *Reading, name string) {
	path, err := filepath.EvalSymlinks(name)
	top := p.of(path)
	if errors.Is(err, fs.ErrNotExist) { // nothing lies there
		return
	}
	if err != nil || top == "" {
		r.Lost = true
		return
	}
	for dir := path; dir != top; {
		if dir = filepath.Dir(dir); dir != top {
			r.changed(dir)
		}
		r.Things = append(r.Things, Path(dir))
	}
	if len(walk(path, r.add)) > 0 {
		r.Lost = true
	}
}

// changed notes when a directory changed.
func (r *Reading) changed(dir string) {
	info, err := os.Lstat(dir)
	if err != nil {
		r.Lost = true
		return
	}
	if s := (state{Stat_t: *info.Sys().(*syscall.Stat_t)}); s.changed().After(r.Newest) {
		r.Newest = s.changed()
	}
}

func (r *Reading) add(path string, s state) error {
	if r.files++; r.files > maxRead || r.bytes > maxBytes {
		return errBound
	}
	r.Things = append(r.Things, Path(path))
	if s.changed().After(r.Newest) {
		r.Newest = s.changed()
	}
	if s.is(syscall.S_IFDIR) {
		r.Things = append(r.Things, name(path))
		return nil
	}
	id, n, err := content(path) // there is none of a pipe or a device: nobody knows what comes out of it
	if r.bytes += n; id != "" {
		r.Things = append(r.Things, id)
	}
	return err
}
