package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/terms"
)

// The bounds of what is told of starts that all end alike.
const (
	minAlike = 3              // starts
	minLater = time.Hour      // since the first, if each asked for a later start: that is no failure
	stale    = 48 * time.Hour // since the last: 24 hours at most lie between two attempts of a task
)

// provider finds the streaks in which what all workers need is missing. One task alone that fails
// says no more than that this one does.
func (f *Facts) provider(e *ends) (list []streak) {
	for _, s := range e.streaks() {
		if s.Alike < minAlike || f.Now.Sub(s.Last) >= stale {
			continue
		}
		later := s.Exit == queue.ExitLater
		if later && f.Now.Sub(s.Since) >= minLater || !later && len(s.Tasks) > 1 {
			list = append(list, s)
		}
	}
	return list
}

func provider(s *streak) Finding {
	how := fmt.Sprintf("with exit status %d", s.Exit)
	switch {
	case s.Exit == queue.ExitLater:
		how = "with 75, which asks for another start later"
	case s.Exit < 0:
		how = "without an exit status: they were killed, or could not be started"
	}
	of, tasks := fmt.Sprintf("all %d", s.Alike), fmt.Sprintf("%d tasks", len(s.Tasks))
	if s.All > s.Alike {
		of = fmt.Sprintf("%d of %d", s.Alike, s.All)
	}
	if len(s.Tasks) == 1 {
		tasks = "one task"
	}
	text := fmt.Sprintf("no start of %s has ended well since %s: %s (%s) ended %s, the last one at %s",
		s.side, stamp(s.Since), of, tasks, how, stamp(s.Last))
	if s.Said != "" {
		text += `, and said "` + strings.ReplaceAll(s.Said, `"`, "'") + `"` // not to be taken for the advice after it
	}
	return Finding{Code: codeProvider, About: about(s.side, s.Exit), Text: text, Do: "pulse-queue show " + s.Task}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// tried returns how long ago a start of a side ended that somebody made in vain; long, if none did.
func (p *past) tried(of side, now time.Time) time.Duration {
	for i := range p.streaks {
		if p.streaks[i].side == of {
			return now.Sub(p.streaks[i].Last)
		}
	}
	return 1<<63 - 1
}

// vain reports whether asks are started in vain: what keeps them waiting besides is no news. Effects
// with another action may wait for something else.
func (p *past) vain() bool {
	return slices.ContainsFunc(p.streaks, func(s streak) bool {
		return s.side == asks || s.side == readers
	})
}

// about tells a streak from others of its side that end in another way: that is another cause.
func about(of side, exit int) string { return fmt.Sprintf("%s, exit %d", of, exit) }

// sideFor returns the side that starts a scheduled task.
func sideFor(effect terms.Action, reads bool) side {
	switch {
	case effect != "":
		return side(effect)
	case reads:
		return readers
	}
	return asks
}

// Known reports whether a person knows that starts fail like the one whose end is the line: a run
// has told of one today, or health of all of them. The line is in the log.
func Known(v store.View, line *audit.Line) (bool, error) {
	_, known, err := queue.FindingOf(v, string(codeProvider), about(sideOf(line), line.End.Exit))
	if err != nil {
		return false, err
	}
	return repeats(v, line, known)
}
