package main

import (
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/creack/pty"
)

var code = regexp.MustCompile(`code: (\w{4})\r\n[^\r\n]*: $`)

// answer is a person who says yes to all that waits, at a terminal, every two seconds. What
// fails, as when there is no server, is tried again; what another person answered before is
// said by the command.
func (m *machine) answer() {
	defer m.w.awake.Done()
	for tick := time.NewTicker(2 * time.Second); ; <-tick.C {
		select {
		case <-m.w.night:
			return
		default:
		}
		out, err := m.sh(m.as("pulse-queue list --state awaiting_review --json | jq -r .task.id"))
		if ids := strings.Fields(out); err == nil && len(ids) > 0 {
			m.says(m.as("for id in " + strings.Join(ids, " ") + "; do pulse-approve yes $id || :; done"))
		}
	}
}

// says runs lines of bash at a terminal, and types each code that it shows.
func (m *machine) says(lines string) {
	f, err := pty.StartWithSize(m.inside("bash", "-c", lines), &pty.Winsize{Rows: 200, Cols: 100}) // one page
	if err != nil {
		return
	}
	defer f.Close()
	var shown []byte
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		shown = append(shown, buf[:n]...)
		_ = m.w.put("outside/said-"+m.name, string(shown), 0o644)
		if found := code.FindSubmatch(shown); found != nil {
			shown = nil
			if _, err := io.WriteString(f, string(found[1])+"\r"); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
