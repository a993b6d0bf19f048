// Package health finds out what about a queue needs a person's attention. Each finding
// has the next command to type.
//
// Invariant: a finding names ids, actions, times and accounts, never what a message
// says, except that of starts which all fail it has the last line that a worker wrote. If many
// findings are alike, a few are named and the rest are counted. Caveat:
// it sees only what the queue and its log show. An empty mailbox and a pulse-fetch that
// no longer runs look the same.
package health

import (
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// Code is the class of a finding: a word that does not change.
type Code string

// The codes. Modes is exported because pulse-queue health reports it, too, where it can't
// read the queue; Waiting because a digest names these tasks itself; Silent because a queue whose
// silence is accepted says nothing of it; DiskLow and Restored because other commands tell of them, too.
const (
	Silent           Code = "silent"         // no mail for too long
	codeRefused      Code = "refused"        // no message was accepted for too long, though some may have come
	codeFailing      Code = "failing_sender" // mail of a partner is not proven any more
	Waiting          Code = "waiting"        // a person has not answered
	codeOverdue      Code = "overdue"        // a due task is not started
	codeLimited      Code = "limited"        // a limit of the policy keeps due tasks waiting
	codeUnread       Code = "unread"         // a due ask waits for a reader
	codeUntaken      Code = "untaken"        // what a worker proposed is not taken
	codeProvider     Code = "provider"       // all starts of a kind end alike, and none well
	codeAbandoned    Code = "abandoned"      // a task is in state running, and no runner has it
	codeUngated      Code = "ungated"        // its client used a tool that nobody was asked about
	codePutOff       Code = "putoff"         // its worker has asked to be run later for too long
	codeMissing      Code = "missing"        // its file is gone
	codeFailed       Code = "failed"         // no attempt or restart is left
	codeCorrupt      Code = "corrupt"        // a file can't be read as a task
	codeHeld         Code = "held"           // nothing starts until release
	Restored         Code = "restored"       // the log lacks lines that were committed: nothing starts
	codeUnwatched    Code = "unwatched"      // lines that the log lacks would not be noticed
	DiskLow          Code = "disk_low"       // less is free than limits.disk_reserve
	codeInodesLow    Code = "inodes_low"     // less than one in a hundred is free
	codeNotDurable   Code = "not_durable"    // a reboot takes the queue
	Clock            Code = "clock"          // the log, or another machine, is ahead of the clock
	codeJumped       Code = "clock_jumped"   // lately, the clock was wrong for a while, or is
	codeChainBroken  Code = "chain_broken"   // the log was tampered with, or damaged
	codeNotSeparated Code = "not_separated"  // workers could say yes themselves
	codeForgeable    Code = "forgeable"      // the level that the policy requires of a yes proves nothing here
	Modes            Code = "modes"          // directories are not as they were made
	codeNoSandbox    Code = "no_sandbox"     // this kernel can't confine the programs that read mail

	// Noted by the stage that saw it, when it began and when it ended.
	Unreachable Code = "unreachable" // a source can't be reached
	Login       Code = "login"       // a source refuses the login

	// Of a queue in a database.
	NoStandby       Code = "no_standby"       // a failover may lose what was acknowledged
	LongTransaction Code = "long_transaction" // it keeps what was deleted since, and the queue gets slow
	Unheard         Code = "unheard"          // a machine that runs a task is silent
	PoliciesApart   Code = "policies_apart"   // machines decide by different policies
	TwoHats         Code = "two_hats"         // a login is an approver and something else
	SchemaChanged   Code = "schema_changed"   // functions, keys or rights are not as init made them
	LockHeld        Code = "lock_held"        // one transaction keeps all others from changing the queue
	Unlimited       Code = "unlimited"        // one login can use up what all need
	Reachable       Code = "server_reachable" // a worker can connect to the database server
)

// Noted lists the codes that stages note.
var Noted = []Code{Unreachable, Login}

// Codes lists all codes.
var Codes = []Code{
	Silent, codeRefused, codeFailing, Waiting, codeOverdue, codeLimited, codeUnread, codeProvider,
	codeUntaken, codeAbandoned, codeUngated, codePutOff, codeMissing, codeFailed,
	codeCorrupt, codeHeld, Restored, codeUnwatched, DiskLow, codeInodesLow, codeNotDurable,
	Clock, codeJumped, codeChainBroken, codeNotSeparated, codeForgeable, Modes, codeNoSandbox,
	Unreachable, Login, NoStandby, LongTransaction, Unheard, PoliciesApart, TwoHats, SchemaChanged, LockHeld, Unlimited, Reachable,
}

// Finding is one thing that needs a person's attention.
type Finding struct {
	Code  Code
	Task  string // id; empty: it is not about one task
	About string // what tells it from others of its code as long as it lasts; empty: Task
	Text  string // for people
	Do    string // what to type next

	with bool // another finding explains it, and they are told together
	once bool // a person is not reminded of it while it lasts
}

// Line returns the finding as one line that is safe to show.
func (f *Finding) Line() string {
	text := string(f.Code) + ": " + f.Text
	if f.Do != "" {
		text += "; " + f.Do
	}
	return escape.Message(text)
}

// Append appends the finding as an object.
func (f *Finding) Append(dst []byte) []byte {
	var o record.Object
	f.members(&o)
	return append(dst, o.Bytes()...)
}

func (f *Finding) members(o *record.Object) {
	o.Str("code", string(f.Code))
	o.StrIf("task", f.Task)
	o.Str("text", f.Text)
	o.StrIf("do", f.Do)
}
