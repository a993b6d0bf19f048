package disktest

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"pulse/lib/queue/disk"
)

// step counts an operation and asks for its fate; do is what it does if it does
// anything, half what is left of it when it is interrupted.
func (d *FS) step(op, name string, do, half func()) error {
	var f Fate
	if !d.Reads {
		f = d.next()
	}
	switch {
	case f.Half && half != nil:
		half()
	case f.Err == nil:
		do()
	}
	return d.failed(op, name, f)
}

// next is what becomes of the operation that is now counted.
func (d *FS) next() (f Fate) {
	if d.Ops++; d.Fault != nil {
		f = d.Fault(d.Ops)
	}
	return f
}

// reading counts a read, if reads are counted, and returns its error.
func (d *FS) reading(op, name string) error {
	if !d.Reads {
		return nil
	}
	return d.failed(op, name, d.next())
}

// failed carries out the rest of a fate.
func (d *FS) failed(op, name string, f Fate) error {
	if f.Die {
		panic(ErrKilled)
	}
	if f.Err != nil {
		return &fs.PathError{Op: op, Path: name, Err: f.Err}
	}
	return nil
}

func (d *FS) find(op, name string) (*inode, error) {
	if op == "read" || op == "stat" {
		if err := d.reading(op, name); err != nil {
			return nil, err
		}
	}
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

// ReadAll implements disk.Disk. It leaves all to Read.
func (d *FS) ReadAll(names []string, _ int64) [][]byte { return make([][]byte, len(names)) }

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
	if err := d.reading("readdir", dir); err != nil {
		return err
	}
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
func (d *FS) SyncFile(names ...string) error { return d.Sync(names, nil) }

// SyncDir implements disk.Disk.
func (d *FS) SyncDir(dirs ...string) error { return d.Sync(nil, dirs) }

// Sync implements disk.Disk. It takes the directories first, because a writer may not rely on the
// other order.
func (d *FS) Sync(files, dirs []string) error {
	if len(files)+len(dirs) > 0 {
		d.Waits++
	}
	if err := each(dirs, d.syncDir); err != nil {
		return err
	}
	return each(files, d.syncFile)
}

func (d *FS) syncFile(name string) error {
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

func (d *FS) syncDir(dir string) error {
	d.Syncs++
	return d.step("sync", dir, func() {
		if !d.LieDir {
			d.commit(func(name string) bool { return strings.TrimPrefix(path.Dir(name), ".") == dir })
		}
	}, nil)
}

// each syncs one after the other. A crash in between is one that is possible, too, where
// they are synced at the same time.
func each(names []string, sync func(string) error) error {
	for _, name := range names {
		if err := sync(name); err != nil {
			return err
		}
	}
	return nil
}

// SyncAll implements disk.Disk.
func (d *FS) SyncAll() error {
	d.Syncs++
	d.Waits++
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
