package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/screen"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// digestWidth is the most columns that a line of a digest has, because mail programs break
// longer ones. Only the lines that name the queue and the policy may be longer: they are
// there to be typed.
const digestWidth = 78

// lines lays the page out. A section that has nothing to say has no line.
func (p *page) lines(env []string) []string {
	rest := slices.Concat(
		p.counted(), p.waiting(), p.expiring(), p.ended(), p.refused(), p.putOff(), p.untaken(), p.drafts.lines(p.now),
		p.starts(), p.past.mail(), p.health.lines(), p.recurs(),
	)
	lines := screen.Fold(wrap(p.headline(), 2), digestWidth)
	if len(rest) > 0 {
		lines = append(lines, env...)
	}
	return append(lines, screen.Fold(rest, digestWidth)...)
}

// headline says in one sentence whether anything needs a person.
func (p *page) headline() string {
	var parts []string
	if p.past.broken != nil {
		parts = append(parts, "the log can't be read")
	}
	if p.figures.held != "" || p.open.lost != "" {
		parts = append(parts, "nothing starts")
	}
	if w := &p.open.waiting; w.all > 0 {
		parts = append(parts, fmt.Sprintf("%s for a person, oldest %s",
			agreed(w.all, "task waits", "tasks wait"), span(p.now.Sub(w.list[0].at))))
	}
	if n := len(p.health.findings); n > 0 {
		parts = append(parts, "health finds "+count(n, "thing"))
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

// environment returns the lines that make the commands of a digest work in the shell of the
// person who reads it: a mail is not read where it was made.
func environment(c *cli.Context) (lines []string) {
	for _, flag := range []string{"queue", "policy"} {
		if text := export(c, flag); text != "" {
			lines = append(lines, titled(flag, text))
		}
	}
	return lines
}

// export returns the line that sets the variable of a flag, "" where the flag has no value.
func export(c *cli.Context, flag string) string {
	path, err := cmdline.Absolute(c.String(flag))
	if err != nil || path == "" {
		return ""
	}
	return "export PULSE_" + strings.ToUpper(flag) + "=" + escape.Message(escape.Shell(path))
}

// titled begins a section. The text is ours, or escaped.
func titled(name, text string) string { return fmt.Sprintf("%-8s %s", name, text) }

// under is how far the lines of a section that belong to the line above them are indented.
const under = "         "

// wrap breaks a line between words. What has no blank is left to screen.Fold.
func wrap(line string, indent int) (lines []string) {
	for fitting(line, digestWidth) < len(line) {
		end := strings.LastIndexByte(line[:fitting(line, digestWidth+1)], ' ')
		if end <= indent {
			break
		}
		lines = append(lines, line[:end])
		line = under[:indent] + line[end+1:]
	}
	return append(lines, line)
}

// clip cuts a text that was escaped to at most n columns. The mark of a cut is ASCII, as all of
// a digest is without --subjects: mail(1) makes plain text of that in the locale of cron.
func clip(s string, n int) string {
	const cut = "..."
	if fitting(s, n) == len(s) {
		return s
	}
	return s[:fitting(s, n-len(cut))] + cut
}

// fitting returns how many bytes of a text have at most n columns. As in screen.Fold, a
// character that is not ASCII counts as two columns, and a mark stays with its letter.
func fitting(s string, n int) (end int) {
	used := 0
	for i, r := range s {
		if !escape.Joins(r) {
			end = i
		}
		if used++; r >= utf8.RuneSelf {
			used++
		}
		if used > n {
			return end
		}
	}
	return len(s)
}

// counted counts the tasks by state.
func (p *page) counted() []string {
	var parts []string
	for _, st := range task.States {
		if n := p.figures.counts[st]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return wrap(titled("tasks", strings.Join(parts, ", ")), len(under))
}
