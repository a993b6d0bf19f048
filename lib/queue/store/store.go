// Package store says what a store of a queue keeps and promises: things on shelves, a log, and
// what each line of the log changes in them. Package spool keeps them in flat files, pgstore in a
// database, and what happens to a task is the matter of package queue.
//
// Invariant: what a line of the log changes is said once, by Changes.
//
// Caveat: a store knows no rules. Only queue.Update stages lines that keep them.
package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The errors of a store.
var (
	ErrUnknown  = errors.New("no such task")
	ErrConflict = errors.New("somebody else was faster")
	ErrCorrupt  = errors.New("the task file can't be read")
	ErrLocked   = errors.New("the queue was locked by another command")
	ErrAway     = errors.New("the queue's server can't be reached") // and nothing was changed
)

// Store keeps a log and what its lines changed (Changes). It promises:
//
//   - Update is all or nothing, and durable when it returns nil. After an error or a
//     crash the store is as before or as after, and never in between. Update fails if the
//     log has a task in another state than the one that a line moves it from.
//   - fn, in View and in Update, reads a picture of one moment. In View, fn may be called
//     again, and only its last run counts.
//   - The cost of Open, Sift, Pending, Counts, Starts and Update does not grow with the number of closed
//     tasks, and their memory does not grow at all.
//   - No command waits for a reader. So fn is brief, and what reads for long is List and
//     Match, or comes after the View, like Lines.
type Store interface {
	View(fn func(View) error) error
	Update(fn func(View) (*Commit, error)) error // use queue.Update, the function
	List(states []task.State, want func(*Entry) bool) ([]Listed, error)
	Match(prefix string) (ids []string, err error) // at most two, those of open tasks first
}

// Commit is what an Update changes: lines of the log, what was staged with them, and how
// many rejections of this day are only counted.
type Commit struct {
	Lines    []audit.Line
	Blobs    []Blob
	Unlisted int
	Unsure   bool // the clock is not believed: no new file of a month is begun
}

// Blob holds staged bytes, of which a line holds only the digest.
type Blob struct {
	Shelf Shelf
	Key   string
	Bytes []byte
	Made  time.Time // of a task: its time of creation, which keeps the order of tasks; zero: now
}

// Read returns what fn finds in a View of a store.
func Read[T any](s interface{ View(func(View) error) error }, fn func(View) (T, error)) (found T, err error) {
	err = s.View(func(v View) error {
		found, err = fn(v)
		return err
	})
	return found, err
}

// View is a consistent picture of the store.
type View interface {
	// Where returns the state in which a task has a file, "" if it has none.
	Where(id string) (task.State, error)
	// Has reports whether there is a thing. It costs less than Where and Get.
	Has(s Shelf, key string) (bool, error)
	// There returns a func like Has that is cheap for many ids, may say yes too often, and works
	// after the View.
	There(s Shelf) (func(id string) bool, error)
	// Look prefetches what there is of tasks, with their files if these are wanted.
	Look(ids []string, files bool) error
	// Get reads a thing. Its errors are ErrUnknown, ErrCorrupt and those of the disk.
	Get(s Shelf, key string) (Item, error)
	// Each calls fn for the things on a shelf, oldest first.
	Each(s Shelf, fn func(key string, made time.Time) (more bool, err error)) error
	// Open calls fn for the open tasks of a state, or of all states for "", oldest first.
	Open(st task.State, fn func(Entry) (more bool, err error)) error
	// Sift is Open that goes to the end, and passes over the rest of the tasks that are alike in
	// sender, class, kind and action once fn returns false for one of them.
	Sift(st task.State, fn func(Entry) (rest bool, err error)) error
	// Pending adds to the number of each sender how many open tasks came from it as messages.
	Pending(of map[Key]int) error
	// Starts calls fn for the starts of the last Window at least.
	Starts(now time.Time, fn func(Start)) error
	Counts() Counts
	// Lines returns a reader of the log's lines that want wants; nil wants all of them.
	Lines(since time.Time, want func(raw []byte) bool) (Lines, error)
	// Back calls fn for the lines of the log, newest first. If events are named, fn may be told no
	// more of lines of other events than the time and the event.
	Back(fn func(audit.Line) (more bool), events ...task.Event) error
	// Clock returns the time by the clock that all commands of the store share, zero if that is each
	// machine's own, and the time of the log's last line, zero if there is none.
	Clock() (now, last time.Time, err error)
	// Lost says what the store lacks of what this account saw; "": nothing, and then it has seen
	// this picture, too.
	Lost() (string, error)
}

// Item is a thing on a shelf.
type Item struct {
	Bytes  []byte
	Writer approval.Holder // of an answer: the only one that can have written it
}

// Lines calls fn for lines of the audit log, oldest first, until fn returns an error:
// those of a time and later that are wanted. raw is the line without its newline, and good
// until fn returns. A line is wanted or not before it is parsed, which costs a hundred times
// as much. Lines may be called after the View in which it was made, and reads what the log
// held then.
type Lines func(fn func(raw []byte, l *audit.Line) error) error

// About wants the lines that hold a text, such as an id.
func About(text string) func(raw []byte) bool {
	return func(raw []byte) bool { return bytes.Contains(raw, []byte(text)) }
}

// Entry is what is known about an open task without reading its file.
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
	PutOff    bool      // NotBefore was set by a person, not after a failure
	Told      time.Time // of a task that waits for a person: when they were told once more, in whole seconds; NotBefore is zero then
}

// Waits reports whether a task waits for its time. After the clock went back, only one that a
// person put off waits until the clock has caught up.
func (e *Entry) Waits(now time.Time) bool {
	return now.Before(e.NotBefore) && (e.PutOff || !now.Before(e.Since))
}

// Forever is the time before which no run starts a standing ask: the latest that the line of an
// open task can hold. So nobody has to read its file to see that it is not due.
var Forever = time.Unix(9_999_999_999, 0).UTC()

// Stands reports whether an open task is a standing ask.
func (e *Entry) Stands() bool { return e.NotBefore.Equal(Forever) }

// Start is a start of a worker.
type Start struct {
	Time     time.Time
	Kind     task.Kind
	External bool
	Sender   Key
}

// Window is how far back starts count against a limit.
const Window = 24 * time.Hour

// EntryOf returns what a line of the log makes of its task.
func EntryOf(l *audit.Line) Entry {
	bare := audit.Bare(l.Digest)
	message := l.Kind == task.Ask && (l.Source != "" || l.MessageID != "")
	e := Entry{
		ID: l.Task, State: l.To, Digest: bare[:min(len(bare), 32)], Action: l.Action, Kind: l.Kind,
		External: l.Trust == terms.ExternalVerified, Message: message,
		PutOff: !l.Change.NotBefore.IsZero() && (l.Event == task.Added || l.Event == task.Approved),
		Sender: KeyOf(l.Sender), Since: l.Time, NotBefore: l.Change.NotBefore,
	}
	if l.Event == audit.Resurfaced {
		e.State, e.Since = l.From, l.Change.Since
	}
	if e.State == task.Awaiting && !l.Change.Told.IsZero() {
		e.Told, e.NotBefore, e.PutOff = l.Change.Told, time.Time{}, false
	}
	return e
}

// Key stands for a sender: 16 hex digits of the SHA-256 of the folded address.
type Key string

// KeyOf returns the key of a sender. A NUL counts as U+FFFD, because a database can't hold one.
func KeyOf(sender string) Key {
	sum := sha256.Sum256([]byte(strings.ReplaceAll(address.Fold(sender), "\x00", "\ufffd")))
	return Key(hex.EncodeToString(sum[:8]))
}

// Position is how far a source was read.
type Position = audit.Position

// Report says what a store found when it compared itself with its log.
type Report struct {
	Head     string // hash of the last line
	Knows    bool   // the chain has the head that was asked for
	Findings []string
	Broken   bool // the log can't be carried out
}

// ID is the id of a task in 16 bytes, for very long lists.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// IDOf returns the id that text spells, or zeros if it spells none.
func IDOf(text string) (id ID) {
	hex.Decode(id[:], []byte(text))
	return id
}

// Listed are the tasks of a state.
type Listed struct {
	State task.State
	IDs   []ID // oldest first
}
