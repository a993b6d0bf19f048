package screen

import (
	"fmt"
	"slices"
	"sort"
)

// reserved is how many rows stay free below the last page: for a blank, the code
// and a prompt that needs two.
const reserved = 4

// leastRows is the smallest height that is believed of a terminal.
const leastRows = reserved + 1

// Pages shows lines as the pages of a terminal, and keeps account of what was
// shown. The terminal may change its size between any two pages, so a place is an
// offset into the text, not the number of a page.
type Pages struct {
	lines         []string
	rows          []row
	tops          []int // the index of each page's first row
	height, width int
	place         int // offset of what is to be shown next
	end           int // offset after the last line
	shown         spans
}

// NewPages returns the pages of lines that are safe to print.
func NewPages(lines []string) *Pages {
	p := &Pages{lines: lines}
	for _, l := range lines {
		p.end += len(l) + 1
	}
	return p
}

// Fit lays the pages out for a terminal of so many rows and columns. A page leaves one row
// free for a prompt; the last one leaves as many as the question needs.
func (p *Pages) Fit(rows, columns int) {
	rows = max(rows, leastRows)
	if rows == p.height && columns == p.width {
		return
	}
	p.height, p.width = rows, columns
	p.rows = fold(p.lines, columns)
	p.tops = []int{0}
	page, last := rows-1, rows-reserved
	for top := 0; len(p.rows)-top > last; p.tops = append(p.tops, top) {
		left := len(p.rows) - top
		if at := p.details(top+1, min(top+page, len(p.rows)-1)); at > 0 {
			top = at
		} else if left > page+last {
			top += page
		} else { // what is left fills less than two pages: share it, so that the last is not nearly empty
			top += max((left+1)/2, left-last)
		}
	}
}

// details returns the first row from one on to another that begins the details of a sheet, 0 if
// none does: what decides about a task stands on a page of its own, where it fits one.
func (p *Pages) details(from, to int) int {
	for at := from; at <= to; at++ {
		if p.rows[at].text == Details {
			return at
		}
	}
	return 0
}

// current returns the index of the page that the place is on.
func (p *Pages) current() int {
	return sort.Search(len(p.tops), func(i int) bool { return p.offset(i) > p.place }) - 1
}

// offset returns where a page begins.
func (p *Pages) offset(page int) int {
	if page >= len(p.tops) || p.tops[page] >= len(p.rows) {
		return p.end
	}
	return p.rows[p.tops[page]].from
}

// Show returns the rows of the page to be shown next, painted or plain, and counts
// it as shown.
func (p *Pages) Show(colour bool) (lines []string) {
	i := p.current()
	p.shown.add(p.offset(i), p.offset(i+1))
	last := len(p.rows)
	if i+1 < len(p.tops) {
		last = p.tops[i+1]
	}
	for _, r := range p.rows[p.tops[i]:last] {
		if colour {
			r.text = r.paint()
		}
		lines = append(lines, r.text)
	}
	return lines
}

// Number returns the number of the page that is shown, from 1, and how many there are.
func (p *Pages) Number() (page, of int) { return p.current() + 1, len(p.tops) }

// Last reports whether the page that is shown is the last one.
func (p *Pages) Last() bool { return p.current() == len(p.tops)-1 }

// Turn goes forward by so many pages, or back if pages is negative, as far as there are
// any.
func (p *Pages) Turn(pages int) {
	p.place = p.offset(min(max(p.current()+pages, 0), len(p.tops)-1))
}

// First goes to the first page.
func (p *Pages) First() { p.place = 0 }

// Forget makes every page count as not shown.
func (p *Pages) Forget() { p.shown = nil }

// End goes to the last page. Those before it do not count as shown.
func (p *Pages) End() { p.Turn(len(p.tops)) }

// Unshown goes to the first page of which something was not shown. It reports whether
// there is one.
func (p *Pages) Unshown() bool {
	at := p.shown.gap()
	if at < p.end {
		p.place = at
	}
	return at < p.end
}

// Skipped says in words which pages were not shown. It is empty if all were.
func (p *Pages) Skipped() string {
	var list []int
	for i := range p.tops {
		if !p.shown.holds(p.offset(i), p.offset(i+1)) {
			list = append(list, i+1)
		}
	}
	switch n := len(list); {
	case n == 0:
		return ""
	case n == 1:
		return fmt.Sprintf("page %d was skipped", list[0])
	case list[n-1]-list[0] == n-1:
		return fmt.Sprintf("pages %d to %d were skipped", list[0], list[n-1])
	default:
		return fmt.Sprintf("%d pages from %d to %d were skipped", n, list[0], list[n-1])
	}
}

// spans are parts of a text as pairs of offsets. They are sorted, and none touches another.
type spans [][2]int

func (s *spans) add(from, to int) {
	list := (*s)[:0:0]
	for _, part := range *s {
		if part[1] < from || part[0] > to {
			list = append(list, part)
			continue
		}
		from, to = min(from, part[0]), max(to, part[1])
	}
	list = append(list, [2]int{from, to})
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	*s = list
}

func (s spans) holds(from, to int) bool {
	return slices.ContainsFunc(s, func(part [2]int) bool { return part[0] <= from && to <= part[1] })
}

// gap returns the first offset that is in none of the parts.
func (s spans) gap() int {
	if len(s) == 0 || s[0][0] > 0 {
		return 0
	}
	return s[0][1]
}
