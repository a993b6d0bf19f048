package audit

import "pulse/lib/task"

// Events lists the events that are not of a task, sorted.
var Events = []task.Event{Consumed, Granted, Held, Limited, Released, Repaired, Revoked, SessionEnded, SessionOpened, SessionUsed}
