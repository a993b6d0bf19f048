package policy

import "time"

// longestHold bounds limits.hold_after_yes: a yes is good for a day, and is to be left with most of it.
const longestHold = 12 * time.Hour

// defaultResurface is limits.resurface where the file is silent and review_expires is longer.
const defaultResurface = 72 * time.Hour

// waits reads what says how long something may wait for a person. What expires must have
// been told before, so resurface is the shorter one.
func (v *validator) waits(l *Limits, f *limitsTable) {
	v.duration(&l.ReviewExpires, "limits.review_expires", f.ReviewExpires, time.Minute)
	v.duration(&l.Resurface, "limits.resurface", f.Resurface, time.Second)
	v.duration(&l.HoldAfterYes, "limits.hold_after_yes", f.HoldAfterYes, 0)
	if l.HoldAfterYes > longestHold {
		v.fail("limits.hold_after_yes", "%s: want at most 12h", *f.HoldAfterYes)
	}
	switch {
	case l.Resurface < l.ReviewExpires:
	case f.Resurface == nil:
		l.Resurface = l.ReviewExpires / 2
	default:
		v.fail("limits.resurface", "%s: want less than review_expires, which is %s",
			*f.Resurface, l.ReviewExpires)
	}
}

// Expiry returns the earliest time at which something expires that waits for a person since
// then. told is when the person was told once more of it. They have a tenth of the time
// between resurface and review_expires to answer that, even if nothing ran for weeks and the
// telling was late. Nothing expires before it was told: while told is zero, the time that
// Expiry returns may pass.
func (l *Limits) Expiry(since, told time.Time) time.Time {
	at := since.Add(l.ReviewExpires)
	if told.IsZero() {
		return at
	}
	if answer := told.Add((l.ReviewExpires - l.Resurface) / 10); answer.After(at) {
		return answer
	}
	return at
}
