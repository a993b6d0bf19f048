// Package task says what pulse-queue keeps: what a task is, how it is named, which state
// may follow which, and by which event of the audit log. It does no I/O.
//
// Invariant: one id is one task in one state. A task leaves a state only by a transition
// of the table in this package, and every transition is one audit line. Caveat: the
// store decides when a transition is durable; see store.Store.
package task

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"

	"pulse/lib/shared/record"
)

// Member is the name of the member in a record.
const Member = "task"

// Kind tells asks, which a sender wants of the agent, from effects, which the agent
// wants to do.
type Kind string

// The kinds. Neither is ever taken for the other.
const (
	Ask    Kind = "ask"
	Effect Kind = "effect"
)

// State says where a task stands. It is also the name of a directory of the queue.
type State string

// The states.
const (
	Scheduled State = "scheduled"
	Awaiting  State = "awaiting_review"
	Running   State = "running"
	Completed State = "completed"
	Rejected  State = "rejected"
	Failed    State = "failed"
	Corrupt   State = "corrupt" // the file can't be read
)

// States lists the states in which a task file can lie.
var States = []State{Scheduled, Awaiting, Running, Completed, Rejected, Failed, Corrupt}

// Open reports whether a task in this state still waits for something.
func (s State) Open() bool { return s == Scheduled || s == Awaiting || s == Running }

// Task is a task as pulse-queue prints it.
type Task struct {
	ID      string
	Kind    Kind
	State   State
	Digest  string // "sha256:" and the digest of the task file's bytes
	Created time.Time
	Refused bool // it is no task: the record was rejected when it came, and is kept without its text
	Link
	Change

	Partly string // who gave the first of two yeses, while it waits for the second; empty: nobody

	Limit string    // the key of the policy that keeps it from starting now; empty: none, or not known
	Until time.Time // when that has room again, if nothing else uses it up
}

// Change is the part of a task that changes. A task file never does, so this part lies
// beside it.
type Change struct {
	Since     time.Time // of the last transition; zero before the first
	Attempts  int       // starts that ended by themselves
	Deferred  int       // attempts after which the worker asked to be run again later (75)
	Restarts  int       // starts that died
	Continues int       // how often the ask went on after its effects had ended
	Revisions int       // how often it was started again because a person wanted it otherwise
	NotBefore time.Time // the earliest time for a start; zero: at once
	Reason    string    // of the last transition
	Told      time.Time // when a person was told once more of it, since the last transition; zero: not yet
}

// Append appends the `task` member's value.
func (t *Task) Append(dst []byte) []byte {
	var o record.Object
	o.Str("id", t.ID)
	o.Str("kind", string(t.Kind))
	o.Str("state", string(t.State))
	o.StrIf("digest", t.Digest)
	o.Time("created", t.Created)
	o.BoolIf("refused", t.Refused)
	t.Link.add(&o)
	t.Change.add(&o)
	o.StrIf("partly", t.Partly)
	o.StrIf("limit", t.Limit)
	o.Time("until", t.Until)
	return append(dst, o.Bytes()...)
}

// AppendFixed appends the part of the member that never changes. A task file holds this
// part alone, and so does the file of a refused record.
func (t *Task) AppendFixed(dst []byte) []byte {
	var o record.Object
	o.Str("id", t.ID)
	o.Str("kind", string(t.Kind))
	o.Time("created", t.Created)
	o.BoolIf("refused", t.Refused)
	t.Link.add(&o)
	return append(dst, o.Bytes()...)
}

func (c *Change) add(o *record.Object) {
	o.Time("since", c.Since)
	o.Int("attempts", int64(c.Attempts))
	o.IntIf("deferred", int64(c.Deferred))
	o.Int("restarts", int64(c.Restarts))
	c.AppendAgain(o)
	o.Time("not_before", c.NotBefore)
	o.StrIf("reason", c.Reason)
	o.Time("told", c.Told)
}

// AppendAgain adds how often a task was started again, if it was.
func (c *Change) AppendAgain(o *record.Object) {
	o.IntIf("continues", int64(c.Continues))
	o.IntIf("revisions", int64(c.Revisions))
}

// field decodes one member of a Change.

// Append appends c as an object.
func (c *Change) Append(dst []byte) []byte {
	var o record.Object
	c.add(&o)
	return append(dst, o.Bytes()...)
}

// DecodeChange reads what Append wrote.
func DecodeChange(v record.Value) (Change, error) {
	var c Change
	err := v.Each(record.To(
		"since", &c.Since, "attempts", &c.Attempts, "deferred", &c.Deferred, "restarts", &c.Restarts,
		"continues", &c.Continues, "revisions", &c.Revisions, "not_before", &c.NotBefore,
		"reason", &c.Reason, "told", &c.Told,
	))
	return c, err
}

// DecodeFixed reads the member of a task file.
func DecodeFixed(v record.Value) (Task, error) {
	var t Task
	err := v.Each(record.To(
		"id", &t.ID, "kind", (*string)(&t.Kind), "created", &t.Created,
		"answers", &t.Link.Answers, "thread", &t.Link.Thread,
	))
	if err == nil && (!ValidID(t.ID) || t.Kind != Ask && t.Kind != Effect) {
		err = fmt.Errorf("no id or no kind")
	}
	return t, cmp.Or(err, t.Link.valid())
}

// Named returns the id of the task that a record is of, "" if the queue has not printed it.
func Named(rec *record.Record) (id string, err error) {
	if !rec.Has(Member) {
		return "", nil
	}
	err = rec.Decode(Member, func(v record.Value) error {
		t, err := DecodeFixed(v)
		id = t.ID
		return err
	})
	return id, err
}

// Digest returns the digest of a task file's bytes.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return string(hex.AppendEncode(append(make([]byte, 0, 7+2*len(sum)), "sha256:"...), sum[:]))
}

// idLength is the length of an id in hex digits.
const idLength = 32

// ValidID reports whether s has the form of an id.
func ValidID(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == idLength
}

// id hashes fields as netstrings ("4:mail,"), so that different lists of fields never
// give the same bytes.
func id(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		io.WriteString(h, strconv.Itoa(len(f))+":"+f+",")
	}
	return hex.EncodeToString(h.Sum(nil))[:idLength]
}

// MailID returns the id of a mail's task. Whether the sender was proven is part of it,
// so a forged message can't take a genuine one's place. sender must be folded
// (address.Fold).
func MailID(verified bool, sender, messageID string) string {
	proof := "unverified"
	if verified {
		proof = "verified"
	}
	return id("mail", proof, sender, messageID)
}

// SignedMailID returns the id of a mail's task from the digest of its signed fields. It
// is for mail whose sender was proven by a signature over them that leaves out the
// Message-ID. Anyone who sends the message on can't change those fields, and no other change
// gives the mail a new id.
func SignedMailID(sender, digest string) string { return id("mail", "signed", sender, digest) }

// WholeMailID returns the id of the task of a mail whose sender was not proven, from a digest
// of all that is shown of it and of its body. So a forger who knows the Message-ID of another
// mail can't take that one's place.
func WholeMailID(sender, digest string) string { return id("mail", "whole", sender, digest) }

// ContentMailID returns the name by which a mail is known besides its id. body is the digest of
// its body. No task has it as its id.
func ContentMailID(sender, date, subject, body string) string {
	return id("mail", "content", sender, date, subject, body)
}

// MessageID returns the id of the task of a message on a platform whose server assigns
// the message ids.
func MessageID(source, messageID string) string { return id("message", source, messageID) }

// EffectID returns the id of an effect's task from the root ask and the canonical
// request, so that a refusal sticks to a repeated proposal. ordinal tells equal requests
// of one root apart.
func EffectID(root string, canonical []byte, ordinal int) string {
	return id("effect", root, string(canonical), strconv.Itoa(ordinal))
}

// ThingID returns the id under which a queue keeps the labels of what is no task: of a kind, such
// as a path, and a value.
func ThingID(kind, value string) string { return id("thing", kind, value) }

// RandomID returns a random id, for a submitted task.
func RandomID() string {
	var b [idLength / 2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
