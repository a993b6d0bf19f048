package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"pulse/lib/audit"
	"pulse/lib/task"
)

// Shelf is where a store keeps things of one kind, each under a key: a directory of
// the queue in flat files. The files of tasks lie on the shelf of their state.
type Shelf string

// The shelves besides those of the states.
const (
	Meta      Shelf = "meta"      // what changed of a task after it was added; by task
	Results   Shelf = "results"   // what its last worker printed
	Drafts    Shelf = "drafts"    // messages for people, who may do with them what they like
	Approvals Shelf = "approvals" // a person's yes to a task
	Spent     Shelf = "spent"     // that yes while the task runs: it may have to come back
	Grants    Shelf = "grants"    // a yes given ahead; by its own id
	Sessions  Shelf = "sessions"  // by its own id
	Outbox    Shelf = "outbox"    // what a worker proposed and is not taken yet; by task
	Positions Shelf = "positions" // how far a source was read; by PositionKey
	Pruned    Shelf = "pruned"    // the last state of a task whose files were removed
	Hold      Shelf = "hold"      // the line that holds the queue; its key is empty
)

// On returns the shelf of a state.
func On(st task.State) Shelf { return Shelf(st) }

// PositionKey returns the key of a source's position.
func PositionKey(source string) string {
	sum := sha256.Sum256([]byte(source))
	return hex.EncodeToString(sum[:16])
}

// Change is what a line of the log changes of one thing. At most one of From, Bytes,
// Digest, Lines and Less is set and says what the thing is from now on; if none is,
// it is gone.
type Change struct {
	Shelf Shelf
	Key   string

	From   Shelf            // what lay there under the same key
	Bytes  []byte           // these
	Digest string           // what was staged with the line, and has this digest
	Lines  []audit.Proposed // what was staged with the line, and has these lines
	Less   string           // what it was, without the line of this effect; nothing left: it is gone

	Answer bool // Bytes are a person's yes: where accounts are told apart, theirs alone may have written them
}

// Gone reports whether the thing is not there any more.
func (c *Change) Gone() bool {
	return c.From == "" && c.Bytes == nil && c.Digest == "" && c.Lines == nil && c.Less == ""
}

// Changes returns what a line of the log changes, in the order in which it must be
// done. It is pure, and the only place that knows: a commit, the repair after a crash
// and Verify are three uses of it.
func Changes(l *audit.Line) []Change {
	list := outboxChanges(nil, l)
	for i := range l.Positions {
		p := &l.Positions[i]
		list = append(list, Change{Shelf: Positions, Key: PositionKey(p.Source), Bytes: p.Append(nil)})
	}
	switch {
	case l.Event == task.Pruned:
		return append(list, Change{Shelf: Pruned, Key: l.Task, Bytes: []byte(l.From)},
			Change{Shelf: On(l.From), Key: l.Task}, Change{Shelf: Meta, Key: l.Task},
			Change{Shelf: Results, Key: l.Task}, Change{Shelf: Approvals, Key: l.Task}, Change{Shelf: Spent, Key: l.Task})
	case l.Moves():
		return taskChanges(list, l)
	case l.Grant != nil && l.Event == audit.Granted:
		return append(list, Change{Shelf: Grants, Key: l.Grant.ID, Bytes: l.Grant.Append(nil), Answer: true})
	case l.Grant != nil && (l.Event == audit.Revoked || l.Event == audit.Consumed):
		return append(list, Change{Shelf: Grants, Key: l.Grant.ID})
	case l.Session != nil:
		return append(list, sessionChange(l))
	case l.Event == audit.Held:
		return append(list, Change{Shelf: Hold, Bytes: l.Append(nil)})
	case l.Event == audit.Released:
		return append(list, Change{Shelf: Hold})
	}
	return list
}

// outboxChanges are those of an outbox: what a worker proposed is all that it holds, and
// the receipt of a proposal takes that one out of it.
func outboxChanges(list []Change, l *audit.Line) []Change {
	if len(l.Proposed) > 0 {
		return append(list, Change{Shelf: Outbox, Key: l.Task, Lines: l.Proposed})
	}
	if l.Settles() && task.ValidID(l.Parent) {
		return append(list, Change{Shelf: Outbox, Key: l.Parent, Less: l.Task})
	}
	return list
}

// taskChanges are those of a transition.
func taskChanges(list []Change, l *audit.Line) []Change {
	file := Change{Shelf: On(l.To), Key: l.Task, From: On(l.From)}
	if l.From == "" {
		file.Digest = l.Digest
	}
	list = append(list, file)
	switch {
	case l.Result != "" && l.Event == task.Carried:
		list = append(list, Change{Shelf: Drafts, Key: l.Task, Digest: l.Result})
	case l.Result != "":
		list = append(list, Change{Shelf: Results, Key: l.Task, Digest: l.Result})
	case l.From == task.Running: // the last worker printed nothing
		list = append(list, Change{Shelf: Results, Key: l.Task})
	}
	if l.Event == task.Added && l.Change.NotBefore.IsZero() && l.Change.Reason != ReasonSessionSpent {
		return list // the decision in the file says why it is where it is; and nobody approved it
	}
	change := l.Change
	change.Since = l.Time
	return approvalChanges(append(list, Change{Shelf: Meta, Key: l.Task, Bytes: change.Append(nil)}), l)
}

// approvalChanges: a line has the approval that its task has from now on. One that a
// start spends lies aside, until the end of the task says whether it comes back.
func approvalChanges(list []Change, l *audit.Line) []Change {
	approval := Change{Shelf: Approvals, Key: l.Task}
	spent := Change{Shelf: Spent, Key: l.Task}
	switch {
	case l.Approval != nil:
		approval.Bytes = l.Approval.Append(nil)
		approval.Answer = slices.Contains(answers, l.Event) && len(l.Approval.Grants) == 0 // whose grants are answers
	case l.Event == task.Started:
		spent.From = Approvals
		return append(list, spent)
	}
	return append(list, approval, spent)
}

// answers are the events by which a person says yes to a task.
var answers = []task.Event{task.Approved, task.Requeued}

// sessionChange: a session that is used up goes, unless it was signed: it is proven
// again when what came in within it starts.
func sessionChange(l *audit.Line) Change {
	c := Change{Shelf: Sessions, Key: l.Session.ID}
	if l.Event != audit.SessionEnded && !l.Session.UsedUp() {
		c.Bytes, c.Answer = l.Session.Append(nil), l.Event == audit.SessionOpened
	}
	return c
}

// Counts are the numbers that a store keeps of what its log says.
type Counts struct {
	Tasks   map[task.State]int
	Day     string // of the rejections below, UTC
	Refused int    // rejections by the policy on the last day that had any, with or without a line
}

// Count reckons a line in.
func (c *Counts) Count(l *audit.Line) {
	if day := l.Time.UTC().Format(time.DateOnly); l.Event == task.Refused {
		if c.Day != day {
			c.Day, c.Refused = day, 0
		}
		c.Refused++
	}
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
