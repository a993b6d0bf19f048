package report

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// digestWidth is the most columns that a line of a digest has, because mail programs break
// longer ones. Only the lines that name the queue and the policy may be longer: they are
// there to be typed.
const digestWidth = 78

// Lines lays a digest out. A section that has nothing to say has no line. exports are what to type before
// the commands, by what they are: a mail is not read where it was made.
func (p *Page) Lines(exports [][2]string) []string {
	rest := slices.Concat(
		p.counted(), p.waiting(), p.expiring(), p.ended(), p.refused(), p.putOff(), p.untaken(), p.drafts.lines(p.Now, p.Flat),
		p.starts(), p.past.mail(), p.health.lines(), p.recurs(),
	)
	lines := fold([]string{p.headline()})
	if len(rest) > 0 {
		for _, e := range exports {
			lines = append(lines, titled(e[0], e[1]))
		}
	}
	return append(lines, fold(rest)...)
}

// headline says in one sentence whether anything needs a person.
func (p *Page) headline() string {
	var parts []string
	if p.past.broken != nil {
		parts = append(parts, "the log can't be read")
	}
	if p.figures.held != "" || p.open.lost != "" {
		parts = append(parts, "nothing starts")
	}
	if w := &p.open.waiting; w.all > 0 {
		parts = append(parts, fmt.Sprintf("%s for a person, oldest %s",
			agreed(w.all, "task waits", "tasks wait"), duration.Span(p.Now.Sub(w.list[0].at))))
	}
	if n := len(p.health.findings); n > 0 {
		parts = append(parts, "health finds "+cmdline.Count(n, "thing"))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "; ")
	case p.health.blind != "":
		return "nothing needs a person, as far as could be seen"
	}
	return "nothing needs a person"
}

// agreed returns a number with the words that agree with it.
func agreed(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// titled begins a section. The text is ours, or escaped.
func titled(name, text string) string { return fmt.Sprintf("%-8s %s", name, text) }

// under is how far the lines of a section that belong to the line above them are indented.
const under = "         "

// fold breaks lines that are wider than a page, between words where there are any.
func fold(lines []string) (folded []string) {
	for _, l := range lines {
		for prefix := ""; ; prefix = under {
			n := escape.Fit(l, digestWidth-len(prefix), len(under)-len(prefix))
			folded = append(folded, prefix+strings.TrimSuffix(l[:n], " "))
			if l = l[n:]; l == "" {
				break
			}
		}
	}
	return folded
}

// counted counts the tasks by state.
func (p *Page) counted() []string {
	var parts []string
	for _, st := range task.States {
		if n := p.figures.counts[st]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{titled("tasks", strings.Join(parts, ", "))}
}
