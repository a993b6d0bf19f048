package ledger

import "time"

// compactFrom is the size from which on it is worth to leave out what is old, in
// bytes.
var compactFrom int64 = 4 << 20

// A line is left out when its nonce expired longer ago than dropAfter, and nothing is
// spent any more that expired longer ago than refuseAfter. The latter is less, so that
// what is forgotten can't come back, not even with a clock that was ahead; and the
// difference is as long as an approval lives, so that one which a forgotten start
// superseded is refused too.
const (
	refuseAfter = 24 * time.Hour
	dropAfter   = 48 * time.Hour
)

// compact returns the entries without those that are old, nil if that does not halve
// them. All that is known of a nonce stays or goes.
func (list entries) compact(now time.Time) entries {
	last := map[string]time.Time{}
	for _, e := range list {
		if t, known := last[e.Nonce]; !known || !t.IsZero() && (e.Expires.IsZero() || e.Expires.After(t)) {
			last[e.Nonce] = e.Expires
		}
	}
	floor := Entry{Time: second(now), Event: Dropped, Nonce: none, Task: none, Expires: second(now.Add(-refuseAfter))}
	small := entries{floor}
	for _, e := range list {
		if e.Event == Dropped {
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
