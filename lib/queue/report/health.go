package report

import (
	"context"
	"errors"
	"slices"

	"pulse/lib/queue/health"
	"pulse/lib/queue/journal"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
)

// The bounds of what health finds for a digest.
const (
	digestFindings = 5       // are told, one of a code
	maxChain       = 2 << 20 // bytes; the chain of a longer log is not checked
)

// healthFound is what health finds, and what it could not look at.
type healthFound struct {
	findings []health.Finding
	blind    string // why nothing was looked at
	long     bool   // the chain of the log was not
}

// readHealth looks at the queue as health does. It leaves out the tasks that wait for a person,
// which the page names anyway.
func (p *Page) readHealth(s Store) (err error) {
	h := &p.health
	if h.blind = p.Blind; h.blind != "" {
		return nil
	}
	if h.long = s.LogSize() > maxChain; h.long {
		h.findings, err = health.Look(s, &p.Facts)
	} else {
		h.findings, err = Examine(s, &p.Facts)
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if err != nil {
		h.blind = err.Error()
	}
	h.findings = slices.DeleteFunc(h.findings, func(f health.Finding) bool {
		return f.Code == health.Waiting || slices.Contains(p.Accepted, f.Code)
	})
	return nil
}

// Examine looks at a queue, and checks the chain first: with a broken log nothing else may be readable.
func Examine(s Store, f *health.Facts) (list []health.Finding, err error) {
	report, err := s.VerifyChain()
	if errors.Is(err, journal.ErrBroken) {
		report.Findings, err = append(report.Findings, err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	f.Chain = report.Findings
	list, err = health.Look(s, f)
	if errors.Is(err, journal.ErrBroken) && len(f.Chain) > 0 {
		return health.Broken(f), nil
	}
	return list, err
}

// lines returns what was found, with the command of each on a line of its own.
func (h *healthFound) lines() []string {
	if h.blind != "" {
		return []string{titled("health", "could not be looked at: "+escape.Message(h.blind))}
	}
	title, told := "finds "+cmdline.Count(len(h.findings), "thing"), map[health.Code]bool{}
	var lines []string
	for i := range h.findings {
		f := &h.findings[i]
		if told[f.Code] || len(told) == digestFindings {
			title = "finds " + cmdline.Count(len(h.findings), "thing") + ", all with: pulse-queue health"
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
