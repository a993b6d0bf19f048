package screen

import (
	"fmt"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/hint"
	"pulse/lib/shared/task"
)

// Moment is what the next steps of a task depend on besides the task.
type Moment struct {
	Now       time.Time
	Last      *audit.Line        // the log's last line about the task; nil if there is none
	End       *audit.End         // how its last attempt ended; nil if it has none, or nobody saw it
	Digest    string             // of what was accepted, as the log has it; empty if not known
	Yes       *approval.Approval // the task's approval; nil if there is none
	Held      string             // the sentence that says the queue is held; empty if it is not
	Lost      string             // what the queue lacks of what was committed; empty if nothing
	Runner    int                // process id of the runner; 0 if there is none, below 0 if not known
	Elsewhere string             // which other machine runs it; empty if none does
	Expires   time.Duration      // how long an answer may take
	Wants     string             // whose yes it needs, where not everyone's counts or one is not enough
	Outlook   *queue.Outlook     // for a scheduled task; nil if there is no policy to ask
	Where     hint.Where         // the flags that suggested commands need
}

// steps collects sentences and the commands that belong to each.
type steps struct {
	lines []string
	where hint.Where
}

func (s *steps) say(format string, args ...any) {
	s.lines = append(s.lines, "  "+escape.Message(fmt.Sprintf(format, args...)))
}

func (s *steps) command(format string, args ...any) {
	s.lines = append(s.lines, "    "+escape.Message(s.where.Command(fmt.Sprintf(format, args...))))
}

// Next returns the lines that say what a task waits for and what to type to change
// that. The words of rules are the only content from outside in them.
func Next(s *queue.Stored, m *Moment) []string {
	n := steps{[]string{"next"}, m.Where}
	id := s.Task.ID
	switch {
	case s.Task.State == task.Corrupt:
		n.corrupt(id, m)
	case s.Record == nil:
		n.say("the next run moves it to corrupt")
		n.command("pulse-queue verify")
	case s.Task.State == task.Scheduled:
		n.scheduled(s, m)
	case s.Task.State == task.Awaiting:
		n.awaiting(s, m)
	case s.Task.State == task.Running && m.Runner == 0:
		n.say("nothing runs it any more: the next run puts it back")
		if m.Elsewhere != "" {
			n.say("but it may still run there: %s", m.Elsewhere)
		}
	case s.Task.State == task.Running:
		if m.Runner > 0 {
			n.say("process %d runs it", m.Runner)
		} else if m.Elsewhere != "" {
			n.say("%s", m.Elsewhere)
		}
		n.say("to end it:")
		n.command("pulse-queue cancel %s", id)
	case s.Task.State == task.Completed:
		n.say("it is done; to have it done once more:")
		n.command("pulse-queue requeue %s", id)
	case s.Task.State == task.Failed && s.Task.Reason == queue.ReasonNotDone:
		n.say("its sender says that it did not happen%s", m.said())
		n.say("once that is mended:")
		n.command("pulse-queue requeue %s", id)
	case s.Task.State == task.Failed:
		n.say("once what made it fail is mended:")
		n.command("pulse-queue requeue %s", id)
	case s.Task.State == task.Rejected:
		n.rejected(id, m)
	}
	return n.lines
}

func (n *steps) corrupt(id string, m *Moment) {
	n.say("nothing starts it any more; its file is kept to be looked at: corrupt/%s.json in the queue", id)
	if m.Digest != "" {
		n.say("sha256sum of what was accepted: %s", audit.Bare(m.Digest))
	}
	n.command("pulse-queue verify")
}

func (n *steps) scheduled(s *queue.Stored, m *Moment) {
	if m.Held != "" {
		n.say("the queue is %s; to let runs start tasks again:", m.Held)
		n.command("pulse-queue release")
	}
	if m.Lost != "" {
		n.say("the queue is not as it was: %s; to let runs start tasks all the same:", m.Lost)
		n.command("pulse-queue release --restored")
	}
	if s.Outward() && s.Task.Reason == queue.ReasonLater {
		n.say("its sender says that it did not happen yet%s", m.said())
	}
	if name := s.Standing(); name != "" {
		n.say("no run starts it: its agent proposes by way of")
		n.command("pulse-queue mcp %s", name)
		n.say("to end that:")
		n.command("pulse-queue cancel %s", s.Task.ID)
		return
	}
	if m.Now.Before(s.Task.NotBefore) {
		n.say("it is not started before %s", s.Task.NotBefore.Format(time.RFC3339))
	}
	verb := "starts it"
	if o := m.Outlook; o != nil {
		verb = n.outlook(o)
	}
	if o := m.Outlook; o != nil && o.Reader {
		n.say("it waits for a reader: until there is an extract of its text, no worker is started")
	}
	n.say("the next run that has a start left for it %s:", verb)
	if o := m.Outlook; o != nil && o.Reader {
		n.command("pulse-queue run --extract -- READER")
	} else if s.Kind() == task.Effect {
		n.command("pulse-queue run --effect %s -- CMD", s.Decision.Action)
	} else {
		n.command("pulse-queue run -- CMD")
	}
	n.say("to take it back:")
	n.command("pulse-queue cancel %s", s.Task.ID)
}

// outlook says what today's policy makes of the task. It returns what a run will do.
func (n *steps) outlook(o *queue.Outlook) (verb string) {
	if o.Limit != "" {
		n.say("it waits for a limit of the policy: %s%s", o.Limit, until(o.Until))
		n.command("pulse-queue stats")
	}
	switch {
	case o.Unproven:
		return "starts it, if the yes to it is proven, which only that run can check"
	case o.Starts:
		return "starts it"
	case o.Reason != "":
		return "lets it wait for a person once more (" + o.Reason + ")"
	}
	d := &o.Decision
	n.say("today's policy does not let it start: %s by %s: %s", d.Outcome, d.Rule, d.Why)
	n.command("pulse-authorize matrix")
	return "sets it aside"
}

// until says when a limit has room again, if nothing else uses that up.
func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", until " + t.UTC().Format(time.RFC3339) + " at least"
}

func (n *steps) awaiting(s *queue.Stored, m *Moment) {
	if s.OpensText() {
		n.say("its reader made no extract of its text (%s)%s", s.Task.Reason, m.said())
		n.say("a yes hands the whole text to the worker")
	} else if l := m.Last; l != nil && l.Event == task.Parked && l.Change.Reason != queue.ReasonApproval {
		n.say("the policy wants a person to look: %s", l.Rule)
	}
	yes := "a person says yes or no"
	if s.Task.Reason == queue.ReasonUnknownEffect {
		n.say("nobody knows whether it happened%s", m.said())
		yes = "look outside first: if it did not happen, yes starts it once more; if it did, say no"
	}
	if s.Task.Reason == queue.ReasonRestored {
		yes = "if it was not done, yes starts it; if it was, say no"
	}
	if m.Wants != "" {
		n.say("it needs %s", m.Wants)
	}
	at := s.Task.Since.Add(m.Expires)
	when := "at " + at.Format(time.RFC3339)
	if s.Task.Told.IsZero() && !m.Now.Before(at) {
		when = "some time after a run has told of it once more"
	}
	n.say("%s; without an answer it is rejected %s:", yes, when)
	n.command("pulse-approve yes %s", s.Task.ID)
	n.command("pulse-approve no %s --reason REASON", s.Task.ID)
}

// said returns the last line that the worker of the last attempt wrote, after a colon.
func (m *Moment) said() string {
	switch e := m.End; {
	case e == nil:
		return ": it died"
	case e.Said == "":
		return fmt.Sprintf(" (exit %d)", e.Exit)
	default:
		return ": " + e.Said
	}
}

func (n *steps) rejected(id string, m *Moment) {
	event := task.Event("")
	if m.Last != nil {
		event = m.Last.Event
	}
	switch event {
	case task.Dropped:
		n.say("the policy rejected it when it was to start: %s of %s", m.Last.Rule, orNone(m.Last.Policy))
		n.command("pulse-authorize matrix")
		n.say("once the policy allows it:")
	case task.Expired:
		n.say("it expired without an answer; to have it start all the same:")
	case task.Denied:
		n.say("a person said no, and that holds if it comes again; to change that:")
	default:
		n.say("to put it back:")
	}
	n.command("pulse-queue requeue %s", id)
}

// Policy returns the line that names the policy by its digest.
func Policy(digest string) string {
	if digest == "" {
		return exact("policy", "(the defaults)")
	}
	return exact("policy", digest)
}

// Gone returns the lines about a task that has no file. It was pruned if last names a
// state. If logged does, its file was removed by hand. Otherwise the task was refused when
// it came. l is the log's last line about it.
func Gone(l *audit.Line, last, logged task.State) []string {
	lines := []string{exact("task", l.Task)}
	switch {
	case last != "":
		lines = append(lines, Fact("state", "pruned: its files were removed; it was %s", last))
	case logged != "":
		lines = append(lines, Fact("state", "%s, as the log has it, but its file is gone", logged))
	default:
		why := ""
		if l.NotKept != "" {
			why = " (" + l.NotKept + ")"
		}
		lines = append(lines, Fact("state", "refused at %s (%s): a line in the log is all that is kept%s",
			l.Time.Format(time.RFC3339), l.Change.Reason, why))
	}
	lines = append(lines, exact("sender", orNone(l.Sender)))
	lines = append(lines, proven(l)...)
	lines = append(lines, exact("action", string(l.Action)))
	if l.Rule != "" {
		lines = append(lines, Fact("decision", "%s by %s", l.Outcome, l.Rule), Policy(l.Policy))
	}
	return lines
}

// proven says how far a line's sender was proven, and what to do about it. A line that was
// written by an older pulse has no reason.
func proven(l *audit.Line) []string {
	if l.IdentityReason == "" {
		return []string{Fact("proven", "%s", l.Trust)}
	}
	return []string{
		Fact("proven", "%s (%s)", l.Trust, l.IdentityReason),
		Fact("advice", "%s", orNone(identity.Reason(l.IdentityReason).Advice())),
	}
}

// After returns the next steps for a task that Gone describes.
func After(l *audit.Line, last, logged task.State, where hint.Where) []string {
	n := steps{[]string{"next"}, where}
	switch {
	case last != "":
		n.say("its id stays known: the same mail or proposal is not taken again")
	case logged != "":
		n.say("nothing can start it; if you moved its file, move it back:")
		n.command("pulse-queue verify")
	case l.Change.Reason == queue.Quota:
		n.say("the sender had too much waiting (limits.pending_per_sender); it can be fetched and added again")
	default:
		n.say("once the policy allows it, it can be fetched and added again:")
		n.command("pulse-authorize matrix")
	}
	return n.lines
}
