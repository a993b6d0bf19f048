package disk

import (
	"errors"
	"io/fs"
	"time"
)

// Lines is a file of lines of one width, which may be written in place.
type Lines struct {
	Name  string
	Width int    // divides a disk sector, so that a power cut leaves a line or its predecessor
	Tmp   string // the name that the file has while it is written anew
	Most  int64  // size of the file; a larger one is ErrLarge
}

// Fits reports whether a size is that of whole lines.
func (x Lines) Fits(size int64) bool { return size >= 0 && size%int64(x.Width) == 0 }

// Each calls fn for the lines until fn returns false, and skips part of a line at the
// end. The slice is good until fn returns.
func (x Lines) Each(d Disk, fn func(off int64, line []byte) (more bool, err error)) error {
	if st, err := d.Stat(x.Name); err == nil && st.Size > x.Most {
		return &fs.PathError{Op: "read", Path: x.Name, Err: ErrLarge}
	}
	buf := make([]byte, 16*x.Width)
	for off := int64(0); ; {
		n, err := d.ReadAt(x.Name, off, buf)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for i := 0; i+x.Width <= n; i += x.Width {
			if more, err := fn(off+int64(i), buf[i:i+x.Width]); err != nil || !more {
				return err
			}
		}
		if n < len(buf) {
			return nil
		}
		off += int64(n)
		if len(buf) < 2048*x.Width {
			buf = make([]byte, 2048*x.Width)
		}
	}
}

// At returns the line at an offset, or nil if no whole line stands there.
func (x Lines) At(d Disk, off int64) ([]byte, error) {
	b := make([]byte, x.Width)
	n, err := d.ReadAt(x.Name, max(off, 0), b)
	if err != nil || n < x.Width {
		return nil, err
	}
	return b, nil
}

// Cut truncates the file to a size. If there is something else, or nothing, Cut makes an
// empty file.
func (x Lines) Cut(d Disk, size int64) error {
	err := d.Truncate(x.Name, size)
	if errors.Is(err, fs.ErrNotExist) || NotFile(err) {
		err = d.Write(x.Name, nil, time.Time{})
	}
	return err
}

// Rewrite replaces the file durably. It puts what fn makes of each line in the line's
// place, and drops the line if that is nothing. It returns the new size.
func (x Lines) Rewrite(d Disk, fn func(line []byte) []byte) (size int64, err error) {
	if err := d.Write(x.Tmp, nil, time.Time{}); err != nil {
		return 0, err
	}
	var b []byte
	flush := func() error {
		err := d.WriteAt(x.Tmp, size, b)
		size += int64(len(b))
		b = b[:0]
		return err
	}
	err = x.Each(d, func(_ int64, line []byte) (bool, error) {
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
		err = d.SyncFile(x.Tmp)
	}
	if err == nil {
		err = d.Rename(x.Tmp, x.Name)
	}
	if err == nil {
		err = d.SyncDir(parentOf(x.Name))
	}
	return size, err
}
