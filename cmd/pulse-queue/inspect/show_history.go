package inspect

import (
	"fmt"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
)

// repeated tells what happened, and once if it happened several times in a row: mail that
// was refused is refused again each time it is fetched.
type repeated struct {
	text        string
	first, last time.Time
	times       int
}

// add notes what happened, and returns the line about what happened before if that differs.
func (r *repeated) add(at time.Time, text string) (lines []string) {
	if r.times == 0 || text != r.text {
		lines = r.end()
		*r = repeated{text: text, first: at}
	}
	r.last = at
	r.times++
	return lines
}

func (r *repeated) end() []string {
	if r.times == 0 {
		return nil
	}
	text := r.first.Format(time.RFC3339) + " " + r.text
	if r.times > 1 {
		text += fmt.Sprintf(", %d times, the last at %s", r.times, r.last.Format(time.RFC3339))
	}
	return []string{"  " + escape.Message(text)}
}

func (t *teller) history() {
	t.print("history")
	var h repeated
	for i := range t.lines {
		l := &t.lines[i]
		if t.child(l) {
			continue
		}
		t.print(h.add(l.Time, happened(l)+t.noted(l))...)
		if l.End != nil {
			t.print(h.end()...)
			t.print(attempt(l.End))
			h = repeated{}
		}
	}
	t.print(h.end()...)
}

// attempt returns how an attempt ended, to stand below the line that says what came of it.
func attempt(e *audit.End) string {
	text := fmt.Sprintf("exit %d", e.Exit)
	if e.Exit < 0 {
		text += " (killed by a signal, or never started)"
	}
	if e.Said != "" {
		text += ", said: " + e.Said
	}
	return "    " + escape.Message(text)
}

// happened returns a line of the log in words.
func happened(l *audit.Line) string {
	text := string(l.Event)
	switch l.Event {
	case audit.Judged:
		return text + " " + judged(l)
	case audit.Labelled:
		return text + ": " + l.Labels.String()
	}
	if l.To != "" {
		text += " -> " + string(l.To)
	}
	if l.Change.Reason != "" {
		text += " (" + l.Change.Reason + ")"
	}
	switch l.Event {
	case task.Retried, task.Restored, task.GaveUp, task.Undecided, task.Restarted:
		text += fmt.Sprintf(", attempts %d, restarts %d", l.Change.Attempts, l.Change.Restarts)
	case task.Parked, task.Dropped, task.Refused:
		text += fmt.Sprintf(", %s by %s", l.Outcome, l.Rule)
	}
	if g := l.Grant; g != nil && l.Event == audit.Consumed {
		text += " grant " + g.ID
	}
	if !l.Change.NotBefore.IsZero() && !l.Change.NotBefore.Equal(store.Forever) {
		text += ", not before " + l.Change.NotBefore.Format(time.RFC3339)
	}
	if l.Account != "" {
		text += " as " + l.Account
	}
	if l.By != "" {
		text += " by " + l.By
	}
	if l.Level != "" {
		text += ", level " + string(l.Level)
	}
	if l.Count > 0 {
		text += ": " + cmdline.Count(l.Count, "proposal")
	}
	return text
}

// judged returns what the run decided about uses of a tool.
func judged(l *audit.Line) string {
	text := string(l.Outcome)
	for _, part := range []struct{ before, word string }{
		{" of ", l.Tool}, {" for ", string(l.Action)}, {" by ", l.Rule},
	} {
		if part.word != "" {
			text += part.before + part.word
		}
	}
	return text + fmt.Sprintf(" (%s), %s", l.Change.Reason, times(l.Count))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// noted says whose note a line is about, and how that begins.
func (t *teller) noted(l *audit.Line) string {
	if l.Event != audit.Noted {
		return ""
	}
	text := " by task " + l.Parent
	if s, err := queue.Find(t.v, l.Parent); err == nil && s.Request != nil {
		text += ": " + escape.Clip(escape.Message(proposal.Arg(s.Request.Args, "text")), maxNote)
	}
	return text
}

// maxNote is how much of a note is told, in columns.
const maxNote = 200
