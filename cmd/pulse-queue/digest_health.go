package main

import (
	"context"
	"errors"
	"slices"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
)

// The bounds of what health finds for a digest.
const (
	digestFindings = 5       // are told, one of a code
	maxChain       = 2 << 20 // bytes; the chain of a longer log is not checked
)

// looked is what health finds, and what it could not look at.
type looked struct {
	accepted []health.Code
	facts    health.Facts
	findings []health.Finding
	blind    string // why nothing was looked at
	long     bool   // the chain of the log was not
}

// survey finds out what a confined command could not.
func (h *looked) survey(c *cli.Context, s door.Store, p *policy.Policy) {
	err := s.Writable() // a copy has no workers, and no sources
	if err == nil {
		err = patiences(c, &h.facts, h.accepted)
	}
	if err == nil {
		err = survey(c, &h.facts, s, p)
	}
	if err != nil {
		h.blind = err.Error()
	}
}

// look looks at the queue as health does. It leaves out the tasks that wait for a person,
// which the page names anyway.
func (h *looked) look(s door.Store) (err error) {
	if h.blind != "" {
		return nil
	}
	if h.long = s.LogSize() > maxChain; h.long {
		h.findings, err = health.Look(s, &h.facts)
	} else {
		h.findings, err = examine(s, &h.facts)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		h.blind = err.Error()
	}
	h.findings = slices.DeleteFunc(h.findings, func(f health.Finding) bool {
		return f.Code == health.Waiting || slices.Contains(h.accepted, f.Code)
	})
	return nil
}

// lines returns what was found, with the command of each on a line of its own.
func (h *looked) lines() []string {
	if h.blind != "" {
		return []string{titled("health", "could not be looked at: "+escape.Message(h.blind))}
	}
	title, told := "finds "+count(len(h.findings), "thing"), map[health.Code]bool{}
	var lines []string
	for i := range h.findings {
		f := &h.findings[i]
		if told[f.Code] || len(told) == digestFindings {
			title = "finds " + count(len(h.findings), "thing") + ", all with: pulse-queue health"
			continue
		}
		told[f.Code] = true
		lines = append(lines, "  "+escape.Message(string(f.Code)+": "+f.Text))
		lines = append(lines, "       "+escape.Message(f.Do))
	}
	if h.long {
		lines = append(lines, "  the log is long: its chain was not checked", "       pulse-queue verify")
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{titled("health", title)}, lines...)
}
