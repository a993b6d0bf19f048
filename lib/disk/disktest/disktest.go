// Package disktest is a disk in memory for crash tests: it can end a process, or fail, at
// every step, and forgets what was not synced when the power is cut.
//
// Invariant: it forgets whatever a disk may forget. A store that passes here with every
// step ended in every way keeps its promises on a journal and without one. Caveat: it
// runs one command at a time.
package disktest

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"pulse/lib/disk"
)

// FS is a disk in memory that forgets. What was not synced may be lost when the power goes:
// names and contents apart, in any combination, a file's last bytes cut off or turned into
// zeros. A rename is one step where names are ordered, as a journal orders them; elsewhere
// it is two, of a name that comes and one that goes, and after a power cut a file may have
// both names or neither.
type FS struct {
	Ordered bool // names reach the disk in the order of their changes (ext4, xfs)
	Group   bool // others than the owner may write it, so that Shared is true
	Account int  // uid of the account that runs the commands

	LieFile, LieDir, LieAll bool // that sync does nothing: a naive writer, for control

	Fault func(n int) Fate // asked before every operation that changes anything; nil: none fails
	Ops   int              // how many of those there were
	Syncs int

	names   map[string]*inode // as the system call interface shows them
	durable map[string]*inode
	pending []nameOp // changes of names that no sync has covered
}

type inode struct {
	data    []byte
	mtime   time.Time
	durable []byte
	unsaved [][]byte // what data was since the last sync, oldest first
	clean   bool     // a sync failed since the last write: the next one does nothing
	owner   int      // the account that alone could write it; 0: others could
}

type nameOp map[string]*inode // nil: removed

// Fate is what becomes of one operation.
type Fate struct {
	Err  error // it fails so
	Half bool  // and a write is half done first
	Die  bool  // the process ends before it returns
}

// Fates are those that a store has to stand at every step.
var Fates = map[string]Fate{
	"killed before": {Err: syscall.EINTR, Die: true},
	"killed within": {Err: syscall.EINTR, Half: true, Die: true},
	"killed after":  {Die: true},
	"EIO":           {Err: syscall.EIO},
	"ENOSPC":        {Err: syscall.ENOSPC, Half: true},
}

// At is a Fault: the nth operation has a fate, and the others have none.
func At(n int, f Fate) func(int) Fate {
	return func(k int) Fate {
		if k == n {
			return f
		}
		return Fate{}
	}
}

// ErrKilled is the error of a process that was killed.
var ErrKilled = errors.New("killed")

// Run runs a command, and returns its error, or ErrKilled.
func Run(command func() error) (err error) {
	defer func() {
		if r := recover(); r == ErrKilled {
			err = ErrKilled
		} else if r != nil {
			panic(r)
		}
	}()
	return command()
}

// New returns an empty disk.
func New() *FS { return &FS{names: map[string]*inode{}, durable: map[string]*inode{}} }

// Clone copies the disk; the copy has no faults.
func (d *FS) Clone() *FS {
	seen := map[*inode]*inode{nil: nil}
	copied := func(i *inode) *inode {
		if _, ok := seen[i]; !ok {
			c := *i
			c.unsaved = slices.Clone(i.unsaved)
			seen[i] = &c
		}
		return seen[i]
	}
	c := New()
	c.Ordered, c.Group, c.Account = d.Ordered, d.Group, d.Account
	c.LieFile, c.LieDir, c.LieAll = d.LieFile, d.LieDir, d.LieAll
	for n, i := range d.names {
		c.names[n] = copied(i)
	}
	for n, i := range d.durable {
		c.durable[n] = copied(i)
	}
	for _, op := range d.pending {
		o := nameOp{}
		for n, i := range op {
			o[n] = copied(i)
		}
		c.pending = append(c.pending, o)
	}
	return c
}

// Each calls fn for each file, whatever its directory, and with the account that alone can
// have written it, 0 if there is none.
func (d *FS) Each(fn func(name string, owner int)) {
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		fn(n, d.names[n].owner)
	}
}

// PowerCut leaves what a disk may hold after the power went.
func (d *FS) PowerCut(r *rand.Rand) {
	keep := r.IntN(len(d.pending) + 1)
	for i, op := range d.pending {
		if d.Ordered && i < keep || !d.Ordered && r.IntN(2) == 0 {
			d.put(d.durable, op)
		}
	}
	d.pending = nil
	d.names = maps.Clone(d.durable)
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		d.names[n].forget(r)
	}
}

// Sector is how many bytes a disk writes whole or not at all.
const Sector = 512

// forget picks one of the contents the disk may have: writes since the last sync
// came through in part, and not in their order.
func (i *inode) forget(r *rand.Rand) {
	versions := append([][]byte{i.durable}, i.unsaved...)
	last := r.IntN(len(versions))
	versions = versions[:last+1]
	b := make([]byte, len(versions[last]))
	for off := 0; off < len(b); off += Sector {
		end := min(off+Sector, len(b))
		// What a version does not have reads as zeros.
		if from := versions[r.IntN(last+1)]; r.IntN(2) == 0 {
			copy(b[off:end], versions[last][off:end])
		} else if off < len(from) {
			copy(b[off:end], from[off:min(end, len(from))])
		}
	}
	if grown := len(b) - len(i.durable); grown > 0 && r.IntN(3) == 0 {
		b = b[:len(i.durable)+r.IntN(grown)]
	}
	i.data, i.durable, i.unsaved = b, b, nil
}

func (d *FS) put(m map[string]*inode, op nameOp) {
	for n, i := range op {
		if i == nil {
			delete(m, n)
		} else {
			m[n] = i
		}
	}
}

// change makes a change of names visible, and durable some day.
func (d *FS) change(op nameOp) {
	d.put(d.names, op)
	d.pending = append(d.pending, op)
}

// commit makes the pending changes that want asks for durable, and with them, for
// the same names, what they replaced.
func (d *FS) commit(want func(name string) bool) {
	last := -1
	for i, op := range d.pending {
		for n := range op {
			if want(n) {
				last = i
			}
		}
	}
	var left []nameOp
	done := map[string]bool{}
	for i := len(d.pending) - 1; i >= 0; i-- {
		op := d.pending[i]
		hit := d.Ordered && i <= last
		for n := range op {
			hit = hit || want(n)
		}
		rest := nameOp{}
		for n, ino := range op {
			switch {
			case done[n]:
			case hit:
				done[n] = true
				d.put(d.durable, nameOp{n: ino})
			default:
				rest[n] = ino
			}
		}
		if len(rest) > 0 {
			left = append(left, rest)
		}
	}
	slices.Reverse(left)
	d.pending = left
}

func (i *inode) set(b []byte, mtime time.Time) {
	i.data, i.clean = b, false
	i.unsaved = append(i.unsaved, b)
	i.mtime = mtime
}

func (i *inode) sync() {
	if !i.clean {
		i.durable, i.unsaved = i.data, nil
	}
}

// step counts an operation and asks for its fate; do is what it does if it does
// anything, half what is left of it when it is interrupted.
func (d *FS) step(op, name string, do, half func()) error {
	d.Ops++
	var f Fate
	if d.Fault != nil {
		f = d.Fault(d.Ops)
	}
	switch {
	case f.Half && half != nil:
		half()
	case f.Err == nil:
		do()
	}
	if f.Die {
		panic(ErrKilled)
	}
	if f.Err != nil {
		return &fs.PathError{Op: op, Path: name, Err: f.Err}
	}
	return nil
}

func (d *FS) find(op, name string) (*inode, error) {
	if i := d.names[name]; i != nil {
		return i, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
}

// Read implements disk.Disk.
func (d *FS) Read(name string) ([]byte, error) {
	i, err := d.find("read", name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(i.data), nil
}

// Shared implements disk.Disk.
func (d *FS) Shared() bool { return d.Group }

// ReadOwned implements disk.Disk.
func (d *FS) ReadOwned(name string) ([]byte, int, error) {
	b, err := d.Read(name)
	if err != nil || !d.Group {
		return b, 0, err
	}
	return b, d.names[name].owner, nil
}

// WriteOwned implements disk.Disk.
func (d *FS) WriteOwned(name string, b []byte) error {
	b = slices.Clone(b)
	put := func(b []byte, owner int) {
		i := &inode{owner: owner}
		d.change(nameOp{name: i})
		i.set(nil, time.Time{})
		i.set(b, time.Time{})
	}
	return d.step("write", name, func() { put(b, d.Account) }, func() { put(b[:len(b)/2], 0) })
}

// ReadAt implements disk.Disk.
func (d *FS) ReadAt(name string, off int64, b []byte) (int, error) {
	i, err := d.find("read", name)
	if err != nil {
		return 0, err
	}
	return copy(b, i.data[min(int(off), len(i.data)):]), nil
}

// Names implements disk.Disk.
func (d *FS) Names(dir string, fn func(string) error) error {
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		if base, ok := strings.CutPrefix(n, dir+"/"); ok {
			if err := fn(base); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stat implements disk.Disk.
func (d *FS) Stat(name string) (disk.Stat, error) {
	i, err := d.find("stat", name)
	if err != nil {
		return disk.Stat{}, err
	}
	return disk.Stat{Size: int64(len(i.data)), Mtime: i.mtime, ID: [2]uint64{1: uint64(uintptr(unsafe.Pointer(i)))}}, nil
}

// Write implements disk.Disk.
func (d *FS) Write(name string, b []byte, mtime time.Time) error {
	b = slices.Clone(b)
	put := func(b []byte) {
		i := &inode{}
		d.change(nameOp{name: i})
		i.set(nil, mtime)
		i.set(b, mtime)
	}
	return d.step("write", name, func() { put(b) }, func() { put(b[:len(b)/2]) })
}

// WriteAll implements disk.Disk.
func (d *FS) WriteAll(files []disk.File) error {
	for _, f := range files {
		if err := d.Write(f.Name, f.Data, f.Mtime); err != nil {
			return err
		}
	}
	return nil
}

// WriteAt implements disk.Disk.
func (d *FS) WriteAt(name string, off int64, b []byte) error {
	put := func(b []byte) {
		i := d.names[name]
		if i == nil {
			i = &inode{}
			d.change(nameOp{name: i})
		}
		after := append(slices.Clone(i.data[:off]), b...)
		i.set(append(after, i.data[min(len(after), len(i.data)):]...), time.Time{})
	}
	return d.step("write", name, func() { put(b) }, func() { put(b[:len(b)/2]) })
}

// Truncate implements disk.Disk.
func (d *FS) Truncate(name string, size int64) error {
	i, err := d.find("truncate", name)
	if err != nil {
		return err
	}
	return d.step("truncate", name, func() { i.set(slices.Clone(i.data[:size]), i.mtime) }, nil)
}

// Like implements disk.Disk. All files are alike here.
func (d *FS) Like(name, other string) error {
	_, err := d.find("chmod", name)
	if err == nil {
		_, err = d.find("stat", other)
	}
	if err != nil {
		return err
	}
	return d.step("chmod", name, func() {}, nil)
}

// Rename implements disk.Disk.
func (d *FS) Rename(from, to string) error {
	i, err := d.find("rename", from)
	if err != nil {
		return err
	}
	return d.step("rename", from, func() {
		switch {
		case d.names[to] == i: // rename(2): two links of one file stay what they are
		case d.Ordered:
			d.change(nameOp{from: nil, to: i})
		default:
			d.change(nameOp{to: i})
			d.change(nameOp{from: nil})
		}
	}, nil)
}

// Link implements disk.Disk.
func (d *FS) Link(from, to string) error {
	i, err := d.find("link", from)
	if err != nil {
		return err
	}
	return d.step("link", from, func() {
		if d.names[to] != i {
			d.change(nameOp{to: i})
		}
	}, nil)
}

// Remove implements disk.Disk.
func (d *FS) Remove(name string) error {
	if _, err := d.find("remove", name); err != nil {
		return err
	}
	return d.step("remove", name, func() { d.change(nameOp{name: nil}) }, nil)
}

// SyncFile implements disk.Disk.
func (d *FS) SyncFile(name string) error {
	i, err := d.find("sync", name)
	if err != nil {
		return err
	}
	d.Syncs++
	err = d.step("sync", name, func() {
		if !d.LieFile {
			i.sync()
		}
	}, nil)
	if err != nil {
		i.clean = true
	}
	return err
}

// SyncDir implements disk.Disk.
func (d *FS) SyncDir(dir string) error {
	d.Syncs++
	return d.step("sync", dir, func() {
		if !d.LieDir {
			d.commit(func(name string) bool { return strings.TrimPrefix(path.Dir(name), ".") == dir })
		}
	}, nil)
}

// SyncAll implements disk.Disk.
func (d *FS) SyncAll() error {
	d.Syncs++
	err := d.step("syncfs", ".", func() {
		if d.LieAll {
			return
		}
		for _, i := range d.names {
			i.sync()
		}
		d.commit(func(string) bool { return true })
	}, nil)
	if err != nil {
		for _, i := range d.names {
			i.clean = true
		}
	}
	return err
}
