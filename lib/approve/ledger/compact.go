package ledger

import (
	"time"

	"pulse/lib/shared/approval"
)

// compactFrom is the size in bytes from which it is worth dropping old lines.
var compactFrom int64 = 4 << 20

// compact drops a line if its nonce expired longer ago than dropAfter. From then on, a
// nonce that expired longer ago than refuseAfter can't be spent. refuseAfter is less, so
// that a dropped nonce can't come back, even if the clock was ahead. The difference is as
// long as an approval lives at most: one that a dropped start superseded was given before
// that start, and so before the started nonce expired, and is refused too.
const (
	refuseAfter = 24 * time.Hour
	dropAfter   = refuseAfter + 2*approval.LongestWait
)

// compact returns the entries without the old ones, or nil if that does not halve them.
// Either all entries of a nonce stay, or none.
func (list entries) compact(now time.Time) entries {
	last := map[string]time.Time{}
	for _, e := range list {
		if t, known := last[e.Nonce]; !known || !t.IsZero() && (e.Expires.IsZero() || e.Expires.After(t)) {
			last[e.Nonce] = e.Expires
		}
	}
	floor := entry{
		Time: second(now), Event: dropped, Nonce: none, Task: none, Expires: second(now.Add(-refuseAfter)),
	}
	small := entries{floor}
	for _, e := range list {
		if e.Event == dropped {
			if e.Expires.After(small[0].Expires) { // the clock went back
				small[0].Expires = e.Expires
			}
			continue
		}
		if t := last[e.Nonce]; t.IsZero() || t.After(now.Add(-dropAfter)) {
			small = append(small, e)
		}
	}
	if len(small) > len(list)/2 {
		return nil
	}
	return small
}
