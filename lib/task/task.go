// Package task is what pulse-queue keeps: what a task is, what it is called, which
// state may follow which and what the audit log says of it. It does no I/O.
//
// Invariant: one id is one task in one state; no state is left but by a transition
// of the table in this package, and every transition is one audit line. Caveat:
// the store decides when a transition is durable; see Store.
package task

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"pulse/lib/record"
)

// Member is the name of the member in a record.
const Member = "task"

// Kind tells what somebody wants of the agent from what the agent wants to do.
type Kind string

// The kinds. Neither is ever taken for the other.
const (
	Ask    Kind = "ask"
	Effect Kind = "effect"
)

// State is where a task stands; it is the name of a directory.
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
	Change
}

// Change is what changes while a task file does not: it lies beside it.
type Change struct {
	Since     time.Time // of the last transition; zero before the first
	Attempts  int       // starts that ended by themselves
	Restarts  int       // starts that died
	NotBefore time.Time // not to be started earlier; zero: at once
	Reason    string    // of the last transition
}

// Append appends the `task` member's value.
func (t *Task) Append(dst []byte) []byte {
	var o record.Object
	o.Str("id", t.ID)
	o.Str("kind", string(t.Kind))
	o.Str("state", string(t.State))
	o.StrIf("digest", t.Digest)
	o.Time("created", t.Created)
	t.Change.add(&o)
	return append(dst, o.Bytes()...)
}

// AppendFixed appends the part of the member that never changes; it is what a
// task file holds.
func (t *Task) AppendFixed(dst []byte) []byte {
	var o record.Object
	o.Str("id", t.ID)
	o.Str("kind", string(t.Kind))
	o.Time("created", t.Created)
	return append(dst, o.Bytes()...)
}

func (c *Change) add(o *record.Object) {
	o.Time("since", c.Since)
	o.Int("attempts", int64(c.Attempts))
	o.Int("restarts", int64(c.Restarts))
	o.Time("not_before", c.NotBefore)
	o.StrIf("reason", c.Reason)
}

// field decodes one member of a Change.
func (c *Change) field(name string, v record.Value) error {
	switch name {
	case "since":
		return v.Into(&c.Since)
	case "attempts":
		return v.Into(&c.Attempts)
	case "restarts":
		return v.Into(&c.Restarts)
	case "not_before":
		return v.Into(&c.NotBefore)
	case "reason":
		return v.Into(&c.Reason)
	}
	return nil
}

// Append appends c as an object.
func (c *Change) Append(dst []byte) []byte {
	var o record.Object
	c.add(&o)
	return append(dst, o.Bytes()...)
}

// DecodeChange reads what Append wrote.
func DecodeChange(v record.Value) (Change, error) {
	var c Change
	err := v.Each(c.field)
	return c, err
}

// DecodeFixed reads the member of a task file.
func DecodeFixed(v record.Value) (Task, error) {
	var t Task
	err := v.Each(func(name string, v record.Value) error {
		switch name {
		case "id":
			return v.Into(&t.ID)
		case "kind":
			return v.Into((*string)(&t.Kind))
		case "created":
			return v.Into(&t.Created)
		}
		return nil
	})
	if err == nil && (!ValidID(t.ID) || t.Kind != Ask && t.Kind != Effect) {
		err = fmt.Errorf("no id or no kind")
	}
	return t, err
}

// Digest returns the digest of a task file's bytes.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// idLength is the length of an id in hex digits.
const idLength = 32

// ValidID reports whether s has the form of an id.
func ValidID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdef") == ""
}

// id hashes fields as netstrings ("4:mail,"), so that no two lists of fields run
// together.
func id(fields ...string) string {
	h := sha256.New()
	for _, f := range fields {
		io.WriteString(h, strconv.Itoa(len(f))+":"+f+",")
	}
	return hex.EncodeToString(h.Sum(nil))[:idLength]
}

// MailID names the task of a mail. Whether the sender was proven is part of it,
// so a forged message can't take a genuine one's place. sender is folded.
func MailID(verified bool, sender, messageID string) string {
	proof := "unverified"
	if verified {
		proof = "verified"
	}
	return id("mail", proof, sender, messageID)
}

// SignedMailID names the task of a mail whose sender was proven by our own DKIM
// check, by the digest of the fields that are signed: whoever sends the message on
// can't change them, and whatever he can change leaves the name as it is.
func SignedMailID(sender, digest string) string { return id("mail", "signed", sender, digest) }

// MessageID names the task of a message on a platform whose server gives out the
// message ids.
func MessageID(source, messageID string) string { return id("message", source, messageID) }

// EffectID names the task of an effect by the ask it all began with and what it
// wants, so that a refusal sticks to the same proposal. ordinal tells equal
// requests of one root apart.
func EffectID(root string, canonical []byte, ordinal int) string {
	return id("effect", root, string(canonical), strconv.Itoa(ordinal))
}

// RandomID names a submitted task.
func RandomID() string {
	var b [idLength / 2]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
