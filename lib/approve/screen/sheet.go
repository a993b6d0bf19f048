package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/address"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/policy"
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
	Began   *Origin            // for an effect whose ask answers something, the ask with which that began
	Answers *Origin            // and the effect that is answered
	Policy  *policy.Policy     // whose lists count; nil: none
	Today   *decision.Decision // what today's policy says; nil if no policy was named
	Wants   string             // whose yes it needs, where one alone is not enough

	Withheld bool // today's policy keeps the text from workers, which get an extract
}

// Origin is a task that another one names: as its origin, or as what it closes.
type Origin struct {
	ID     string
	Stored *queue.Stored // nil if the queue does not have it
}

// readable reports whether the queue has the task, and its file can be read.
func (o *Origin) readable() bool { return o != nil && o.Stored != nil && o.Stored.Record != nil }

// Details begins what follows the four things that a person decides by. Pages break before it.
const Details = "details"

// Sheet returns all that a person has to read before an answer. What decides stands first:
// who asks and how far that is proven; what it is and for whom; the bytes that a worker will be
// given; and what is unusual about it. Below the line of details follows the rest.
func Sheet(s *queue.Stored, c *Case) []string {
	lines := append(sender(s), c.asked(s)...)
	lines = append(lines, Fact("action", "%s: %s", s.Decision.Action, meaning(s.Decision.Action, s.Task.Kind)))
	lines = append(lines, c.targets(s)...)
	lines = append(lines, Reach(s, c.Policy)...)
	if c.Closes != nil {
		lines = append(lines, c.Closes.closes()...)
	}
	body := append(content(s.Given()), leftOut(s)...)
	lines = append(lines, body...)
	lines = append(lines, c.unusual(s)...)
	lines = append(lines, Details, exact("task", s.Task.ID+", "+kinds[s.Task.Kind]), proof(s))
	if m := s.Shown; m != nil {
		lines = append(lines, origin(m)...)
	}
	lines = append(lines, answered(s)...)
	lines = append(lines, c.origin()...)
	lines = append(lines,
		Fact("rule", "%s", s.Decision.Rule),
		Fact("because", "%s (%s, %s)", orNone(s.Decision.Why), s.Decision.Outcome, s.Decision.Reason),
		Fact("state", "%s since %s (%s)", s.Task.State, s.Task.Since.Format(time.RFC3339), s.Task.Reason),
		Fact("age", "%s, made %s; attempts %d, restarts %d", duration.Span(c.Now.Sub(s.Task.Created)),
			s.Task.Created.Format(time.RFC3339), s.Task.Attempts, s.Task.Restarts))
	if s.Task.State == task.Awaiting {
		lines = append(append(lines, Told(&s.Task)...), c.expires(s))
	}
	lines = append(lines, exact("digest", s.Task.Digest))
	if long(body) {
		lines = append(lines, again(s))
	}
	return lines
}

// Words explains the names in the first column that do not explain themselves.
var Words = []string{
	"  proven   how far it is proven who sent it",
	"  asked    for an effect, the ask that it all began with",
	"  reach    what the targets are not known to have seen, and who has",
	"  label    what was read for the same ask: it limits what may leave the machine",
	"  since    why it waits, if the rule below is not the reason",
	"  needs    whose yes it needs, where not everyone's counts or one is not enough",
	"  caution  what to look at before you answer",
	"  details  below it stands what seldom decides:",
	"  proof    the level of trust, and what of the message proved it",
	"  rule     the line of the policy that wants a person",
	"  digest   the SHA-256 of the task's file: a yes is for these bytes alone",
	"  again    the first lines once more, because the text is long",
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
	return append(lines, Fact("proven", "%s", words))
}

// proof says by what the sender is proven, in the words of the policy.
func proof(s *queue.Stored) string {
	words := fmt.Sprintf("%s, %s", s.Identity.Trust, s.Identity.Reason)
	if s.Identity.Why != "" {
		words += ": " + s.Identity.Why
	}
	if s.Identity.Session != "" {
		words += "; session " + s.Identity.Session
	}
	return Fact("proof", "%s", words)
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

// targets returns the targets, and what a person should know about each: its letters, and that
// nobody who is known named it.
func (c *Case) targets(s *queue.Stored) (lines []string) {
	marks := c.Unnamed(s)
	for _, t := range s.Target() {
		lines = append(lines, warned(exact("target", t), t)...)
		if marks[t] != "" {
			lines = append(lines, marks[t])
		}
		delete(marks, t)
	}
	for _, url := range slices.Sorted(maps.Keys(marks)) {
		if marks[url] != "" {
			lines = append(lines, marks[url])
		}
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

// asked says which ask an effect is proposed for. It goes by the tasks of this queue, because
// the record holds only the claim of the program that wrote it.
func (c *Case) asked(s *queue.Stored) (lines []string) {
	if c.Root == nil {
		return nil
	}
	root := c.Root.Stored
	switch {
	case root == nil:
		return []string{Fact("warning", "its ask is not in this queue: whose wish it was can't be checked")}
	case root.Record == nil:
		return []string{Fact("warning", "the file of its ask can't be read: whose wish it was can't be checked")}
	}
	text := fmt.Sprintf("by %s, %s ago", escape.ASCII(orNone(root.Identity.Sender)), duration.Span(c.Now.Sub(root.Task.Created)))
	if m := root.Shown; m != nil && m.Subject != "" {
		text += ": " + m.Subject
	}
	lines = warned(Fact("asked", "%s", text), root.Identity.Sender)
	if !address.Equal(root.Identity.Sender, s.Identity.Sender) {
		lines = append(lines, Fact("warning", "that ask came from another sender than this effect names"))
	}
	return lines
}

// origin names the tasks that an effect comes from, and shows how the text of the ask begins.
func (c *Case) origin() (lines []string) {
	if c.Root == nil {
		return nil
	}
	if c.Parent != nil {
		lines = append(lines, c.Parent.line("proposed", "by task"))
	}
	lines = append(lines, c.Root.line("behalf", "of task"))
	if c.Root.readable() {
		lines = append(lines, Quote("text asked", Beginning(c.Root.Stored))...)
	}
	return lines
}

// beginning is how many lines of an ask are shown with an effect, and bytes of each.
const beginning, beginningLine = 3, 200

// Beginning returns how the text of an ask begins: its first lines that are not blank.
func Beginning(s *queue.Stored) string {
	var list []string
	for l := range strings.Lines(Asked(s)) {
		if l = strings.TrimSpace(l); l == "" {
			continue
		}
		if len(list) == beginning {
			list[beginning-1] += " ..."
			break
		}
		if len(l) > beginningLine {
			l = strings.ToValidUTF8(l[:beginningLine], "") + " ..."
		}
		list = append(list, l)
	}
	return strings.Join(list, "\n")
}

// Asked returns the text of an ask: that of its message or of its request.
func Asked(s *queue.Stored) string {
	switch {
	case s.Shown != nil:
		return s.Shown.Text
	case s.Request != nil:
		return s.Request.Text()
	}
	return ""
}

func (o *Origin) line(name, by string) string {
	if !o.readable() {
		return exact(name, by+" "+o.ID)
	}
	s := o.Stored
	return exact(name, fmt.Sprintf("%s %s: %s from %s (%s), %s now",
		by, o.ID, s.Decision.Action, orNone(s.Identity.Sender), s.Identity.Trust, s.Task.State))
}

// Whole returns what the task that another one names says, and how to see what followed from it.
func (o *Origin) Whole() []string {
	if !o.readable() {
		return []string{Fact("warning", "its ask is not in this queue, or can't be read")}
	}
	lines := append([]string{o.line("ask", "task")}, content(o.Stored.Given())...)
	return append(lines, exact("", "what followed from it: pulse-queue thread "+o.ID))
}

// closes says what an effect would close: the effect itself has only its id.
func (o *Origin) closes() []string {
	lines := []string{o.line("closes", "task")}
	if !o.readable() {
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

// unusual says what is not as it mostly is: labels, what came up since, a limit, and what may
// have happened before.
func (c *Case) unusual(s *queue.Stored) []string {
	lines := labels(s)
	if why := sinceThen(s); why != "" {
		lines = append(lines, Fact("since", "%s", why))
	}
	if s.Task.Limit != "" {
		lines = append(lines, Fact("starts", "not before %s (%s)", s.Task.Until.UTC().Format(time.RFC3339), s.Task.Limit))
	}
	if c.Wants != "" {
		lines = append(lines, Fact("needs", "%s", c.Wants))
	}
	return append(lines, c.cautions(s)...)
}

// sinceThen says why a task waits that waits for another reason than the rule that decided
// about it; it is empty for others.
func sinceThen(s *queue.Stored) string {
	known := []string{string(s.Decision.Reason), queue.ReasonUnknownEffect, queue.ReasonRestored}
	if s.Task.State != task.Awaiting || slices.Contains(known, s.Task.Reason) {
		return ""
	}
	switch {
	case strings.HasPrefix(s.Task.Reason, "flow_"):
		return "it follows what was read for the same root task since it came (" + s.Task.Reason + ")"
	case s.Task.Reason == queue.ReasonCloseUnproven:
		return "an agent wants to close a task, and names no proven message that asks for it"
	case s.Task.Reason == queue.ReasonApproval:
		return "it had a yes that was not good any more when it was to start: " +
			"too old, of too low a level, for other bytes, or not of all whose yes it needs"
	case s.Task.Reason == queue.ReasonUnfit:
		return "what its reader printed did not fit the schema of [extract] (" + s.Task.Reason + ")"
	case s.Task.Reason == queue.ReasonUngated:
		return "its client used a tool that nobody was asked about (" + s.Task.Reason + "): a yes starts it again"
	case s.Task.Reason == queue.ReasonUnread:
		return "its reader failed again and again, so there is no extract (" + s.Task.Reason + ")"
	}
	return "a later policy wants a person to look (" + s.Task.Reason + ")"
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
	return Fact("expires", "in %s, %s: without an answer it is rejected", duration.Span(at.Sub(c.Now)), at.Format(time.RFC3339))
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
	if s.Task.Reason == queue.ReasonRestored {
		lines = append(lines, Fact("caution", "%s", askedAgain))
	}
	if s.Task.Reason == queue.ReasonUnknownEffect {
		lines = append(lines, Fact("caution", "effect_unknown: it was started before and MAY HAVE HAPPENED; "+
			"look outside first: yes does it once more, no is for when it did"))
	}
	return lines
}
