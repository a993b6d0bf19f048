package task

import (
	"errors"
	"fmt"
	"slices"
)

// Event says why a task changed its state, in the word of the audit log.
type Event string

// The events of a task.
const (
	Added     Event = "added"       // a receipt was given
	Refused   Event = "refused"     // the policy rejected it: one line, no file
	Approved  Event = "approved"    // a person said yes
	Denied    Event = "denied"      // a person said no
	Started   Event = "started"     // its worker is about to be started
	Finished  Event = "finished"    // the worker ended well
	Extracted Event = "extracted"   // its reader made a value that fits the schema
	Retried   Event = "retried"     // the worker asked for another attempt, or failed with one left
	GaveUp    Event = "gave_up"     // no attempt or restart is left
	Restarted Event = "restarted"   // worker and runner died, or were told to stop
	Undecided Event = "undecided"   // an effect died: it is not known whether it happened
	Restored  Event = "restored"    // an effect says that nothing happened: its approval is good again
	Parked    Event = "parked"      // today's policy wants a person to look, or nothing of its text fits the schema
	Dropped   Event = "dropped"     // today's policy rejects it
	Expired   Event = "expired"     // no person answered in time
	Cancelled Event = "cancelled"   // by a person
	Closed    Event = "closed"      // by an agent, within the chain of its own ask
	Carried   Event = "carried_out" // an effect on the queue itself, for which no worker was started
	Requeued  Event = "requeued"    // by a person
	Continued Event = "continued"   // an ask goes on: its effects have ended, or a person wants it done otherwise
	Learned   Event = "learned"     // what became of it in the queue that was put aside, before this copy was restored
	Pruned    Event = "pruned"      // its files were removed; its id stays known
	Broke     Event = "broke"       // its file can't be read
)

// none is the state of a task that has no file.
const none State = ""

// table says from which states an event leads to which.
var table = map[Event]struct {
	from []State
	to   []State
}{
	Added:     {[]State{none}, []State{Scheduled, Awaiting}},
	Refused:   {[]State{none}, []State{none}},
	Approved:  {[]State{Awaiting}, []State{Scheduled}},
	Denied:    {[]State{Awaiting}, []State{Rejected}},
	Started:   {[]State{Scheduled}, []State{Running}},
	Finished:  {[]State{Running}, []State{Completed}},
	Extracted: {[]State{Running}, []State{Scheduled}},
	Retried:   {[]State{Running}, []State{Scheduled}},
	GaveUp:    {[]State{Running}, []State{Failed}},
	Restarted: {[]State{Running}, []State{Scheduled}},
	Undecided: {[]State{Running}, []State{Awaiting}},
	Restored:  {[]State{Running}, []State{Scheduled}},
	Parked:    {[]State{Scheduled, Running}, []State{Awaiting}},
	Dropped:   {[]State{Scheduled, Awaiting}, []State{Rejected}},
	Expired:   {[]State{Awaiting}, []State{Rejected}},
	Cancelled: {[]State{Scheduled, Running}, []State{Rejected}},
	Closed:    {[]State{Scheduled, Awaiting}, []State{Rejected}},
	Carried:   {[]State{Scheduled}, []State{Completed}},
	Requeued:  {[]State{Failed, Rejected, Completed}, []State{Scheduled}},
	Continued: {[]State{Completed}, []State{Scheduled}},
	Learned:   {[]State{Scheduled, Awaiting, Running}, []State{Awaiting, Completed, Rejected, Failed}},
	Pruned:    {[]State{Completed, Rejected, Failed}, []State{none}},
	Broke:     {[]State{Scheduled, Awaiting, Running, Completed, Rejected, Failed}, []State{Corrupt}},
}

// ErrIllegal reports a transition that is not in the table.
var ErrIllegal = errors.New("no such transition")

// Legal returns nil if the event may lead from one state to the other.
func Legal(e Event, from, to State) error {
	row, ok := table[e]
	if !ok || !slices.Contains(row.from, from) || !slices.Contains(row.to, to) {
		return fmt.Errorf("task: %w: %s from %q to %q", ErrIllegal, e, from, to)
	}
	return nil
}
