package main

import (
	"fmt"
	"slices"
	"strconv"

	"pulse/lib/queue/markup"
)

// The chart in its own units. It is stretched to the width of the page, so that no text
// stands in it.
const (
	chartHeight = 100
	barWidth    = 10
	barGap      = 4
)

// daysTo draws what came day by day, and says the same as a table.
func (s *sheet) daysTo(w *paper) {
	w.section(fmt.Sprintf("What came in %d days", len(s.days)))
	defer w.End()
	if s.most == 0 {
		w.note("Nothing.")
		return
	}
	w.Open("figure")
	w.key()
	w.Put("p", fmt.Sprintf("%d", s.most), markup.Class("most"))
	s.chart(w)
	w.Open("p", markup.Class("axis"))
	w.Put("span", s.days[0].date)
	w.Put("span", s.days[len(s.days)-1].date)
	w.End()
	w.End()
	if s.partial {
		w.note("≥: more were refused on that day than the log lists.")
	}
	w.Open("details")
	w.Put("summary", "The same as a table")
	w.table("day", "#allowed", "#for a person", "#refused", "#all", "#of these effects")
	for _, d := range slices.Backward(s.days) {
		w.row(d.date)
		w.number(d.allowed)
		w.number(d.asked)
		w.figure(atLeast(d.more, d.refused))
		w.figure(atLeast(d.more, d.all()))
		w.number(d.effects)
		w.End()
	}
	w.ended()
	w.End()
}

func atLeast(more bool, n int) string {
	if more {
		return "≥ " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// key says what the parts of a bar are. They differ in lightness and outline, not in colour
// alone.
func (w *paper) key() {
	w.Open("ul", markup.Class("key"))
	w.named("allowed", markup.Class("allowed"))
	w.named("waits for a person", markup.Class("asked"))
	w.named("refused", markup.Class("refused"))
	w.End()
}

func (w *paper) named(text string, class markup.Attribute) {
	w.Open("li")
	w.Open("svg", markup.Set("viewBox", "0 0 12 12"), markup.Set("aria-hidden", "true"))
	w.rect(class, 1, 1, 10, 10)
	w.End()
	w.Text(text)
	w.End()
}

// rect draws a part of a bar.
func (w *paper) rect(class markup.Attribute, x, y, width, height float64) {
	w.Open("rect", class, markup.Set("x", decimal(x)), markup.Set("y", decimal(y)),
		markup.Set("width", decimal(width)), markup.Set("height", decimal(height)))
	w.End()
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 32) }

func (s *sheet) chart(w *paper) {
	sum, width := 0, len(s.days)*(barWidth+barGap)
	for _, d := range s.days {
		sum += d.all()
	}
	w.Open("svg", markup.Class("chart"), markup.Set("role", "img"), markup.Set("preserveAspectRatio", "none"),
		markup.Set("viewBox", fmt.Sprintf("0 0 %d %d", width, chartHeight)),
		markup.Set("aria-label", fmt.Sprintf("%s, at most %d on one day; the table has the numbers", count(sum, "record"), s.most)))
	for i, d := range s.days {
		w.Open("g")
		w.Put("title", fmt.Sprintf("%s: %d allowed, %d for a person, %s refused", d.date, d.allowed, d.asked, atLeast(d.more, d.refused)))
		top := float64(chartHeight)
		for _, part := range []struct {
			n     int
			class markup.Attribute
		}{{d.allowed, markup.Class("allowed")}, {d.asked, markup.Class("asked")}, {d.refused, markup.Class("refused")}} {
			if part.n > 0 {
				height := float64(part.n) * chartHeight / float64(s.most)
				top -= height
				w.rect(part.class, float64(i*(barWidth+barGap)+barGap/2), top, barWidth, height)
			}
		}
		w.End()
	}
	w.End()
}

// gauge draws how much of a cap was used.
func (w *paper) gauge(used, of int) {
	share := 0.0
	if of > 0 {
		share = min(100, 100*float64(used)/float64(of))
	}
	w.Open("svg", markup.Class("gauge"), markup.Set("viewBox", "0 0 100 10"), markup.Set("preserveAspectRatio", "none"), markup.Set("aria-hidden", "true"))
	w.rect(markup.Class("allowed"), 0, 0, share, 10)
	w.rect(markup.Class("refused"), 0, 0, 100, 10)
	w.End()
}
