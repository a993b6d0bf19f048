package disk

import (
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// maxUnsynced is how many files are synced one by one: SyncAll syncs more than that.
const maxUnsynced = 16

// keep keeps the descriptor of a file for SyncFile. If writing failed, it closes the
// descriptor and returns the error, because the name may be another file's by then.
func (d *Dir) keep(name string, fd int, err error) error {
	if err != nil {
		unix.Close(fd)
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop(name)
	if len(d.unsynced) == maxUnsynced {
		d.dropAll()
	}
	d.unsynced[name] = fd
	return nil
}

func (d *Dir) drop(name string) {
	if fd, ok := d.unsynced[name]; ok {
		unix.Close(fd)
		delete(d.unsynced, name)
	}
}

func (d *Dir) dropAll() {
	for name := range d.unsynced {
		d.drop(name)
	}
}

// SyncFile implements Disk.
func (d *Dir) SyncFile(names ...string) error { return d.Sync(names, nil) }

// SyncDir implements Disk.
func (d *Dir) SyncDir(dirs ...string) error {
	err := d.Sync(nil, dirs)
	if d.opt.Search && errors.Is(err, unix.EBADF) {
		err = &fs.PathError{Op: "sync", Path: dirs[0], Err: unix.EACCES} // it was opened to be searched
	}
	return err
}

// Sync implements Disk.
func (d *Dir) Sync(files, dirs []string) error {
	var fds []int
	for _, name := range files {
		if fd, ok := d.unsynced[name]; ok {
			fds = append(fds, fd)
			continue
		}
		st, err := d.Stat(name)
		if err == nil && st.Odd {
			err = &fs.PathError{Op: "sync", Path: name, Err: errOdd}
		}
		if err != nil {
			return err
		}
	}
	if len(fds) < len(files) {
		return d.SyncAll()
	}
	for _, dir := range dirs {
		fd, err := d.Fd(dir)
		if err != nil {
			return err
		}
		fds = append(fds, fd)
	}
	err := together(fds, slices.Concat(files, dirs))
	for _, name := range files {
		d.drop(name)
	}
	return err
}

// together syncs descriptors at the same time, because most of a sync is waiting for the
// disk, which has to be waited for only once. A process that has one processor syncs one
// after the other, so that a test can count its calls.
func together(fds []int, names []string) error {
	errs := make([]error, len(fds))
	var group sync.WaitGroup
	for i := range fds {
		one := func() {
			if err := unix.Fsync(fds[i]); err != nil {
				errs[i] = &fs.PathError{Op: "sync", Path: names[i], Err: err}
			}
		}
		if i == len(fds)-1 || runtime.GOMAXPROCS(0) == 1 {
			one()
		} else {
			group.Go(one)
		}
	}
	group.Wait()
	return errors.Join(errs...)
}

// SyncAll implements Disk.
func (d *Dir) SyncAll() error {
	d.dropAll()
	if err := unix.Syncfs(d.dirs[""]); err != nil {
		return &fs.PathError{Op: "syncfs", Path: ".", Err: err}
	}
	return nil
}
