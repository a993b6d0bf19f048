package approval

import (
	"strconv"
	"strings"
)

// Holder names who alone can have written an answer, as the store that keeps it found out:
// an account ("uid 1000"), or in a database a login ("role ann"). It is empty if nobody
// vouches, because there may be several, or because it is root.
type Holder string

const uidHolder = "uid "

// HeldBy returns the holder for the uid of an account; root vouches for nothing.
func HeldBy(uid int) Holder {
	if uid <= 0 {
		return ""
	}
	return Holder(uidHolder + strconv.Itoa(uid))
}

// UID returns the uid of an account; ok is false for any other holder.
func (h Holder) UID() (uid int, ok bool) {
	digits, _ := strings.CutPrefix(string(h), uidHolder)
	uid, err := strconv.Atoi(digits)
	return uid, err == nil && HeldBy(uid) == h
}
