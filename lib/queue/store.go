// Package queue says what happens to a task: how a record becomes one, when it may
// start, what its end means, what a person's answer changes. Where tasks are kept
// is behind Store; package spool keeps them in flat files.
//
// Invariants: what was accepted is started once for each approval or attempt and
// never after it completed; before each start it is decided on again, with the
// policy of that moment; an effect that reaches the outside starts on a person's
// approval only, which is spent first. Caveat: everything here runs inside one
// View or Update; the caller brings the clock.
package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"pulse/lib/address"
	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/task"
	"pulse/lib/terms"
)

// The errors of a store.
var (
	ErrUnknown  = errors.New("no such task")
	ErrConflict = errors.New("somebody else was faster")
	ErrCorrupt  = errors.New("the task file can't be read")
)

// MaxRefusals is how many policy rejections of one day get a line of their own in
// the audit log; the others are counted.
const MaxRefusals = 1000

// Store keeps tasks. It promises:
//
//   - Update is all or nothing, and durable when it returns nil; after an error or
//     a crash the store is as before or as after, nothing in between.
//   - Add fails for an id that is known in any state; Move is a compare-and-swap.
//   - What fn reads, in View and in Update, is one moment's picture. In View, fn may
//     be called again, and only its last run counts.
//   - Open and Scan are oldest first. What Open, Count, Starts and Update cost does
//     not grow with what is closed, and their memory with nothing.
//   - No reader keeps anybody waiting; so fn is brief, and what reads for long is List
//     and Match, or comes after the View, as Lines.
type Store interface {
	View(fn func(View) error) error
	Update(fn func(Tx) error) error
	List(states []task.State, want func(*Entry) bool) ([]Listed, error)
	Match(prefix string) (ids []string, err error) // two at most, of open tasks first
}

// View is a consistent picture of the store.
type View interface {
	State(id string) (task.State, error)         // "" where nobody has a file of that id
	Lies(st task.State, id string) (bool, error) // whether it has one in that state, which costs less
	Logged(id string) (task.State, error)        // "" where the log has no open task of that id
	Open(fn func(Entry) (more bool, err error)) error
	Entries(st task.State, fn func(Entry) (more bool, err error)) error // open ones of a state
	Scan(st task.State, fn func(id string) (more bool, err error)) error
	Count(st task.State) (int, error)
	Load(st task.State, id string) (Stored, error) // ErrUnknown, ErrCorrupt
	Approval(id string) (*approval.Approval, error)
	Grants() ([]approval.Grant, error)
	Sessions() ([]approval.Session, error) // those that were not ended
	Held() (*audit.Line, error)
	Lost() (string, error)                         // what the store lacks of what was seen committed; "": nothing
	Result(id string) ([]byte, error)              // ErrCorrupt
	Outbox(parent string) ([]byte, error)          // nothing where there is none
	Outboxes(fn func(parent string) error) error   // of those that hold something, oldest first
	Starts(now time.Time, fn func(Start)) error    // of the last Window at least
	Pruned(id string) (last task.State, err error) // "" where it never was
	History(fn func(audit.Line) (more bool)) error // newest first
	Lines(since time.Time, about string) (Lines, error)
	Refused() (day string, n int)
}

// Lines calls fn for lines of the audit log, oldest first, until it returns an
// error: those of a time and later that hold a text, such as an id. raw is the line
// without its newline, good until fn returns. It may be called after the View in
// which it was made, and reads what the log held then.
type Lines func(fn func(raw []byte, l *audit.Line) error) error

// Tx is a View in which changes can be staged. State shows what is staged; all
// else is the picture from before.
type Tx interface {
	View
	Add(file []byte, line audit.Line) error
	Move(line audit.Line) error
	Keep(id string, result []byte) error    // with the Move staged next
	Propose(id string, outbox []byte) error // with the Move staged next, whose Proposed says the same
	Log(line audit.Line) error
	Refuse(line audit.Line) error
	Position(p Position, now time.Time)
}

// Entry is what can be said of an open task without reading its file.
type Entry struct {
	ID        string
	State     task.State
	Digest    string // the first 32 hex digits of the task file's SHA-256
	Action    terms.Action
	Kind      task.Kind
	External  bool // its sender is of trust external_verified
	Message   bool // it came as a message, and counts against its sender's quota
	Sender    Key
	Since     time.Time // of the last transition, in whole seconds
	NotBefore time.Time // zero: at once
	PutOff    bool      // by a person, not after a failure
}

// Start is a start of a worker.
type Start struct {
	Time     time.Time
	Kind     task.Kind
	External bool
	Sender   Key
}

// Window is how far back starts count against a limit.
const Window = 24 * time.Hour

// Key stands for a sender: 16 hex digits of the SHA-256 of the folded address.
type Key string

// KeyOf returns the key of a sender.
func KeyOf(sender string) Key {
	sum := sha256.Sum256([]byte(address.Fold(sender)))
	return Key(hex.EncodeToString(sum[:8]))
}

// Position is how far a source was read.
type Position = audit.Position
