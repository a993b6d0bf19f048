package journal

import (
	"errors"
	"testing"

	"pulse/lib/queue/disk"
)

// endless is a disk whose files have no end, and no newline.
type endless struct {
	disk.Disk
	reads int
}

func (d *endless) ReadAt(_ string, _ int64, b []byte) (int, error) {
	d.reads++
	return len(b), nil
}

// TestEndlessLine: a line that is too long is found out in a few reads: what was read is
// not copied for each chunk of it.
func TestEndlessLine(t *testing.T) {
	d := &endless{}
	in := Reader{disk: d, name: "x"}
	if _, err := in.Next(); !errors.Is(err, ErrBroken) || d.reads > 30 {
		t.Errorf("%d reads, %v", d.reads, err)
	}
}
