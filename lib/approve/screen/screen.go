// Package screen describes a task in lines for a person: those that pulse-approve shows
// before it asks, and those that pulse-queue show prints. It renders the bytes that will
// be used, never a summary of them.
//
// Invariant: every line is safe to print (package escape). Content from outside that may
// have several lines stands after a gutter, so that it can't pass for a line of ours.
// Caveat: in a text, letters that look alike are not told apart. Addresses and targets
// are shown in ASCII, with a warning about letters that look like others.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
)

// Gutter stands before every line of content.
const Gutter = "  | "

// Fact returns one line: a name and what is said about it.
func Fact(name, format string, args ...any) string {
	return fmt.Sprintf("%-8s %s", name, escape.Message(fmt.Sprintf(format, args...)))
}

// exact is Fact for a value that a person must be able to compare: it is in ASCII.
func exact(name, value string) string {
	return fmt.Sprintf("%-8s %s", name, escape.ASCII(value))
}

// Task returns the lines about a task whose file could be read.
func Task(s *queue.Stored, now time.Time) []string {
	lines := []string{
		exact("task", s.Task.ID),
		Fact("kind", "%s", kinds[s.Task.Kind]),
		state(&s.Task),
		exact("sender", orNone(s.Identity.Sender)),
		Fact("proven", "%s (%s): %s", s.Identity.Trust, s.Identity.Reason, s.Identity.Why),
		Fact("advice", "%s", orNone(s.Identity.Reason.Advice())),
		exact("action", string(s.Decision.Action)),
	}
	lines = append(lines, answered(s)...)
	for _, t := range s.Target() {
		lines = append(lines, exact("target", t))
	}
	lines = append(lines,
		Fact("decision", "%s by %s (%s): %s", s.Decision.Outcome, s.Decision.Rule, s.Decision.Reason, s.Decision.Why))
	lines = append(lines, labels(s)...)
	lines = append(lines,
		Fact("age", "%s, made %s", now.Sub(s.Task.Created).Round(time.Second), s.Task.Created.Format(time.RFC3339)),
		Fact("attempts", "%d, restarts %d", s.Task.Attempts, s.Task.Restarts),
		exact("digest", s.Task.Digest))
	if s.Task.Reason == queue.ReasonUnknownEffect {
		lines = append(lines, Fact("caution",
			"it was started before, and nobody knows whether it happened; look before you say yes"))
	}
	if s.Task.Reason == queue.ReasonRestored {
		lines = append(lines, Fact("caution", "%s", askedAgain))
	}
	if s.OpensText() {
		lines = append(lines, handsOver())
	}
	if m := s.Shown; m != nil {
		lines = append(lines, origin(m)...)
	}
	return append(lines, content(s.Given())...)
}

// askedAgain says why a person is asked about what may have been done before.
const askedAgain = "restored_unknown: it is asked again because this queue was put back from a copy, and what was put aside " +
	"does not say whether it was done meanwhile: look before you say yes"

// handsOver says what a yes does to a task of which its reader made no extract.
func handsOver() string {
	return Fact("caution", "there is no extract of it: a yes hands the whole text to the worker")
}

func state(t *task.Task) string {
	since := t.Since.Format(time.RFC3339)
	if t.Refused {
		return Fact("state", "refused at %s (%s): it is no task; it is kept without its text", since, t.Reason)
	}
	return Fact("state", "%s since %s (%s)", t.State, since, t.Reason)
}

// answered says which effect a message answers.
func answered(s *queue.Stored) []string {
	l := s.Task.Link
	if l == (task.Link{}) {
		return nil
	}
	return []string{exact("answers", fmt.Sprintf("effect %s, in the conversation that began with task %s", l.Answers, l.Thread))}
}

// labels says which labels a task has of its root, and what gave them.
func labels(s *queue.Stored) (lines []string) {
	for _, u := range s.Who().Labels {
		text := u.String()
		if !u.At.IsZero() {
			text += ", at " + u.At.Format(time.RFC3339)
		}
		lines = append(lines, exact("label", text))
	}
	return lines
}

var kinds = map[task.Kind]string{
	task.Ask:    "ask: what somebody wants of the agent",
	task.Effect: "effect: what the agent wants to do",
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// content returns everything that a worker will be given.
func content(g *queue.Given) []string {
	var lines []string
	if m := g.Message; m != nil {
		lines = append(lines, message(m)...)
	}
	if r := g.Request; r != nil {
		if r.Tool != "" {
			lines = append(lines, exact("tool", r.Tool))
		}
		lines = append(lines, quote("args", args(r), linesOf(r))...)
		lines = append(lines, files(r.Files)...)
		if r.Evidence != "" {
			lines = append(lines, Quote("also", "evidence: "+pretty(r.Evidence))...)
		}
	}
	lines = append(lines, extract(g.Extract)...)
	for i := range g.Outcomes {
		lines = append(lines, outcome(&g.Outcomes[i]))
	}
	return lines
}

// extract shows what a reader made of the text, beside which it stands.
func extract(x []byte) []string {
	if x == nil {
		return nil
	}
	return append(Quote("extract", pretty(record.Value(x))),
		Fact("", "(a reader made it; where [extract] requires one, a worker is given this and not the text)"))
}

// outcome says how an effect ended that was proposed before.
func outcome(o *queue.Outcome) string {
	text := o.Task + ": " + string(o.Action)
	if o.Tool != "" {
		text += " with " + escape.ASCII(o.Tool)
	}
	if len(o.Target) > 0 {
		text += " to " + escape.ASCII(strings.Join(o.Target, ", "))
	}
	text += fmt.Sprintf(": %s at %s", o.Ending, o.At.Format(time.RFC3339))
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return Fact("outcome", "%s", text)
}

// origin says where a message comes from, whom it names as its author and what it answers.
func origin(m *envelope.Shown) []string {
	origin := fmt.Sprintf("%s from %s, received %s", m.ID, m.Source, m.Received.Format(time.RFC3339))
	if c := m.Sender; c != nil {
		origin += fmt.Sprintf(", chat %s, written by %s", c.Chat.JSON(), c.ID.JSON())
	}
	lines := append([]string{Fact("message", "%s", origin)}, Quote("from", m.From)...)
	return append(lines, Quote("thread", thread(m.Thread))...)
}

func message(m *envelope.Shown) []string {
	lines := append(Quote("subject", m.Subject), Quote("text", m.Text)...)
	if m.Truncated {
		lines = append(lines, Fact("", "(the mail goes on; the rest was not fetched)"))
	}
	lines = append(lines, Quote("files", attachments(m.Attachments))...)
	for _, a := range m.Attachments {
		if a.Data != nil {
			lines = append(lines, files([]request.File{{Name: a.Name, Data: a.Data}})...)
		}
	}
	return lines
}

// thread names the messages that a message says it answers.
func thread(t *envelope.Thread) string {
	if t == nil {
		return ""
	}
	var lines []string
	if len(t.InReplyTo) > 0 {
		lines = append(lines, "in reply to "+strings.Join(t.InReplyTo, " "))
	}
	if len(t.References) > 0 {
		lines = append(lines, "references "+strings.Join(t.References, " "))
	}
	return strings.Join(lines, "\n")
}

// attachments describes each attachment in a line of its own, whatever its name holds.
func attachments(list []envelope.Attachment) string {
	var b strings.Builder
	for _, a := range list {
		how := "not fetched, only named"
		if a.Data != nil {
			how = "attached, and shown below"
		}
		fmt.Fprintf(&b, "%s: %s, %s, %d bytes", how,
			record.AppendString(nil, a.Name), record.AppendString(nil, a.Type), a.Size)
		if a.Digest != "" {
			fmt.Fprintf(&b, ", %s", a.Digest)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func pretty(v record.Value) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(v), "", "  ") != nil {
		return string(v)
	}
	return b.String()
}

// Quote returns content after the gutter, under its name, or nothing if it is blank.
func Quote(name, text string) []string { return quote(name, text, escape.Text) }

func quote(name, text string, split func(string) []string) []string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	lines := []string{name}
	for _, l := range split(text) {
		lines = append(lines, Gutter+l)
	}
	return lines
}
