package queue

import (
	"cmp"
	"fmt"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/tools"
	"pulse/lib/classify/identity"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audience"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Members lists the members of a record that the queue reads.
var Members = []string{envelope.Member, request.Member, identity.Member, decision.Member, task.Member}

// Content is a record as the queue understands it.
type Content struct {
	Message  *envelope.Message // nil: the record is not of a message
	Shown    *envelope.Shown   // the part of Message that is for people and workers
	Request  *request.Request  // nil: there is none
	Identity identity.Identity
	Decision decision.Decision
}

// read decodes a record's members. Identity and decision must be there, because without
// them nothing was decided. It is an error if the decision is about another action than
// the request.
func read(rec *record.Record) (c Content, err error) {
	if c.Identity, err = identity.Read(rec); err != nil {
		return c, err
	}
	err = rec.Decode(decision.Member, func(v record.Value) (err error) {
		c.Decision, err = decision.Decode(v)
		return err
	})
	if err != nil {
		return c, err
	}
	if err := c.readOrigin(rec); err != nil {
		return c, err
	}
	if c.Decision.Outcome != terms.Reject && !c.Decision.Action.Valid() {
		return c, rec.Bad(fmt.Errorf("the decision is about no action: %s", c.Decision.Action))
	}
	if c.Request != nil && c.Request.Action != c.Decision.Action {
		err := fmt.Errorf("the decision is about %s, the request about %s", c.Decision.Action, c.Request.Action)
		return c, rec.Bad(err)
	}
	return c, nil
}

func (c *Content) readOrigin(rec *record.Record) error {
	if rec.Has(envelope.Member) {
		c.Message, c.Shown = new(envelope.Message), new(envelope.Shown)
		if err := cmp.Or(c.Message.Read(rec), c.Shown.Read(rec)); err != nil {
			return err
		}
	}
	if !rec.Has(request.Member) {
		return nil
	}
	c.Request = new(request.Request)
	return rec.Decode(request.Member, func(v record.Value) (err error) {
		*c.Request, err = request.Decode(v)
		return err
	})
}

// Kind says whether it is an ask or an effect.
func (c *Content) Kind() task.Kind {
	if c.Identity.Effect() {
		return task.Effect
	}
	return task.Ask
}

// Target returns the targets of the request.
func (c *Content) Target() []string {
	if c.Request == nil {
		return nil
	}
	return c.Request.Target
}

// Outward reports whether it is an effect that reaches the outside.
func (c *Content) Outward() bool {
	return c.Identity.Effect() && c.Decision.Action.Outward()
}

// once reports whether it is an effect that may be started once for a yes, because nobody knows what
// a second time would do: one that reaches the outside, or a write by a tool that is not pulse's.
func (c *Content) once() bool {
	r := c.Request
	foreign := r != nil && r.Action == terms.WriteLocal && r.Tool != "" && !tools.BuiltIn(r.Tool)
	return c.Outward() || c.Identity.Effect() && foreign
}

// describe fills in what an audit line says about a record, which is never its text.
func (c *Content) describe(l audit.Line) audit.Line {
	l.Kind = c.Kind()
	l.Action, l.Outcome = c.Decision.Action, c.Decision.Outcome
	l.Rule, l.Policy = c.Decision.Rule, c.Decision.Policy
	if !l.Action.Valid() { // of a file that can't be read
		l.Action = ""
	}
	l.Sender, l.Trust = c.Identity.Sender, c.Identity.Trust
	if l.Event == task.Added || l.Event == task.Refused {
		l.Parent, l.IdentityReason = c.Identity.Parent, string(c.Identity.Reason)
	}
	if m := c.Message; m != nil {
		id := cmp.Or(m.ID, m.Digest)
		l.Source, l.UID, l.MessageID = m.Source, m.UID, id[:min(len(id), maxLogged)]
	}
	return l
}

// maxLogged is how many bytes of a Message-ID get into the log, because strangers write it
// as long as they like.
const maxLogged = 1000

// Stored is a task with its file.
type Stored struct {
	Task task.Task
	Content
	File   []byte // the bytes that Task.Digest is of
	Record *record.Record

	Labels   label.Set         // of its root task: what the queue knows, and what Identity says besides
	Audience audience.Audience // who has seen what it is made of, by its file; Hear and Tell leave fewer
	Began    *Stored           // effects: the ask, from Hear; nil: there is none that can be read
	Extract  []byte            // what its reader made of its text: where a run starts it, only if that fits today
	Outcomes []Outcome         // of what was proposed before, from PastOf; not part of the file
	past     *Past             // that they come from; nil: it was not asked for
}

// Parse reads a task file. The id in it must be that of s.Task, which is its name.
func (s *Stored) Parse(file []byte) error {
	rec, err := record.Parse(file, Members...)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	var fixed task.Task
	err = rec.Decode(task.Member, func(v record.Value) (err error) {
		fixed, err = task.DecodeFixed(v)
		return err
	})
	if err == nil && fixed.ID != s.Task.ID {
		err = fmt.Errorf("it says it is %s", fixed.ID)
	}
	if err == nil {
		s.Content, err = read(rec)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
	}
	s.Task.Kind, s.Task.Created, s.Task.Link, s.Task.Digest = fixed.Kind, fixed.Created, fixed.Link, task.Digest(file)
	s.File, s.Record = file, rec
	if s.Audience = s.Identity.Audience; s.Kind() == task.Ask {
		s.Audience = s.Identity.Seen(s.Message)
	}
	return nil
}

// Root returns the task with which the chain of a task began: itself, if it is an ask.
func (s *Stored) Root() string {
	if s.Identity.Effect() && task.ValidID(s.Identity.Root) {
		return s.Identity.Root
	}
	return s.Task.ID
}

// Who returns the identity with all labels of the root task, and with its audience.
func (s *Stored) Who() identity.Identity {
	who := s.Identity
	who.Labels, who.Audience = s.Labels.Union(who.Labels), s.Audience
	return who
}

// First returns the changing part of a task as it is before anything has changed.
func (s *Stored) First() task.Change {
	return task.Change{Since: s.Task.Created, Reason: string(s.Decision.Reason)}
}

// Line returns the record with its whole `task` member and with its extract, if it has one,
// without a newline. Once the root task has a label that its sender did not give it, identity
// has all of its labels.
func (s *Stored) Line() []byte {
	rec := s.Record
	if len(s.Labels) > len(s.Identity.Labels.Union(label.Of(s.Identity.Trust))) {
		who, err := rec.Get(identity.Member)
		if err == nil {
			who, err = identity.Labelled(who, s.Labels)
		}
		if err == nil {
			rec, err = record.Parse(rec.AppendReplaced(nil, identity.Member, []byte(who)))
		}
		if err != nil { // Parse of this file has read it
			panic(err)
		}
	}
	line := record.AppendMember(nil, foreign(rec), task.Member, s.Task.Append(nil))
	if s.Extract != nil {
		line = record.AppendMember(nil, line, extractMember, s.Extract)
	}
	return line
}

// foreign returns a record without the members that the queue owns.
func foreign(rec *record.Record) []byte {
	b := rec.AppendWithout(nil, task.Member)
	if rec.Has(extractMember) {
		if rest, err := record.Parse(b); err == nil {
			b = rest.AppendWithout(nil, extractMember)
		}
	}
	return b
}

// tried reports whether a task in this state is to be started, or was.
func tried(st task.State) bool { return st == task.Scheduled || st == task.Running }

// move returns the audit line of a transition of s. What was told of a task counts on only
// while it is tried again and again.
func (s *Stored) move(e task.Event, to task.State, change task.Change) audit.Line {
	if change.Told = s.Task.Told; !tried(s.Task.State) || !tried(to) {
		change.Told = time.Time{}
	}
	if s.Standing() != "" {
		change.NotBefore = store.Forever
	}
	if e != task.Requeued && e != task.Continued {
		change.Continues, change.Revisions = s.Task.Continues, s.Task.Revisions
	}
	return s.describe(audit.Line{
		Time: change.Since, Event: e, Task: s.Task.ID, From: s.Task.State, To: to,
		Digest: s.Task.Digest, Change: change,
	})
}
