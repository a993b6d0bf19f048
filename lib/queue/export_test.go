package queue

import "pulse/lib/shared/approval"

// MaxMoves is how many tasks one Update moves at most.
const MaxMoves = maxMoves

// Spent returns what the start of a task spent.
func (c *Claim) Spent() []approval.Proof { return c.spent }
