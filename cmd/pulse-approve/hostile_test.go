package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pulse/lib/shared/escape/escapetest"
)

// frame are our words that may begin a line.
var frame = []string{"details", "proof", "asked", "task", "kind", "state", "sender", "proven", "action", "target", "rule", "because", "age", "expires", "attempts", "digest",
	"behalf", "answers", "warning", "since", "again", "caution", "waiting", "page", "message", "from", "subject", "thread", "text", "files", "tool", "args", "also", "code:", "type"}

// TestHostileText: whatever stands in a record, the terminal is given lines that
// move nothing, and only ours begin in the first column.
func TestHostileText(t *testing.T) {
	for _, attack := range escapetest.Records() {
		d := newDesk(t)
		d.must("", "pulse-queue", "init")
		id := d.task(d.must(escapetest.Effect(attack), "pulse-queue", "add")).ID
		status, screen := d.answer(func(string) string { return "no\n" }, "yes", id)
		if status != 77 {
			t.Errorf("exit %d", status)
		}
		question, _, _ := strings.Cut(screen, "pulse-approve: ")
		count := map[string]int{}
		for _, line := range strings.Split(question, "\n") {
			line = strings.TrimSuffix(line, "\r")
			if why := escapetest.Wrong(line); why != "" {
				t.Errorf("%s: the terminal was given a line in which %s", attack.Name, why)
			}
			if columns(line) > 80 && !strings.HasPrefix(line, "type the code") {
				t.Errorf("%s makes a line of %d columns: %q", attack.Name, columns(line), line)
			}
			if word, _, _ := strings.Cut(line, " "); word != "" {
				count[word]++
			}
		}
		for word := range count {
			if !slices.Contains(frame, word) {
				t.Errorf("%s puts %q in the first column", attack.Name, word)
			}
		}
		if count["target"] != 2 || count["code:"] != 1 || count["task"] != 1 || count["also"] != 1 {
			t.Errorf("%s: %v\n%s", attack.Name, count, question)
		}
	}
}

// columns is how wide a line may be on a terminal, at most.
func columns(line string) int {
	n := 0
	for _, r := range line {
		if n++; r >= utf8.RuneSelf {
			n++
		}
	}
	return n
}
