package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/approve/screen"
	"pulse/lib/authorize/pins"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// shownChanges describes what a person has to accept. All of it is escaped, and what the
// server has written stands after a gutter, except for names, which are in ASCII.
func shownChanges(old *pins.Server, changes []pins.Change) (lines []string) {
	if old != nil && old.Err != nil {
		lines = append(lines, screen.Fact("broken", "%v", old.Err))
	}
	for _, ch := range changes {
		lines = append(lines, "")
		switch {
		case ch.Now == nil:
			lines = append(lines, screen.Fact("gone", "%s", ch.Old.Name))
		case ch.Old == nil:
			lines = append(lines, screen.Fact("tool", "%s", ch.Now.Name))
			lines = append(lines, shownMembers(&pins.Tool{Definition: "{}"}, ch.Now, "")...)
		default:
			lines = append(lines, screen.Fact("changed", "%s", ch.Now.Name))
			lines = append(lines, shownMembers(ch.Old, ch.Now, "- and + are the old and the new lines of the ")...)
		}
	}
	return append(lines, "", screen.Fact("again", "%d tools are new, changed or gone", len(changes)))
}

// shownMembers shows the members in which a definition differs from an earlier one, the
// description first.
func shownMembers(old, now *pins.Tool, title string) (lines []string) {
	names := slices.DeleteFunc(pins.Differ(*old, *now), func(n string) bool { return n == "name" })
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	for _, name := range names {
		was, is := old.Member(name), now.Member(name)
		lines = append(lines, title+heading(name))
		text := readable(is)
		if title != "" {
			text = pins.Lines(readable(was), text)
		}
		if title != "" && !slices.ContainsFunc(text, func(l string) bool { return l[0] != ' ' }) { // they differ in what is not shown
			text = []string{"- " + escape.ASCII(string(was)), "+ " + escape.ASCII(string(is))}
		}
		for _, l := range text {
			lines = append(lines, screen.Gutter+l)
		}
	}
	return lines
}

// usual are the members that most definitions have, in the order in which they are shown.
var usual = []string{"title", "description", "inputSchema", "outputSchema", "annotations"}

// rank sorts the members of a definition.
func rank(member string) string {
	if i := slices.Index(usual, member); i >= 0 {
		return fmt.Sprint(i)
	}
	return "~" + member
}

// heading returns the name of a member so that it can't pass for a line of ours.
func heading(member string) string {
	if slices.Contains(usual, member) {
		return member
	}
	return "member " + escape.ASCII(string(record.AppendString(nil, member)))
}

// readable returns a value in safe lines: a string as text, and anything else as JSON.
func readable(v record.Value) []string {
	if v == "" {
		return nil
	}
	if s, err := v.String(); err == nil {
		return escape.Text(s)
	}
	var b bytes.Buffer
	if json.Indent(&b, []byte(v), "", "  ") != nil {
		return escape.Text(string(v))
	}
	return escape.Text(b.String())
}
