package spool

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// crashFS is a disk in memory that forgets. What was not synced may be lost when
// the power goes: names and contents apart, in any combination, a file's last
// bytes cut off or turned into zeros. A rename is one step where names are ordered, as
// a journal orders them; elsewhere it is two, of a name that comes and one that goes,
// and after a power cut a file may have both names or none of them.
type crashFS struct {
	names   map[string]*inode // as the system call interface shows them
	durable map[string]*inode
	pending []nameOp // changes of names that no sync has covered
	ordered bool     // names reach the disk in the order of their changes (ext4, xfs)

	lieFile, lieDir, lieAll bool // that sync does nothing: a naive writer, for control

	shared bool // the queue has approvers
	actor  int  // uid of who runs the commands

	ops   int              // operations so far
	fault func(n int) fate // asked before every operation; nil: none fails
	syncs int
}

type inode struct {
	data    []byte
	mtime   time.Time
	durable []byte
	unsaved [][]byte // what data was since the last sync, oldest first
	clean   bool     // a sync failed since the last write: the next one does nothing
	holder  int      // who alone could write it; 0: others could
}

type nameOp map[string]*inode // nil: removed

// fate is what becomes of one operation.
type fate struct {
	err  error // it fails so
	half bool  // and a write is half done first
	die  bool  // the process ends before it returns
}

// died is the panic of a process that was killed.
type died struct{}

func newCrashFS() *crashFS {
	return &crashFS{names: map[string]*inode{}, durable: map[string]*inode{}}
}

// clone copies the disk; the copy has no faults.
func (d *crashFS) clone() *crashFS {
	seen := map[*inode]*inode{nil: nil}
	copied := func(i *inode) *inode {
		if _, ok := seen[i]; !ok {
			c := *i
			c.unsaved = slices.Clone(i.unsaved)
			seen[i] = &c
		}
		return seen[i]
	}
	c := newCrashFS()
	c.shared, c.actor = d.shared, d.actor
	c.ordered, c.lieFile, c.lieDir, c.lieAll = d.ordered, d.lieFile, d.lieDir, d.lieAll
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

// powerCut leaves what a disk may hold after the power went.
func (d *crashFS) powerCut(r *rand.Rand) {
	keep := r.IntN(len(d.pending) + 1)
	for i, op := range d.pending {
		if d.ordered && i < keep || !d.ordered && r.IntN(2) == 0 {
			d.put(d.durable, op)
		}
	}
	d.pending = nil
	d.names = maps.Clone(d.durable)
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		d.names[n].forget(r)
	}
}

// sector is what a disk writes whole or not at all.
const sector = 512

// forget picks one of the contents the disk may have: writes since the last sync
// came through in part, and not in their order.
func (i *inode) forget(r *rand.Rand) {
	versions := append([][]byte{i.durable}, i.unsaved...)
	last := r.IntN(len(versions))
	versions = versions[:last+1]
	b := make([]byte, len(versions[last]))
	for off := 0; off < len(b); off += sector {
		end := min(off+sector, len(b))
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

func (d *crashFS) put(m map[string]*inode, op nameOp) {
	for n, i := range op {
		if i == nil {
			delete(m, n)
		} else {
			m[n] = i
		}
	}
}

// change makes a change of names visible, and durable some day.
func (d *crashFS) change(op nameOp) {
	d.put(d.names, op)
	d.pending = append(d.pending, op)
}

// commit makes the pending changes that want asks for durable, and with them, for
// the same names, what they replaced.
func (d *crashFS) commit(want func(name string) bool) {
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
		hit := d.ordered && i <= last
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
func (d *crashFS) step(op, name string, do, half func()) error {
	d.ops++
	var f fate
	if d.fault != nil {
		f = d.fault(d.ops)
	}
	switch {
	case f.half && half != nil:
		half()
	case f.err == nil:
		do()
	}
	if f.die {
		panic(died{})
	}
	if f.err != nil {
		return &fs.PathError{Op: op, Path: name, Err: f.err}
	}
	return nil
}

func (d *crashFS) find(op, name string) (*inode, error) {
	if i := d.names[name]; i != nil {
		return i, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
}

func (d *crashFS) Read(name string) ([]byte, error) {
	i, err := d.find("read", name)
	if err != nil {
		return nil, err
	}
	return slices.Clone(i.data), nil
}

func (d *crashFS) Shared() bool { return d.shared }

func (d *crashFS) ReadHeld(name string) ([]byte, int, error) {
	b, err := d.Read(name)
	if err != nil || !d.shared {
		return b, 0, err
	}
	return b, d.names[name].holder, nil
}

func (d *crashFS) WriteHeld(name string, b []byte) error {
	b = slices.Clone(b)
	put := func(b []byte, holder int) {
		i := &inode{holder: holder}
		d.change(nameOp{name: i})
		i.set(nil, time.Time{})
		i.set(b, time.Time{})
	}
	return d.step("write", name, func() { put(b, d.actor) }, func() { put(b[:len(b)/2], 0) })
}

func (d *crashFS) ReadAt(name string, off int64, b []byte) (int, error) {
	i, err := d.find("read", name)
	if err != nil {
		return 0, err
	}
	return copy(b, i.data[min(int(off), len(i.data)):]), nil
}

func (d *crashFS) Names(dir string, fn func(string) error) error {
	for _, n := range slices.Sorted(maps.Keys(d.names)) {
		if base, ok := strings.CutPrefix(n, dir+"/"); ok {
			if err := fn(base); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *crashFS) Stat(name string) (stat, error) {
	i, err := d.find("stat", name)
	if err != nil {
		return stat{}, err
	}
	return stat{size: int64(len(i.data)), mtime: i.mtime, file: fileID{ino: uint64(uintptr(unsafe.Pointer(i)))}}, nil
}

func (d *crashFS) Write(name string, b []byte, mtime time.Time) error {
	b = slices.Clone(b)
	put := func(b []byte) {
		i := &inode{}
		d.change(nameOp{name: i})
		i.set(nil, mtime)
		i.set(b, mtime)
	}
	return d.step("write", name, func() { put(b) }, func() { put(b[:len(b)/2]) })
}

func (d *crashFS) WriteAll(files []newFile) error {
	for _, f := range files {
		if err := d.Write(f.name, f.b, f.mtime); err != nil {
			return err
		}
	}
	return nil
}

func (d *crashFS) WriteAt(name string, off int64, b []byte) error {
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

func (d *crashFS) Truncate(name string, size int64) error {
	i, err := d.find("truncate", name)
	if err != nil {
		return err
	}
	return d.step("truncate", name, func() { i.set(slices.Clone(i.data[:size]), i.mtime) }, nil)
}

func (d *crashFS) Rename(from, to string) error {
	i, err := d.find("rename", from)
	if err != nil {
		return err
	}
	return d.step("rename", from, func() {
		switch {
		case d.names[to] == i: // rename(2): two links of one file stay what they are
		case d.ordered:
			d.change(nameOp{from: nil, to: i})
		default:
			d.change(nameOp{to: i})
			d.change(nameOp{from: nil})
		}
	}, nil)
}

func (d *crashFS) Link(from, to string) error {
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

func (d *crashFS) Remove(name string) error {
	if _, err := d.find("remove", name); err != nil {
		return err
	}
	return d.step("remove", name, func() { d.change(nameOp{name: nil}) }, nil)
}

func (d *crashFS) SyncFile(name string) error {
	i, err := d.find("sync", name)
	if err != nil {
		return err
	}
	d.syncs++
	err = d.step("sync", name, func() {
		if !d.lieFile {
			i.sync()
		}
	}, nil)
	if err != nil {
		i.clean = true
	}
	return err
}

func (d *crashFS) SyncDir(dir string) error {
	d.syncs++
	return d.step("sync", dir, func() {
		if !d.lieDir {
			d.commit(func(name string) bool { return strings.TrimPrefix(path.Dir(name), ".") == dir })
		}
	}, nil)
}

func (d *crashFS) SyncAll() error {
	d.syncs++
	err := d.step("syncfs", ".", func() {
		if d.lieAll {
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
