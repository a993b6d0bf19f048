package audit

import "pulse/lib/task"

// Events lists the events that are not of a task, sorted.
var Events = []task.Event{Consumed, Discarded, Granted, Held, Limited, Noted, Released, Repaired, Revoked, SessionEnded, SessionOpened, SessionUsed, Settled}
