package spool

import (
	"errors"
	"io/fs"
	"time"

	"pulse/lib/disk"
)

// index is a file of lines of one width, made from the log: written in place, and synced
// before the checkpoint says that the lines of the log were carried out, and how long it
// is. So it is never older than the checkpoint; what is newer is cut off or written
// again. Verify makes it anew from the log and compares.
type index struct {
	name  string
	width int // divides a disk sector, so that a power cut leaves a line or its predecessor
}

// mostLines is the size of a file of lines from which on it is none: of a million tasks
// the agenda has an eighth of it.
const mostLines = 1 << 30

// each calls fn for the lines, until it returns false; what is left of one at the end is
// passed over. The slice is good until fn returns.
func (x index) each(d disk.Disk, fn func(off int64, line []byte) (more bool, err error)) error {
	if st, err := d.Stat(x.name); err == nil && st.Size > mostLines {
		return &fs.PathError{Op: "read", Path: x.name, Err: disk.ErrLarge}
	}
	buf := make([]byte, 16*x.width)
	for off := int64(0); ; {
		n, err := d.ReadAt(x.name, off, buf)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i+x.width <= n; i += x.width {
			if more, err := fn(off+int64(i), buf[i:i+x.width]); err != nil || !more {
				return err
			}
		}
		if n < len(buf) {
			return nil
		}
		off += int64(n)
		if len(buf) < 512*x.width {
			buf = make([]byte, 512*x.width)
		}
	}
}

// at returns the line at an offset, nil if there is no whole one.
func (x index) at(d disk.Disk, off int64) ([]byte, error) {
	b := make([]byte, x.width)
	n, err := d.ReadAt(x.name, max(off, 0), b)
	if err != nil || n < x.width {
		return nil, err
	}
	return b, nil
}

// cut cuts off what stands after a size.
func (x index) cut(d disk.Disk, size int64) error {
	err := d.Truncate(x.name, size)
	if errors.Is(err, fs.ErrNotExist) || notFile(err) {
		err = d.Write(x.name, nil, time.Time{})
	}
	return err
}

// rewrite replaces the file durably, by what fn makes of each line, or without it. It
// returns the new size.
func (x index) rewrite(d disk.Disk, fn func(line []byte) []byte) (size int64, err error) {
	tmp := tmpDir + "/" + x.name
	if err := d.Write(tmp, nil, time.Time{}); err != nil {
		return 0, err
	}
	var b []byte
	flush := func() error {
		err := d.WriteAt(tmp, size, b)
		size += int64(len(b))
		b = b[:0]
		return err
	}
	err = x.each(d, func(_ int64, line []byte) (bool, error) {
		b = append(b, fn(line)...)
		if len(b) < 64<<10 {
			return true, nil
		}
		return true, flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		err = d.SyncFile(tmp)
	}
	if err == nil {
		err = d.Rename(tmp, x.name)
	}
	if err == nil {
		err = d.SyncDir("")
	}
	return size, err
}
