package journal

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue/disk"
	"pulse/lib/shared/audit"
)

// segments is a disk in memory whose directory has the files of a log.
type segments struct {
	*disk.Memory
	names []string
}

func (d *segments) Names(_ string, fn func(string) error) error {
	for _, name := range d.names {
		if err := fn(name); err != nil {
			return err
		}
	}
	return nil
}

// TestBack: read backwards, the log has the lines that it has read forwards, however long they are: many
// in a chunk, one that fills some, one that ends with one.
func TestBack(t *testing.T) {
	d := &segments{Memory: disk.NewMemory()}
	l := Log{disk: d, Mark: Mark{Head: audit.Origin}}
	short := len((&audit.Line{Time: time.Unix(0, 0), Event: audit.Noted, Prev: audit.Origin}).Append(nil)) + len(`,"by":""`) + 1
	for i, sizes := range [][]int{
		{1, 5, 9, 2, 3, 1, 1, 1, 700, 2, 4000, 3},
		{3 * chunk, 10, least - short, 10, chunk - short, 1, 5 * least, chunk + 1, chunk, chunk - 1, 20, 7},
		slices.Repeat([]int{1, 300, 77}, 2000),
		{2, 2 * chunk},
	} {
		l.Segment, l.Size = time.Unix(0, 0).UTC().AddDate(0, i, 0).Format("2006-01")+".jsonl", 0
		d.names = append(d.names, l.Segment)
		for _, n := range sizes {
			line := audit.Line{Time: time.Unix(0, 0), Event: audit.Noted, By: strings.Repeat("x", n), Prev: l.Head}
			b := line.Append(nil)
			l.Head = audit.Hash(b)
			if err := d.WriteAt(Dir+"/"+l.Segment, l.Size, append(b, '\n')); err != nil {
				t.Fatal(err)
			}
			l.Size += int64(len(b)) + 1
		}
	}
	var lines, back []string
	err := l.Between(Mark{}, l.Mark, func(line *audit.Line) error {
		lines = append(lines, line.By+line.Prev)
		return nil
	})
	if err == nil {
		err = l.Back(func(line audit.Line) bool {
			back = append(back, line.By+line.Prev)
			return true
		})
	}
	slices.Reverse(back)
	if err != nil || len(lines) != 12+12+6000+2 || !slices.Equal(lines, back) {
		t.Errorf("%d lines, and %d backwards: %v", len(lines), len(back), err)
	}
}
