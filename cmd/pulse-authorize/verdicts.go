package main

import (
	"bufio"
	"cmp"
	"fmt"
	"strings"

	"pulse/lib/authorize/replay"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
)

// verdicts prints what a test found out, for people or as TAP 13.
type verdicts struct {
	w   *bufio.Writer
	tap bool
}

// line prints a line whose parts may come from outside.
func (v *verdicts) line(format string, args ...any) {
	fmt.Fprintln(v.w, escape.Line(fmt.Sprintf(format, args...)))
}

func (v *verdicts) begin() {
	if v.tap {
		v.line("TAP version 13")
	}
}

// answer prints what became of a record. People are told only what differs.
func (v *verdicts) answer(nth int, where string, a *replay.Answer, found []string) {
	who := cmp.Or(a.Identity.Sender, "-")
	switch {
	case v.tap:
		v.point(nth, fmt.Sprintf("%s %s %s %s", where, who, a.Decision.Action, a.Decision.Outcome), found)
	case len(found) > 0:
		text := strings.Join(found, "; ")
		if r := a.Identity.Reason; r != "" {
			text += " (" + string(r) + ")"
		}
		v.line("%s: %s: %s", where, who, text)
	}
}

// point prints a test point.
func (v *verdicts) point(nth int, what string, found []string) {
	not := ""
	if len(found) > 0 {
		not = "not "
	}
	fmt.Fprintf(v.w, "%sok %d - %s\n", not, nth, tapText(escape.Line(what)))
	for _, f := range found {
		v.line("# %s", f)
	}
}

// tapText escapes what would end a description.
func tapText(s string) string { return strings.NewReplacer(`\`, `\\`, "#", `\#`).Replace(s) }

func (v *verdicts) bail(err error) {
	if v.tap {
		v.line("Bail out! %v", err)
	}
}

func (v *verdicts) end(cases int) {
	if v.tap {
		v.line("1..%d", cases)
	}
}

// coverage prints how many rules of the policy were reached, and each that never was.
func (v *verdicts) coverage(p *policy.Policy, reached map[replay.Rule]bool) {
	mark := ""
	if v.tap {
		mark = "# "
	}
	rules := replay.Rules(p)
	var never []string
	for _, r := range rules {
		if reached[r] {
			continue
		}
		name := r.Name()
		if n := r.Line(p); n > 0 {
			name = fmt.Sprintf("%s (%s:%d)", name, p.Name, n)
		}
		never = append(never, name)
	}
	v.line("%sexercised %d of %d rules", mark, len(rules)-len(never), len(rules))
	for _, name := range never {
		v.line("%snever: %s", mark, name)
	}
}
