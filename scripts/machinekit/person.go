package main

import (
	"strings"
	"time"
)

// answer is a person who says yes to all that waits, at a terminal, every two seconds. What
// fails, as when there is no server, is tried again; what another person answered before is
// said by the command.
func (m *computer) answer() {
	defer m.w.awake.Done()
	for tick := time.NewTicker(2 * time.Second); ; <-tick.C {
		select {
		case <-m.w.night:
			return
		default:
		}
		out, err := m.Sh(m.as("pulse-queue list --state awaiting_review --json | jq -r .task.id"))
		if ids := strings.Fields(out); err == nil && len(ids) > 0 {
			m.says(m.as("for id in " + strings.Join(ids, " ") + "; do pulse-approve yes $id || :; done"))
		}
	}
}

// says runs lines of bash at a terminal, and types each code that it shows.
func (m *computer) says(lines string) {
	p, end, err := m.Sit("bash", "-c", lines)
	if err != nil {
		return
	}
	defer end()
	for err == nil {
		var code string
		if code, err = p.Code(); err == nil {
			err = p.Answer(code)
		}
	}
	_, screen := p.Wait()
	_ = m.w.put("outside/said-"+m.name, string(screen), 0o644)
}
