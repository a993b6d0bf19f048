package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Case is what a person has to know about a task besides its file.
type Case struct {
	Now     time.Time
	Expires time.Duration      // how long an answer may take
	Root    *Origin            // for an effect, the ask that it all began with
	Parent  *Origin            // for an effect, the task that proposed it; nil if the root did
	Closes  *Origin            // for an effect that closes a task, that task
	Today   *decision.Decision // what today's policy says; nil if no policy was named

	Withheld bool // today's policy keeps the text from workers, which get an extract

	Limit string    // the key of the policy that would keep it from starting now; empty: none does
	Until time.Time // when that has room again
}

// Origin is a task that another one names: as its origin, or as what it closes.
type Origin struct {
	ID     string
	Stored *queue.Stored // nil if the queue does not have it
}

// Sheet returns all that a person has to read before an answer: who asks, what for,
// the exact targets, everything that a worker will be given, and the rule that asks. What
// the person must not overlook stands first and last.
func Sheet(s *queue.Stored, c *Case) []string {
	lines := []string{exact("task", s.Task.ID), Fact("kind", "%s", kinds[s.Task.Kind])}
	lines = append(lines, sender(s)...)
	lines = append(lines, answered(s)...)
	lines = append(lines, c.origin(s)...)
	lines = append(lines, Fact("action", "%s: %s", s.Decision.Action, meaning(s.Decision.Action, s.Task.Kind)))
	lines = append(lines, targets(s)...)
	body := append(content(s.Given()), leftOut(s)...)
	lines = append(lines, body...)
	lines = append(lines, c.why(s)...)
	lines = append(lines,
		Fact("age", "%s, made %s; attempts %d, restarts %d", span(c.Now.Sub(s.Task.Created)),
			s.Task.Created.Format(time.RFC3339), s.Task.Attempts, s.Task.Restarts))
	if s.Task.State == task.Awaiting {
		lines = append(append(lines, Told(&s.Task)...), c.expires(s))
	}
	if c.Limit != "" {
		lines = append(lines, Fact("starts", "not before %s (%s)",
			c.Until.UTC().Format(time.RFC3339), c.Limit))
	}
	lines = append(lines, exact("digest", s.Task.Digest))
	if long(body) {
		lines = append(lines, again(s))
	}
	return append(lines, c.cautions(s)...)
}

// long reports whether content may push the head of a sheet out of sight.
func long(body []string) bool {
	const lines, columns = 12, 80
	size := 0
	for _, l := range body {
		size += 1 + len(l)/columns
	}
	return size > lines
}

// sender says who asks, and in plain words how far that is proven.
func sender(s *queue.Stored) []string {
	lines := warned(exact("sender", orNone(s.Identity.Sender)), s.Identity.Sender)
	words, proven := trusts[s.Identity.Trust]
	switch {
	case s.Identity.Trust == terms.Unknown && s.Identity.Verified:
		words, proven = "yes, but a stranger: the sender is on no list", true
	case !proven:
		words = "NOT proven: anyone may have written this"
	}
	if s.Identity.Stale && proven {
		words += "; OLD: it may be a copy, sent again by another person"
	}
	if unsigned := s.Identity.Unsigned.Names(); len(unsigned) > 0 && proven {
		words += "; NOT SIGNED, so anyone may have written it: " + strings.Join(unsigned, ", ")
	}
	if textUnproven(s) {
		words += "; THE TEXT IS NOT PROVEN: see what was left out of it"
	}
	words += fmt.Sprintf(" (%s, %s)", s.Identity.Trust, s.Identity.Reason)
	if s.Identity.Why != "" {
		words += ": " + s.Identity.Why
	}
	if s.Identity.Session != "" {
		words += "; session " + s.Identity.Session
	}
	return append(lines, Fact("proven", "%s", words))
}

// textUnproven reports whether anyone who sent the message on may have chosen what its text
// leaves out.
func textUnproven(s *queue.Stored) bool {
	return s.Identity.Via == identity.ViaMessage && s.Identity.Verified && !s.Identity.TextProven()
}

// leftOut shows what of the body the text does not have, which no worker is given.
func leftOut(s *queue.Stored) (lines []string) {
	if !textUnproven(s) || s.Shown == nil {
		return nil
	}
	s.Shown.Left.Each(func(kind envelope.LeftKind, bytes int64, text string) bool {
		lines = append(lines, Quote("left out", text)...)
		lines = append(lines, Fact("", "(%s, %d bytes: %s)", escape.ASCII(string(kind)), bytes, leftBecause[kind]))
		return true
	})
	return lines
}

// leftBecause says why bytes of a body are not in its text.
var leftBecause = map[envelope.LeftKind]string{
	envelope.LeftPreamble:    "before the first part",
	envelope.LeftEpilogue:    "after the last part",
	envelope.LeftAlternative: "another form of the text, which says more",
	envelope.LeftHidden:      "hidden in HTML",
	envelope.LeftMalformed:   "MIME that can't be read",
	envelope.LeftUndecodable: "it does not decode",
	envelope.LeftRecoded:     "the body as it was signed; an unsigned field says how to read it",
}

var trusts = map[terms.Trust]string{
	terms.ExternalVerified:   "yes, an outsider on the list",
	terms.OwnerVerifiedEmail: "yes, an owner",
	terms.ApprovedSession:    "yes, an owner, in a session that was approved",
	terms.System:             "yes, an account of this machine",
}

// warned returns a line, followed by warnings about the letters of its value.
func warned(line, value string) []string {
	lines := []string{line}
	for _, note := range lookalikes(value) {
		lines = append(lines, Fact("warning", "%s", note))
	}
	return lines
}

func targets(s *queue.Stored) (lines []string) {
	for _, t := range s.Target() {
		lines = append(lines, warned(exact("target", t), t)...)
	}
	return lines
}

// meaning returns what an action means, in words.
func meaning(a terms.Action, kind task.Kind) string {
	if kind == task.Effect {
		return effects[a]
	}
	return asks[a]
}

var effects = map[terms.Action]string{
	terms.ReadPublic:     "read what is public",
	terms.ReadPrivate:    "read what is private",
	terms.WriteLocal:     "write on this machine",
	terms.ExternalSend:   "send this out; it can't be called back",
	terms.Destructive:    "remove or overwrite something for good",
	terms.CodeOrComputer: "run a program or operate a computer",
}

var asks = map[terms.Action]string{
	terms.ReadPublic:     "an agent reads this, and may read what is public",
	terms.ReadPrivate:    "an agent reads this, and may read what is private",
	terms.WriteLocal:     "an agent reads this, and may write on this machine",
	terms.ExternalSend:   "an agent reads this, and may propose to send",
	terms.Destructive:    "an agent reads this, and may propose to remove things for good",
	terms.CodeOrComputer: "an agent reads this, and may propose to run programs",
}

// origin says on whose behalf an effect is proposed. It goes by the tasks of this queue,
// because the record holds only the claim of the program that wrote it.
func (c *Case) origin(s *queue.Stored) (lines []string) {
	if c.Root == nil {
		return nil
	}
	if c.Parent != nil {
		lines = append(lines, c.Parent.line("proposed", "by task"))
	}
	lines = append(lines, c.Root.line("behalf", "of task"))
	if c.Closes != nil {
		lines = append(lines, c.Closes.closes()...)
	}
	switch root := c.Root.Stored; {
	case root == nil:
		lines = append(lines, Fact("warning", "that task is not in this queue: whose wish it was can't be checked"))
	case root.Record == nil:
		lines = append(lines,
			Fact("warning", "the file of that task can't be read: whose wish it was can't be checked"))
	case !address.Equal(root.Identity.Sender, s.Identity.Sender):
		lines = append(lines, Fact("warning", "that task came from another sender than this effect names"))
	}
	return lines
}

func (o *Origin) line(name, by string) string {
	if o.Stored == nil || o.Stored.Record == nil {
		return exact(name, by+" "+o.ID)
	}
	s := o.Stored
	return exact(name, fmt.Sprintf("%s %s: %s from %s (%s), %s now",
		by, o.ID, s.Decision.Action, orNone(s.Identity.Sender), s.Identity.Trust, s.Task.State))
}

// closes says what an effect would close: the effect itself has only its id.
func (o *Origin) closes() []string {
	lines := []string{o.line("closes", "task")}
	if o.Stored == nil || o.Stored.Record == nil {
		return append(lines, Fact("warning", "what that task is can't be seen: it is not in this queue, or can't be read"))
	}
	for _, t := range o.Stored.Target() {
		lines = append(lines, exact("", "which goes to "+t))
	}
	if m := o.Stored.Shown; m != nil {
		lines = append(lines, Quote("its subject", m.Subject)...)
	}
	return lines
}

// why says which rule wants a person, and what has come up since.
func (c *Case) why(s *queue.Stored) []string {
	lines := []string{
		Fact("rule", "%s", s.Decision.Rule),
		Fact("because", "%s (%s, %s)", orNone(s.Decision.Why), s.Decision.Outcome, s.Decision.Reason),
	}
	lines = append(append(lines, labels(s)...),
		Fact("state", "%s since %s (%s)", s.Task.State, s.Task.Since.Format(time.RFC3339), s.Task.Reason))
	known := []string{string(s.Decision.Reason), queue.ReasonUnknownEffect}
	if s.Task.State != task.Awaiting || slices.Contains(known, s.Task.Reason) {
		return lines
	}
	since := "a later policy wants a person to look (" + s.Task.Reason + ")"
	switch {
	case strings.HasPrefix(s.Task.Reason, "flow_"):
		since = "it follows what was read for the same root task since it came (" + s.Task.Reason + ")"
	case s.Task.Reason == queue.ReasonCloseUnproven:
		since = "an agent wants to close a task, and names no proven message that asks for it"
	case s.Task.Reason == queue.ReasonApproval:
		since = "it had a yes that was not good any more when it was to start: " +
			"too old, of too low a level, or for other bytes"
	case s.Task.Reason == queue.ReasonUnfit:
		since = "what its reader printed did not fit the schema of [extract] (" + s.Task.Reason + ")"
	case s.Task.Reason == queue.ReasonUngated:
		since = "its client used a tool that nobody was asked about (" + s.Task.Reason + "): " +
			"a yes starts it again"
	case s.Task.Reason == queue.ReasonUnread:
		since = "its reader failed again and again, so there is no extract (" + s.Task.Reason + ")"
	}
	return append(lines, Fact("since", "%s", since))
}

// Told returns the line that says when a person was told of a task once more, if they were.
func Told(t *task.Task) []string {
	if t.Told.IsZero() {
		return nil
	}
	return []string{Fact("told", "once more at %s", t.Told.Format(time.RFC3339))}
}

func (c *Case) expires(s *queue.Stored) string {
	at := s.Task.Since.Add(c.Expires)
	if !c.Now.Before(at) && s.Task.Told.IsZero() {
		return Fact("expires", "some time after a run has told of it once more (limits.resurface)")
	}
	if !c.Now.Before(at) {
		return Fact("expires", "now: the next run rejects it unless it is answered (limits.review_expires)")
	}
	return Fact("expires", "in %s, %s: without an answer it is rejected", span(at.Sub(c.Now)), at.Format(time.RFC3339))
}

// again repeats the head below a long content, so that what is read last is ours.
func again(s *queue.Stored) string {
	text := string(s.Decision.Action)
	if t := s.Target(); len(t) > 0 {
		text += " to " + t[0]
		if len(t) > 1 {
			text += fmt.Sprintf(" and %d more", len(t)-1)
		}
	}
	return exact("again", fmt.Sprintf("%s, for %s (%s)", text, orNone(s.Identity.Sender), s.Identity.Trust))
}

func (c *Case) cautions(s *queue.Stored) (lines []string) {
	if d := c.Today; d != nil && d.Outcome == terms.Reject {
		lines = append(lines,
			Fact("caution", "today's policy rejects it by %s: %s; a yes does not start it", d.Rule, d.Why))
	}
	switch {
	case s.OpensText():
		lines = append(lines, handsOver())
	case c.Withheld:
		lines = append(lines, Fact("reader", "a yes does not hand the text to the worker, "+
			"which gets the extract that a reader makes of it"))
	}
	if s.Task.Reason == queue.ReasonUnknownEffect {
		lines = append(lines, Fact("caution", "effect_unknown: it was started before and MAY HAVE HAPPENED; "+
			"look outside first: yes does it once more, no is for when it did"))
	}
	return lines
}

// span returns a duration in the unit that a person would use, rounded down.
func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}
