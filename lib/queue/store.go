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
	"errors"
	"time"

	"pulse/lib/approval"
	"pulse/lib/audit"
	"pulse/lib/task"
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
//   - What fn reads, in View and in Update, is one moment's picture.
//   - Scan is oldest first.
type Store interface {
	View(fn func(View) error) error
	Update(fn func(Tx) error) error
	Head() string // names the state that the last View or Update saw or left
}

// View is a consistent picture of the store.
type View interface {
	State(id string) (task.State, error) // "" where nobody knows the id
	Scan(st task.State, fn func(id string) (more bool, err error)) error
	Count(st task.State) (int, error)
	Load(st task.State, id string) (Stored, error) // ErrUnknown, ErrCorrupt
	Approval(id string) (*approval.Approval, error)
	Grants() ([]approval.Grant, error)
	Held() (*audit.Line, error)
	Result(id string) ([]byte, error)
	History(fn func(audit.Line) (more bool)) error // newest first
	Refused() (day string, n int)
}

// Tx is a View in which changes can be staged. It shows the staged states, and
// otherwise the picture from before.
type Tx interface {
	View
	Add(file []byte, line audit.Line) error
	Move(line audit.Line) error
	Keep(id string, result []byte) error // with the Move staged next
	Log(line audit.Line) error
	Refuse(line audit.Line) error
	Position(p Position)
}

// Position is how far a source was read.
type Position struct {
	Source           string
	UIDValidity, UID uint32
	Received         time.Time
}
