package queue

import "pulse/lib/shared/approval"

// The bounds that tests reach.
const (
	MaxMoves      = maxMoves
	MaxBudget     = maxBudget
	MaxKeptRecord = maxKeptRecord
	MaxKeptBytes  = maxKeptBytes
)

// Spent returns what the start of a task spent.
func (c *Claim) Spent() []approval.Proof { return c.spent }
