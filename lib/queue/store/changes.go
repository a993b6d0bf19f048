package store

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// Shelf is where a store keeps things of one kind, each under a key. In flat files it is a
// directory of the queue. The file of a task lies on the shelf of the task's state.
type Shelf string

// The shelves besides those of the states.
const (
	Meta      Shelf = "meta"      // by task: what changed in it after it was added
	Results   Shelf = "results"   // by task: what its last worker printed
	Extracts  Shelf = "extracts"  // by task: what its reader made of its text
	Labels    Shelf = "labels"    // by root task: its labels, also after it was pruned
	Drafts    Shelf = "drafts"    // by task: a message for people, which they may edit or remove
	Approvals Shelf = "approvals" // by task: a person's yes to it
	Partly    Shelf = "partly"    // by task: the first of two yeses to it, while it waits for the second and as long as it has both
	Spent     Shelf = "spent"     // by task: that yes while it runs, because it may have to come back
	Grants    Shelf = "grants"    // by its own id: a yes given ahead
	Sessions  Shelf = "sessions"  // by its own id
	Outbox    Shelf = "outbox"    // by task: what its worker proposed and was not added yet
	Positions Shelf = "positions" // by PositionKey: how far a source was read
	Pruned    Shelf = "pruned"    // by task: the last state of one whose files were removed
	Names     Shelf = "names"     // by another name of a mail: the id of its task, also after it was pruned
	Refused   Shelf = "refused"   // by task: a record that the policy rejected, without its text
	Findings  Shelf = "findings"  // by FindingKey: what is wrong, and when a person was told
	Hold      Shelf = "hold"      // the line that put the queue on hold; its key is empty
	Clocks    Shelf = "clock"     // the line of the clock's last jump, or of a person who confirmed the clock after it; its key is empty
)

// On returns the shelf of a state.
func On(st task.State) Shelf { return Shelf(st) }

// PositionKey returns the key of a source's position.
func PositionKey(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:16])
}

// Change is what a line of the log changes in one thing. At most one of From, Bytes,
// Digest, Lines and Less is set, and says what the thing is from now on. If none is set,
// the thing is gone.
type Change struct {
	Shelf Shelf
	Key   string

	From   Shelf            // the thing that lay there under the same key
	Bytes  []byte           // these bytes
	Digest string           // the bytes of this digest that were staged with the line
	Lines  []audit.Proposed // the bytes with these lines that were staged with the line
	Less   string           // what it was without the line of this effect; it is gone if that leaves nothing

	Answer bool // Bytes are a person's yes: if accounts are told apart, only theirs may have written them
}

// Gone reports whether the change removes the thing.
func (c *Change) Gone() bool {
	return c.From == "" && c.Bytes == nil && c.Digest == "" && c.Lines == nil && c.Less == ""
}

// Changes returns what a line of the log changes, in the order in which that must be done.
// It is pure, and the only place that knows: a commit, the repair after a crash and Verify
// are three uses of it.
func Changes(l *audit.Line) []Change {
	list := outboxChanges(nil, l)
	for i := range l.Positions {
		p := &l.Positions[i]
		list = append(list, Change{Shelf: Positions, Key: PositionKey(p.Source), Bytes: p.Append(nil)})
	}
	switch {
	case l.Event == task.Pruned:
		if l.Result != "" {
			list = append(list, Change{Shelf: Drafts, Key: l.Task})
		}
		return append(list, Change{Shelf: Pruned, Key: l.Task, Bytes: []byte(l.From)},
			Change{Shelf: On(l.From), Key: l.Task}, Change{Shelf: Meta, Key: l.Task},
			Change{Shelf: Results, Key: l.Task}, Change{Shelf: Extracts, Key: l.Task},
			Change{Shelf: Approvals, Key: l.Task}, Change{Shelf: Spent, Key: l.Task}, Change{Shelf: Partly, Key: l.Task})
	case l.Event == audit.Partly && l.Approval != nil:
		return append(list, Change{Shelf: Partly, Key: l.Task, Bytes: l.Approval.Append(nil), Answer: true})
	case l.Moves():
		return taskChanges(list, l)
	case l.Event == audit.Resurfaced:
		return append(list, Change{Shelf: Meta, Key: l.Task, Bytes: l.Change.Append(nil)})
	case l.Event == audit.Labelled:
		return append(list, Change{Shelf: Labels, Key: l.Task, Bytes: LabelsFile(l.Labels)})
	case l.Event == task.Refused && l.Digest != "":
		return append(list, Change{Shelf: Refused, Key: l.Task, Digest: l.Digest})
	case l.Event == audit.Forgotten:
		return append(list, Change{Shelf: Refused, Key: l.Task})
	case l.Grant != nil && l.Event == audit.Granted:
		return append(list, Change{Shelf: Grants, Key: l.Grant.ID, Bytes: l.Grant.Append(nil), Answer: true})
	case l.Grant != nil && (l.Event == audit.Revoked || l.Event == audit.Consumed):
		return append(list, Change{Shelf: Grants, Key: l.Grant.ID})
	case l.Session != nil:
		return append(list, sessionChange(l))
	case l.Event == audit.Found && l.Finding != nil:
		return append(list, findingChange(l.Finding))
	case l.Event == audit.Held:
		return append(list, Change{Shelf: Hold, Bytes: l.Append(nil)})
	case l.Event == audit.Released:
		return append(list, Change{Shelf: Hold})
	case l.Event == audit.ClockJumped, l.Event == audit.ClockConfirmed:
		return append(list, Change{Shelf: Clocks, Bytes: l.Append(nil)})
	}
	return list
}

// outboxChanges appends what changes in an outbox. The proposals of a line are all that it
// holds from now on; the receipt of a proposal removes that one.
func outboxChanges(list []Change, l *audit.Line) []Change {
	if len(l.Proposed) > 0 {
		return append(list, Change{Shelf: Outbox, Key: l.Task, Lines: l.Proposed})
	}
	if l.Settles() && task.ValidID(l.Parent) {
		return append(list, Change{Shelf: Outbox, Key: l.Parent, Less: l.Task})
	}
	return list
}

// taskChanges appends what a transition changes.
func taskChanges(list []Change, l *audit.Line) []Change {
	file := Change{Shelf: On(l.To), Key: l.Task, From: On(l.From)}
	if l.From == "" {
		file.Digest = l.Digest
	}
	if l.From != l.To {
		list = append(list, file)
	}
	if l.Event == task.Added && task.ValidID(l.KnownAs) {
		list = append(list, Change{Shelf: Names, Key: l.KnownAs, Bytes: []byte(l.Task)})
	}
	switch {
	case l.Result != "" && l.Event == task.Carried:
		list = append(list, Change{Shelf: Drafts, Key: l.Task, Digest: l.Result})
	case l.Result != "" && l.Event == task.Extracted:
		list = append(list, Change{Shelf: Extracts, Key: l.Task, Digest: l.Result},
			Change{Shelf: Results, Key: l.Task})
	case l.Result != "":
		list = append(list, Change{Shelf: Results, Key: l.Task, Digest: l.Result})
	case l.From == task.Running: // the last worker printed nothing
		list = append(list, Change{Shelf: Results, Key: l.Task})
	}
	if l.Event == task.Added && l.Change.NotBefore.IsZero() && l.Change.Reason != ReasonSessionSpent {
		return list // the decision in the file says why the task is in its state, and there is no approval
	}
	change := l.Change
	change.Since = l.Time
	return approvalChanges(append(list, Change{Shelf: Meta, Key: l.Task, Bytes: change.Append(nil)}), l)
}

// ReasonSessionSpent is the reason of a task that waits for a person because the
// session it was decided under had no use left, or had ended, when it was taken.
const ReasonSessionSpent = "session_spent"

// approvalChanges appends what a transition changes in the task's approval. A line holds
// the approval that its task has from now on. If a start spends one, it is put aside until
// the end of the task says whether it comes back. The first of two yeses stays as long as the other
// one may be used.
func approvalChanges(list []Change, l *audit.Line) []Change {
	approval := Change{Shelf: Approvals, Key: l.Task}
	spent := Change{Shelf: Spent, Key: l.Task}
	switch {
	case l.Approval != nil:
		approval.Bytes = l.Approval.Append(nil)
		// An approval made of grants is no answer to this task: the grants were the answers.
		approval.Answer = slices.Contains(answers, l.Event) && len(l.Approval.Grants) == 0
	case l.Event == task.Started:
		spent.From = Approvals
		return append(list, spent)
	}
	if list = append(list, approval, spent); l.From != "" && (l.Approval == nil || l.Event == task.Requeued) {
		list = append(list, Change{Shelf: Partly, Key: l.Task})
	}
	return list
}

// answers are the events by which a person says yes to a task.
var answers = []task.Event{task.Approved, task.Requeued}

// sessionChange returns what a line changes in a session. A session that is used up goes,
// unless it was signed: a signed one is proven again when a task that came in within it
// starts.
func sessionChange(l *audit.Line) Change {
	c := Change{Shelf: Sessions, Key: l.Session.ID}
	if l.Event != audit.SessionEnded && !l.Session.UsedUp() {
		c.Bytes, c.Answer = l.Session.Append(nil), l.Event == audit.SessionOpened
	}
	return c
}

// Counts are the numbers that a store keeps about its log.
type Counts struct {
	Tasks   map[task.State]int
	Day     string // of the rejections below, UTC
	Refused int    // rejections of asks and effects on the last day that had any, with or without a line
	Limited bool   // the log says that some of that day have no line

	Kept      int   // refused records that are kept
	KeptBytes int64 // their size

	Head string // hash of the log's last line; set by At
}

// At returns the counts with the head of the log that they were counted to.
func (c Counts) At(head string) Counts {
	c.Head = head
	return c
}

// Count adds a line to the counts.
func (c *Counts) Count(l *audit.Line) {
	c.countRefused(l)
	c.countKept(l)
	if !l.Moves() {
		return
	}
	if l.From != "" {
		c.Tasks[l.From]--
	}
	if l.To != "" {
		c.Tasks[l.To]++
	}
}

// countRefused counts a rejection, or notes that further ones have no line.
func (c *Counts) countRefused(l *audit.Line) {
	if l.Event != task.Refused && l.Event != audit.Limited {
		return
	}
	if day := l.Time.UTC().Format(time.DateOnly); c.Day != day {
		c.Day, c.Refused, c.Limited = day, 0, false
	}
	if l.Event == audit.Limited {
		c.Limited = true
	} else {
		c.Refused++
	}
}

// countKept counts a refused record that is kept from now on, or no longer.
func (c *Counts) countKept(l *audit.Line) {
	switch {
	case l.Event == task.Refused && l.Digest != "":
		c.Kept++
		c.KeptBytes += l.Size
	case l.Event == audit.Forgotten:
		c.Kept--
		c.KeptBytes -= l.Size
	}
}

// FindingKey returns the key of what is wrong: its code, and what tells it from others of that code.
func FindingKey(code, about string) string {
	sum := sha256.Sum256([]byte(code + " " + about))
	return hex.EncodeToString(sum[:16])
}

// findingChange returns what a line changes in a finding. One that ended is gone.
func findingChange(f *audit.Finding) Change {
	c := Change{Shelf: Findings, Key: FindingKey(f.Code, f.About)}
	if f.What != audit.FindingClosed {
		c.Bytes = f.Append(nil)
	}
	return c
}

// LabelsFile returns what is kept of the labels of a root task.
func LabelsFile(s label.Set) []byte {
	var o record.Object
	o.Raw("labels", s.Append(nil))
	return o.Bytes()
}

// DecodeLabels reads what LabelsFile wrote, which has one label or more.
func DecodeLabels(v record.Value) (set label.Set, err error) {
	err = v.Each(func(name string, v record.Value) (err error) {
		if name == "labels" {
			set, err = label.Decode(v)
		}
		return err
	})
	if err == nil && len(set) == 0 {
		err = errors.New("it has no labels")
	}
	return set, err
}
