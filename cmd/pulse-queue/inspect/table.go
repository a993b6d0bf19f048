package inspect

import (
	"bufio"
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"pulse/lib/queue/store"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
)

// table prints columns of given widths, two blanks apart.
type table struct {
	out     *bufio.Writer
	widths  []int
	columns int // a line is cut to so many, and a cell to its width; 0: it may be of any length
}

// row prints a line; the last cell, which may be in any script, is not padded.
func (t *table) row(cells ...string) error {
	left := t.columns
	for i, cell := range cells {
		last := i == len(cells)-1
		if t.columns > 0 && last {
			cell = escape.Clip(cell, left)
		} else if t.columns > 0 {
			cell = escape.Clip(cell, min(t.widths[i], left))
		}
		t.out.WriteString(cell)
		if last {
			break
		}
		if left -= t.widths[i] + 2; t.columns > 0 && left <= 0 {
			break
		}
		t.out.WriteString(strings.Repeat(" ", max(0, t.widths[i]-utf8.RuneCountInString(cell))+2))
	}
	return t.out.WriteByte('\n')
}

// cell is a value in a table, a dash for none.
func cell(value string) string { return cmp.Or(escape.ASCII(value), "-") }

// person is a sender in a table.
func person(sender string) string { return escape.Clip(cell(sender), 40) }

// age is how long ago t was, in one unit: 12s, 5m, 3h, 2d.
func age(now, t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return duration.Span(now.Sub(t))
}

// ahead is how long a task waits until its time, to be put after its age: +5m.
func ahead(now, t time.Time) string {
	if !now.Before(t) || t.Equal(store.Forever) {
		return ""
	}
	return "+" + duration.Span(t.Sub(now))
}
