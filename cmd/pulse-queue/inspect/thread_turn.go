package inspect

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"pulse/lib/approve/screen"
	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/hint"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// turn is what the log says about one task of a conversation.
type turn struct {
	task  task.Task
	first audit.Line
	lines []audit.Line
	raw   []string // the same lines as they stand in the log
	left  int      // how many are left out after the first

	target  []string
	subject string
}

// add notes a line. It does nothing for a task that is left out.
func (t *turn) add(raw []byte, l *audit.Line) {
	if t == nil {
		return
	}
	if enters(l) {
		t.first, t.task = *l, task.Task{ID: l.Task, Kind: l.Kind, Created: l.Time, Digest: l.Digest, Link: l.Link}
		t.task.State, t.task.Change = task.Rejected, l.Change // what was refused has no state
	}
	switch {
	case l.Event == task.Pruned:
		t.task.Since, t.task.Reason = l.Time, string(task.Pruned)
	case l.To != "":
		t.task.State, t.task.Change = l.To, l.Change
	}
	if len(l.Target) > 0 {
		t.target = beginnings(l.Target)
	}
	if t.lines, t.raw = append(t.lines, *l), append(t.raw, string(raw)); len(t.lines) > maxTold {
		t.lines, t.raw = slices.Delete(t.lines, 1, 2), slices.Delete(t.raw, 1, 2)
		t.left++
	}
}

// load reads what the log does not have. A file that is gone or can't be read is left to
// show and verify.
func (t *turn) load(s store.Store) error {
	return s.View(func(v store.View) error {
		one, err := queue.Find(v, t.task.ID)
		if errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrCorrupt) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case one.Request != nil:
			t.target = beginnings(one.Request.Target)
			t.subject = firstLine(cmp.Or(proposal.Arg(one.Request.Args, "subject"), one.Request.Text()))
		case one.Shown != nil:
			t.subject = firstLine(one.Shown.Subject)
		}
		return nil
	})
}

// tell returns the lines about the ith task.
func (c *conversation) tell(i int, where hint.Where) (lines []string) {
	t := c.turns[i]
	say := func(name, text string) { lines = append(lines, screen.Fact(name, "%s", text)) }
	if i > 0 {
		lines = append(lines, "")
	}
	if i == 1 && c.left > 0 {
		lines = append(lines, cmdline.Count(c.left, "task")+" are left out here", "")
	}
	say(t.kind(), escape.ASCII(t.task.ID)+": "+t.stands())
	switch {
	case t.task.Kind == task.Effect:
		say("of", "task "+t.first.Parent)
	case t.task.Answers != "":
		say("answers", "effect "+t.task.Answers)
	}
	if t.task.Kind == task.Ask {
		say("sender", escape.ASCII(t.first.Sender)+" ("+string(t.first.Trust)+")")
	}
	say("action", string(t.first.Action))
	for _, target := range t.target {
		say("target", escape.ASCII(target))
	}
	lines = append(lines, screen.Quote("subject", t.subject)...)
	lines = append(lines, t.history(where)...)
	return lines
}

// kind is what a task is in the conversation.
func (t *turn) kind() string {
	if t.task.Answers != "" {
		return "answer"
	}
	return string(t.task.Kind)
}

// stands says where a task stands, as far as the log says.
func (t *turn) stands() string {
	switch {
	case t.first.Event == task.Refused:
		return "refused (" + t.task.Reason + "): a line in the log is all that is kept"
	case t.task.Reason == string(task.Pruned):
		return "pruned: its files were removed; it was " + string(t.task.State)
	}
	return string(t.task.State)
}

// firstLine returns the beginning of a text that may be as long as its writer likes, and
// keeps nothing else of it in memory.
func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.Clone(escape.Clip(text, maxNote))
}

func beginnings(list []string) []string {
	short := make([]string, len(list))
	for i := range list {
		short[i] = firstLine(list[i])
	}
	return short
}

func (t *turn) history(where hint.Where) (lines []string) {
	var h repeated
	for i := range t.lines {
		if i == 1 && t.left > 0 {
			lines = append(lines, h.end()...)
			h = repeated{}
			lines = append(lines, "  "+cmdline.Count(t.left, "event")+" are left out here: "+where.Command("pulse-queue log --task "+t.task.ID))
		}
		lines = append(lines, h.add(t.lines[i].Time, inWords(&t.lines[i]))...)
	}
	return append(lines, h.end()...)
}

// inWords returns a line of the log in words, those of a conversation where there are some.
func inWords(l *audit.Line) string {
	word := string(l.Event)
	switch effect := l.Kind == task.Effect; {
	case l.Event == task.Added && effect && l.Action == terms.ExternalSend:
		word = "drafted"
	case l.Event == task.Added && effect:
		word = "proposed"
	case l.Event == task.Added && l.Link.Answers != "":
		word = "answered"
	case l.Event == task.Added:
		word = "asked"
	case l.Event == task.Finished && effect && l.Action == terms.ExternalSend:
		word = "sent"
	}
	return word + strings.TrimPrefix(happened(l), string(l.Event))
}

// json returns the turn as an object.
func (t *turn) json() []byte {
	var o record.Object
	o.Raw(task.Member, t.task.Append(nil))
	o.StrIf("parent", t.first.Parent)
	o.Str("sender", t.first.Sender)
	o.Str("trust", string(t.first.Trust))
	o.Str("action", string(t.first.Action))
	o.Strs("target", t.target)
	o.StrIf("subject", t.subject)
	o.Raw("log", []byte("["+strings.Join(t.raw, ",")+"]"))
	o.IntIf("omitted", int64(t.left))
	return o.Bytes()
}
