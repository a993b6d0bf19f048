package audit

import "pulse/lib/shared/task"

// Events lists the events that are not transitions of a task, sorted.
var Events = []task.Event{
	ClockConfirmed, ClockJumped, Consumed, Discarded, Ended, Found, Forgotten, Granted, Held, Judged, Labelled, Limited, Noted, Partly, Read, Released, Repaired, Resumed, Resurfaced,
	Revoked, SessionEnded, SessionOpened, SessionUsed, Settled, Withheld,
}
