package screen

import (
	"fmt"
	"strings"
	"testing"
)

// text returns n lines of content.
func text(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("%sline %d", Gutter, i+1))
	}
	return lines
}

// read turns all pages from the first on, and returns how many rows each has.
func read(p *Pages, rows, columns int) (sizes []int, all []string) {
	p.First()
	for {
		p.Fit(rows, columns)
		page := p.Show(false)
		sizes, all = append(sizes, len(page)), append(all, page...)
		if p.Last() {
			return sizes, all
		}
		p.Turn(1)
	}
}

func TestPageSizes(t *testing.T) {
	for _, c := range []struct {
		lines, rows int
		want        string
	}{
		{1, 24, "[1]"}, {20, 24, "[20]"}, {21, 24, "[11 10]"}, {24, 24, "[12 12]"}, {43, 24, "[23 20]"}, {44, 24, "[23 11 10]"},
		{16, 20, "[16]"}, {17, 20, "[9 8]"}, {3, 5, "[2 1]"}, {6, 5, "[4 1 1]"}, {3, 0, "[2 1]"}, {0, 24, "[0]"},
	} {
		p := NewPages(text(c.lines))
		sizes, all := read(p, c.rows, 80)
		if got := fmt.Sprint(sizes); got != c.want || strings.Join(all, "|") != strings.Join(text(c.lines), "|") || p.Skipped() != "" || p.Unshown() {
			t.Errorf("%d lines on %d rows: %s, want %s; %s", c.lines, c.rows, got, c.want, p.Skipped())
		}
	}
}

func TestSkipped(t *testing.T) {
	p := NewPages(text(23*5 + 20)) // six pages
	show := func() { p.Fit(24, 80); p.Show(false) }
	at := func(want int) {
		t.Helper()
		if n, of := p.Number(); n != want || of != 6 {
			t.Errorf("page %d of %d, want %d", n, of, want)
		}
	}
	show()
	at(1)
	p.End()
	show()
	at(6)
	if got := p.Skipped(); got != "pages 2 to 5 were skipped" || !p.Last() {
		t.Errorf("%q", got)
	}
	p.Turn(-2)
	show()
	at(4)
	if got := p.Skipped(); got != "3 pages from 2 to 5 were skipped" {
		t.Errorf("%q", got)
	}
	if !p.Unshown() {
		t.Error("all was shown")
	}
	at(2)
	for range 4 {
		show()
		p.Turn(1)
	}
	if got := p.Skipped(); got != "" || p.Unshown() {
		t.Errorf("%q", got)
	}
}

// TestResize: nothing is missed, whatever happens to the window between two pages.
func TestResize(t *testing.T) {
	lines := append(text(10), Gutter+strings.Repeat("0123456789", 300), "digest   x")
	p := NewPages(lines)
	var seen strings.Builder
	for i := 0; ; i++ {
		p.Fit(5+i%4*7, 40+i%3*23)
		before := p.place
		for _, l := range p.Show(false) {
			seen.WriteString(strings.TrimPrefix(l, Gutter))
		}
		if p.Last() {
			break
		}
		if p.Turn(1); p.place <= before {
			t.Fatalf("page %d goes from %d to %d", i, before, p.place)
		}
	}
	if p.Skipped() != "" {
		t.Error(p.Skipped())
	}
	if got := seen.String(); !strings.HasSuffix(got, "digest   x") || strings.Count(got, "line 10") == 0 {
		t.Error(got)
	}
}

func TestPaint(t *testing.T) {
	lines := []string{"task     abc", "proven   NOT proven", "proven   yes", "warning  " + strings.Repeat("x", 30), "from", Gutter + "warning  x"}
	p := NewPages(lines)
	p.Fit(24, 20)
	got := strings.Join(p.Show(true), "\n")
	want := "\x1b[1mtask\x1b[0m     abc\n\x1b[7mproven   NOT proven\x1b[0m\n\x1b[1mproven\x1b[0m   yes\n" +
		"\x1b[7mwarning  xxxxxxxxxxx\x1b[0m\n\x1b[7m         xxxxxxxxxxx\x1b[0m\n\x1b[7m         xxxxxxxx\x1b[0m\n" +
		"\x1b[1mfrom\x1b[0m\n  | warning  x"
	if got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// FuzzPages: the account of what was shown is true, however pages are turned and the
// terminal is resized: a page counts as shown only if each of its rows was.
func FuzzPages(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), uint(50), uint(100))
	f.Fuzz(func(t *testing.T, moves []byte, lines, width uint) {
		all := text(int(lines % 80))
		all = append(all, Gutter+strings.Repeat("x", int(width%2000)), "end")
		p := NewPages(all)
		bytes := make([]bool, p.end)
		for _, m := range moves {
			p.Fit(int(m%30), int(m)*2)
			p.Show(false)
			i := p.current()
			for j := p.offset(i); j < p.offset(i+1); j++ {
				bytes[j] = true
			}
			switch m % 6 {
			case 0:
				p.End()
			case 1:
				p.Turn(-1)
			case 2:
				p.Unshown()
			default:
				p.Turn(1)
			}
		}
		if len(moves) == 0 {
			return
		}
		whole := true
		for _, b := range bytes {
			whole = whole && b
		}
		if whole != (p.Skipped() == "") {
			t.Errorf("all shown: %v, and it says %q", whole, p.Skipped())
		}
	})
}
