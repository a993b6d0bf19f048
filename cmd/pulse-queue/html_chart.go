package main

import (
	"fmt"
	"slices"
	"strings"
)

// The chart in its own units. It is stretched to the width of the page, so that no text
// stands in it.
const (
	chartHeight = 100
	barWidth    = 10
	barGap      = 4
)

// chart is what came day by day, as bars.
type chart struct {
	Key         []mark
	Bars        []bar
	Most, Width int    // on one day; of all bars
	First, Last string // day
	Label       string
}

type (
	// mark is a part of a bar. They differ in lightness and outline, not in colour alone.
	mark struct{ Name, Class string }
	bar  struct {
		Title string
		Parts []part
	}
	part struct {
		Class        string
		X, Y, Height float64
	}
)

// draw draws what came day by day, and says the same as a table.
func (s *sheet) draw(days []daily) {
	sum := 0
	for i := range days {
		d := &days[i]
		s.Most, sum, s.Partial = max(s.Most, d.all()), sum+d.all(), s.Partial || d.more
	}
	s.Key = []mark{{"allowed", "allowed"}, {"waits for a person", "asked"}, {"refused", "refused"}}
	s.Width, s.First, s.Last = len(days)*(barWidth+barGap), days[0].date, days[len(days)-1].date
	s.Label = fmt.Sprintf("%s, at most %d on one day; the table has the numbers", count(sum, "record"), s.Most)
	for i, d := range days {
		b := bar{Title: fmt.Sprintf("%s: %d allowed, %d for a person, %s refused", d.date, d.allowed, d.asked, atLeast(d.more, d.refused))}
		top := float64(chartHeight)
		for j, n := range []int{d.allowed, d.asked, d.refused} {
			if n > 0 {
				height := float64(n) * chartHeight / float64(s.Most)
				top -= height
				b.Parts = append(b.Parts, part{s.Key[j].Class, float64(i*(barWidth+barGap) + barGap/2), top, height})
			}
		}
		s.Bars = append(s.Bars, b)
	}
	s.Days.Columns = strings.Split("day,#allowed,#for a person,#refused,#all,#of these effects", ",")
	for _, d := range slices.Backward(days) {
		s.Days.add(d.date, d.allowed, d.asked, atLeast(d.more, d.refused), atLeast(d.more, d.all()), d.effects)
	}
}
