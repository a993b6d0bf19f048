package source

import (
	"time"

	"pulse/lib/shared/audit"
)

// Start says which messages of a mailbox on a server are wanted.
type Start struct {
	Resume   bool           // those after Position; otherwise the newest
	Known    bool           // there is a Position; otherwise this is the first run
	Position audit.Position // with Resume
	Limit    int            // how many: with Resume of the oldest, 0 for all; otherwise of the newest, 0 for Newest
	Now      time.Time
}

const (
	Newest   = 10             // messages, without Resume
	FirstRun = 48 * time.Hour // how far back the first run with Resume goes
)
