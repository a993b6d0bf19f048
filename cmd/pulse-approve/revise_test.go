package main

import (
	"os"
	"strings"
	"testing"
)

// TestRevise: r refuses an effect with words, and starts its ask again, whose agent is told
// them. Where there is no ask, nothing is changed.
func TestRevise(t *testing.T) {
	d := newDesk(t)
	const propose = `cat >"$1"; echo '{"action":"external_send","target":["bob@partner.example"],"args":{"text":"a long text"}}'`
	ask := d.task(d.must("", "pulse-queue", "submit", "--action", "write_local", "Write to bob.")).ID
	d.must("", "pulse-queue", "run", "--proposals", "--", "sh", "-c", propose, "sh", d.path("first"))
	d.must(d.must(d.must("", "pulse-queue", "outbox"), "pulse-authorize"), "pulse-queue", "add")
	alone := d.add(saying("of no ask"))
	s := d.walk(24, 80)
	for range 2 {
		for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
			s.types("")
		}
		s.types("r", "shorter, please")
		s.types(s.sees(codePrompt))
	}
	s.sees(`its ask is not started again: it is not completed: nothing was changed\r\n`)
	s.types("q")
	screen := s.ends(0)
	if !strings.Contains(screen, "refused: its agent is told why, and starts again") || !strings.HasSuffix(screen, "\r\n0 approved, 1 refused, 1 left\r\n") {
		t.Error(screen)
	}
	if got := d.show(ask); got.State != "scheduled" || got.Reason != "revised" {
		t.Errorf("%+v", got)
	}
	if got := d.show(alone); got.State != "awaiting_review" {
		t.Errorf("%+v", got)
	}
	d.must("", "pulse-queue", "run", "--proposals", "--", "sh", "-c", propose, "sh", d.path("second"))
	if told, err := os.ReadFile(d.path("second")); err != nil || !strings.Contains(string(told), `"outcome":"refused","reason":"shorter, please"`) {
		t.Errorf("%s, %v", told, err)
	}
	if out := d.must("", "pulse-queue", "outbox"); !strings.Contains(out, `"ordinal":100,`) {
		t.Errorf("what it proposes again is no other effect: %s", out)
	}
	d.must("", "pulse-queue", "verify")
}

// TestReviseKeepsLabels: what an ask has read stays known when it is started again, and what is then
// proposed for it has the labels from before.
func TestReviseKeepsLabels(t *testing.T) {
	d := newDesk(t)
	const propose = `cat >/dev/null; echo '{"action":"read_private","args":{"q":"%s"}}'; echo '{"action":"external_send","target":["bob@partner.example"],"args":{"text":"%s"}}'`
	work := func(word string) string {
		t.Helper()
		d.must("", "pulse-queue", "run", "--proposals", "--", "sh", "-c", strings.ReplaceAll(propose, "%s", word))
		added := d.must(d.must(d.must("", "pulse-queue", "outbox"), "pulse-authorize"), "pulse-queue", "add")
		d.must("", "pulse-queue", "run", "--effect", "read_private", "--", "true")
		return added
	}
	ask := d.task(d.must("", "pulse-queue", "submit", "--action", "write_local", "Write to bob.")).ID
	work("one")
	s := d.walk(24, 80)
	for s.sees(`(?:`+pagePrompt+`|(your answer .*: $))`) == "" {
		s.types("")
	}
	s.types("r", "shorter")
	s.types(s.sees(codePrompt))
	s.ends(0)
	if record := d.must("", "pulse-queue", "show", ask, "--json"); !strings.Contains(record, `"state":"scheduled"`) || !strings.Contains(record, `"labels":["private"]`) {
		t.Error(record)
	}
	again := work("two")
	if strings.Count(again, `"action":"external_send","outcome"`) != 1 {
		t.Error(again)
	}
	for line := range strings.Lines(again) {
		if strings.Contains(line, `"external_send"`) && !strings.Contains(line, `"labels":["private"]`) {
			t.Error(line)
		}
	}
}
