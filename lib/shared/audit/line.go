// Package audit holds the lines of the log of everything that a queue did: one JSON line
// for each transition, with the SHA-256 of the line before (pulse-queue(5)). It does no
// I/O.
//
// Invariant: a line that was changed, moved or removed breaks the hash chain after it.
// The queue writes a line before it moves a file, so it can also repair a crash from
// the log. Caveat: the chain shows tampering with the end of the log only to a reader
// who kept an earlier head.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The events that are not transitions of a task.
const (
	Granted   task.Event = "granted"
	Revoked   task.Event = "revoked"
	Consumed  task.Event = "consumed" // a grant was spent
	Withheld  task.Event = "withheld" // a grant was asked for, and none was spent
	Held      task.Event = "held"
	Released  task.Event = "released"
	Repaired  task.Event = "repaired"  // a torn tail was moved aside
	Settled   task.Event = "settled"   // a proposal was known already
	Discarded task.Event = "discarded" // lines that were not proposals, or not allowed to the worker
	Judged    task.Event = "judged"    // a run decided about uses of a tool, Count times
	Ended     task.Event = "ended"     // the worker of a task that was cancelled is gone
	Noted     task.Event = "noted"     // an agent wrote a note on a task
	Limited   task.Event = "limited"   // further refusals of this day are counted, not listed
	Read      task.Event = "read"      // a source was read further, and nothing else changed

	ClockJumped    task.Event = "clock_jumped"    // the clock of the next line is not that of the line before
	ClockConfirmed task.Event = "clock_confirmed" // a person vouches for the clock after a jump

	Resurfaced task.Event = "resurfaced" // a person is told once more of a task that waits or lies untouched

	SessionOpened task.Event = "session_opened"
	SessionUsed   task.Event = "session_used" // by the task that is added in the same commit
	SessionEnded  task.Event = "session_ended"

	Resumed task.Event = "resumed" // a person accepted that the queue lacks lines

	Forgotten task.Event = "forgotten" // a refused record is kept no longer

	Labelled task.Event = "labelled" // a root task has one more label

	Partly task.Event = "partly" // a person gave the first of two yeses, and the task waits on

	Found task.Event = "finding" // something is wrong, still is, or is no longer
)

// Line is one line of the log. A member that an event does not use is left out.
type Line struct {
	Time  time.Time
	Event task.Event

	Task     string
	Kind     task.Kind
	From, To task.State  // From alone, the state it stays in, if Event is Resurfaced
	Digest   string      // of the task file, or of what is kept of a refused record
	Size     int64       // in bytes, of the refused record that is kept from now on, or no longer
	NotKept  string      // why nothing is kept of a refused record, where the policy wants it kept
	Change   task.Change // Since is Time, except where Event is Resurfaced, and of a jump of the clock the time of the line before
	Before   time.Time   // of a jump of the clock: the last line of a clock that was believed, if that of the line before was not
	Began    time.Time   // of a jump of the clock: the line after which it did not go back

	Result string // digest of what the worker printed, of the extract if Event is Extracted, of the draft that is removed if it is Pruned, or the head of the queue that was put aside if it is Resumed
	End    *End   // of the worker whose attempt the line ends; nil: no runner saw one

	Proposed []Proposed // the worker's proposals that have no receipt yet: all of its outbox
	Parent   string     // the task that proposed this one, or wrote the note
	Count    int        // how many lines were discarded, or judgements are alike
	Target   []string   // of a message that is about to be sent
	Link     task.Link  // of a message that answers an effect

	Tool           string // of a judgement
	Action         terms.Action
	Outcome        terms.Outcome // of the decision
	Rule           string
	Policy         string
	Sender         string
	Trust          terms.Trust
	IdentityReason string // identity.reason
	Source         string
	UID            uint32
	MessageID      string
	KnownAs        string // another name of the mail that is added, under which it may come again

	Sandbox  string // how the add that accepted the task was confined
	Account  string // the account under which the worker is started
	By       string // the person
	Level    approval.Level
	Approval *approval.Approval // the task's approval from now on; nil: it has none. If Event is Partly, the first of two
	Grant    *approval.Grant
	Session  *approval.Session // as it is from now on

	Labels    label.Set  // of the root task from now on, all of them
	Positions []Position // of the sources that were read further
	Finding   *Finding

	More bool   // the next line belongs to this one: both were committed, or neither
	Prev string // "sha256:" and the digest of the line before, newline excluded
}

// Touches reports whether the line changes files that are kept for its task.
func (l *Line) Touches() bool {
	return l.Moves() || l.Event == Resurfaced || l.Event == Labelled
}

// Moves reports whether the line is a transition of a task that has a file before or
// after it.
func (l *Line) Moves() bool {
	return l.Task != "" && (l.From != "" || l.To != "") && l.Event != Resurfaced
}

// jumps reports whether the line is about a jump of the clock.
func (l *Line) jumps() bool { return l.Event == ClockJumped || l.Event == ClockConfirmed }

// Origin is the Prev of the first line.
const Origin = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// Bare returns a digest without "sha256:", as sha256sum prints it.
func Bare(digest string) string { return strings.TrimPrefix(digest, "sha256:") }

// Hash returns the value that the next line's Prev must have; line has no newline.
func Hash(line []byte) string {
	const kind = "sha256:"
	sum, text := sha256.Sum256(line), [len(Origin)]byte{}
	hex.Encode(text[copy(text[:], kind):], sum[:])
	return string(text[:]) // made at once: the chain of a year is checked every hour
}

// PrevOf returns the Prev of a line, which is its last member, without parsing the rest: the chain
// of a year is checked every hour. "": it is not a line that Append made.
func PrevOf(line []byte) string {
	const before, after = `"prev":"`, `"}`
	from := len(line) - len(before) - len(Origin) - len(after)
	if from < 0 || line[0] != '{' || !bytes.HasPrefix(line[from:], []byte(before)) || !bytes.HasSuffix(line, []byte(after)) {
		return ""
	}
	return string(line[from+len(before) : len(line)-len(after)])
}

// TimeOf returns the time of a line, for a tenth of what it takes to parse the line. b may be no more
// than its beginning. Zero: it is not a line that Append made.
func TimeOf(b []byte) time.Time {
	t, _ := first(b)
	return t
}

// first returns the first member, which is the time, and what follows it.
func first(b []byte) (t time.Time, rest []byte) {
	b, ok := bytes.CutPrefix(b, []byte(`{"time":"`))
	at, rest, whole := bytes.Cut(b, []byte(`"`))
	if !ok || !whole {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, string(at))
	if err != nil {
		return time.Time{}, nil
	}
	return t, rest
}

// Brief is Parse for the time and the event of a line, as cheap as TimeOf.
func Brief(b []byte) (l Line, ok bool) {
	at, rest := first(b)
	rest, ok = bytes.CutPrefix(rest, []byte(`,"event":"`))
	event, _, whole := bytes.Cut(rest, []byte(`"`))
	return Line{Time: at, Event: task.Event(event)}, ok && whole && !bytes.Contains(event, []byte(`\`))
}

// ParseOf is Parse, or Brief for the lines of other events than those named, if any are: to decode the
// rest takes most of the time.
func ParseOf(b []byte, events ...task.Event) (Line, error) {
	if len(events) > 0 {
		if l, ok := Brief(b); ok && !slices.Contains(events, l.Event) {
			return l, nil
		}
	}
	return Parse(b)
}

// Append appends the line without a newline.
func (l *Line) Append(dst []byte) []byte {
	var o record.Object
	o.Time("time", l.Time)
	o.Str("event", string(l.Event))
	o.StrIf("task", l.Task)
	o.StrIf("kind", string(l.Kind))
	if l.Event == Resurfaced {
		o.StrIf("state", string(l.From))
		o.Time("since", l.Change.Since)
	} else {
		o.StrIf("from", string(l.From))
		o.StrIf("to", string(l.To))
	}
	if l.jumps() {
		o.Time("since", l.Change.Since)
		o.Time("before", l.Before)
		o.Time("began", l.Began)
	}
	o.StrIf("digest", l.Digest)
	o.IntIf("size", l.Size)
	o.StrIf("not_kept", l.NotKept)
	if l.To != "" || l.Event == Resurfaced {
		o.Int("attempts", int64(l.Change.Attempts))
		o.IntIf("deferred", int64(l.Change.Deferred))
		o.Int("restarts", int64(l.Change.Restarts))
		l.Change.AppendAgain(&o)
		o.Time("not_before", l.Change.NotBefore)
	}
	o.StrIf("reason", l.Change.Reason)
	o.Time("told", l.Change.Told)
	o.StrIf("result", l.Result)
	l.appendEnd(&o)
	l.appendProposals(&o)
	l.appendWho(&o)
	o.BoolIf("more", l.More)
	o.Str("prev", l.Prev)
	return append(dst, o.Bytes()...)
}

func (l *Line) appendWho(o *record.Object) {
	o.StrIf("tool", l.Tool)
	o.StrIf("action", string(l.Action))
	o.StrIf("outcome", string(l.Outcome))
	o.StrIf("rule", l.Rule)
	o.StrIf("policy", l.Policy)
	o.StrIf("sender", l.Sender)
	o.StrIf("trust", string(l.Trust))
	if l.IdentityReason != "" {
		o.Raw("identity", appendIdentity(l.IdentityReason))
	}
	o.StrIf("source", l.Source)
	o.IntIf("uid", int64(l.UID))
	o.StrIf("message_id", l.MessageID)
	o.StrIf("known_as", l.KnownAs)
	o.StrIf("sandbox", l.Sandbox)
	o.StrIf("account", l.Account)
	o.StrIf("by", l.By)
	o.StrIf("level", string(l.Level))
	if l.Approval != nil {
		o.Raw("approval", l.Approval.Append(nil))
	}
	if l.Grant != nil {
		o.Raw("grant", l.Grant.Append(nil))
	}
	if l.Session != nil {
		o.Raw("session", l.Session.Append(nil))
	}
	if len(l.Labels) > 0 {
		o.Raw("labels", l.Labels.Append(nil))
	}
	if len(l.Positions) > 0 {
		o.Raw("positions", appendPositions(nil, l.Positions))
	}
	if l.Finding != nil {
		o.Raw("finding", l.Finding.Append(nil))
	}
}

// members are the members of a line that may hold objects.
var members = []string{"approval", "grant", "session", "proposed", "positions", "identity", "labels", "finding"}

// Parse reads a line.
func Parse(b []byte) (Line, error) {
	var l Line
	rec, err := record.Parse(b, members...)
	if err != nil {
		return l, err
	}
	err = rec.Value().Each(l.members())
	if l.Event != Resurfaced && !l.jumps() {
		l.Change.Since = l.Time
	}
	return l, err
}

// members decodes all members.
func (l *Line) members() func(name string, v record.Value) error {
	c := &l.Change
	values := record.To(
		"time", &l.Time, "event", (*string)(&l.Event), "task", &l.Task, "kind", (*string)(&l.Kind),
		"state", (*string)(&l.From), "from", (*string)(&l.From), "to", (*string)(&l.To), "since", &c.Since,
		"before", &l.Before, "began", &l.Began, "digest", &l.Digest, "size", &l.Size, "not_kept", &l.NotKept,
		"attempts", &c.Attempts, "deferred", &c.Deferred, "restarts", &c.Restarts, "continues", &c.Continues,
		"revisions", &c.Revisions, "not_before", &c.NotBefore, "reason", &c.Reason, "told", &c.Told,
		"result", &l.Result, "parent", &l.Parent, "count", &l.Count, "target", &l.Target,
		"answers", &l.Link.Answers, "thread", &l.Link.Thread, "tool", &l.Tool, "action", (*string)(&l.Action),
		"outcome", (*string)(&l.Outcome), "rule", &l.Rule, "policy", &l.Policy, "sender", &l.Sender,
		"trust", (*string)(&l.Trust), "source", &l.Source, "uid", &l.UID, "message_id", &l.MessageID,
		"known_as", &l.KnownAs, "sandbox", &l.Sandbox, "account", &l.Account, "by", &l.By,
		"level", (*string)(&l.Level), "more", &l.More, "prev", &l.Prev,
	)
	return func(name string, v record.Value) (err error) {
		switch name {
		case "exit":
			err = v.Into(&l.end().Exit)
		case "said":
			err = v.Into(&l.end().Said)
		case "proposed":
			l.Proposed, err = decodeProposed(v)
		case "identity":
			l.IdentityReason, err = decodeIdentity(v)
		case "approval":
			l.Approval = new(approval.Approval)
			*l.Approval, err = approval.Decode(v)
		case "grant":
			l.Grant = new(approval.Grant)
			*l.Grant, err = approval.DecodeGrant(v)
		case "session":
			l.Session = new(approval.Session)
			*l.Session, err = approval.DecodeSession(v)
		case "labels":
			l.Labels, err = label.Decode(v)
		case "finding":
			l.Finding = new(Finding)
			*l.Finding, err = DecodeFinding(v)
		case "positions":
			err = v.Elements(func(_ int, v record.Value) error {
				p, err := DecodePosition(v)
				l.Positions = append(l.Positions, p)
				return err
			})
		default:
			err = values(name, v)
		}
		return err
	}
}
