// Package health says what about a queue needs somebody: findings, each with the
// next command to type.
//
// Invariant: a finding names ids, actions, times and accounts, never what a message
// says; of many alike it names a few and counts the rest. Caveat: it sees what the
// queue and its log show; that a mailbox is empty and that nobody fetches look the
// same.
package health

import (
	"pulse/lib/escape"
	"pulse/lib/record"
)

// Code is the class of a finding: a word that does not change.
type Code string

// The codes.
const (
	Silent       Code = "silent"        // no mail for too long
	Refused      Code = "refused"       // no message was taken for too long, whatever came
	Waiting      Code = "waiting"       // a person has not answered
	Overdue      Code = "overdue"       // nobody starts what is due
	Abandoned    Code = "abandoned"     // running, and nobody runs it
	PutOff       Code = "putoff"        // its worker has wanted to be run later for too long
	Missing      Code = "missing"       // its file is gone
	Failed       Code = "failed"        // no attempt or restart is left
	Corrupt      Code = "corrupt"       // a file can't be read as a task
	Held         Code = "held"          // nothing starts until release
	Restored     Code = "restored"      // it lacks what was committed: nothing starts
	Unwatched    Code = "unwatched"     // that would not be noticed
	DiskLow      Code = "disk_low"      // less is free than limits.disk_reserve
	InodesLow    Code = "inodes_low"    // less than one in a hundred is free
	NotDurable   Code = "not_durable"   // a reboot takes the queue
	Clock        Code = "clock"         // the log is ahead of the clock
	ChainBroken  Code = "chain_broken"  // the log was tampered with, or damaged
	NotSeparated Code = "not_separated" // workers could say yes themselves
	Forgeable    Code = "forgeable"     // what the policy requires of a yes proves nothing here
	Modes        Code = "modes"         // directories are not as they were made
	NoSandbox    Code = "no_sandbox"    // this kernel can't confine what reads mail
)

// Codes lists all of them.
var Codes = []Code{
	Silent, Refused, Waiting, Overdue, Abandoned, PutOff, Missing, Failed, Corrupt, Held, Restored, Unwatched, DiskLow, InodesLow, NotDurable,
	Clock, ChainBroken,
	NotSeparated, Forgeable, Modes, NoSandbox,
}

// Finding is one thing that needs somebody.
type Finding struct {
	Code Code
	Task string // id; empty: it is not about one task
	Text string // for people
	Do   string // what to type next
}

// Line returns the finding as one line that is safe to show.
func (f *Finding) Line() string {
	return escape.Message(string(f.Code) + ": " + f.Text + "; " + f.Do)
}

// Append appends the finding as an object.
func (f *Finding) Append(dst []byte) []byte {
	var o record.Object
	o.Str("code", string(f.Code))
	o.StrIf("task", f.Task)
	o.Str("text", f.Text)
	o.Str("do", f.Do)
	return append(dst, o.Bytes()...)
}
