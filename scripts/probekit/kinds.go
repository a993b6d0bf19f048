package main

import (
	"fmt"
	"slices"
	"strings"
)

// set returns the answer for a receiver whose fields are believed together: its own stand
// on this mail, and forged ones beside them void the set.
func (a *arrived) set(survived int) (bool, string) {
	switch {
	case a.own == 0:
		return false, "the receiver wrote no field of its own on this mail: a forged one would stand alone, so its word can't be used"
	case survived > 0 && a.identity.Verified:
		return false, "forged fields stand beside its own, and the mail is BELIEVED: don't believe this server"
	case survived > 0:
		return true, fmt.Sprintf("its own fields stand there, and beside them %d forged ones, which void the set: %s", survived, a.identity.Reason)
	case !a.control() && !a.direct:
		return false, notShown
	}
	return true, "its own fields stand there, and no forged one with its name"
}

// microsoft returns the answer for rule M: nothing that Microsoft's servers write may
// arrive under its own name if a sender wrote it.
func (a *arrived) microsoft() (bool, string) {
	slices.Sort(a.doubled)
	switch {
	case len(a.doubled) > 0:
		return false, "fields that the probe wrote arrived as if Microsoft's servers had written them: " + strings.Join(slices.Compact(a.doubled), ", ")
	case a.own == 0:
		return false, "there is no Authentication-Results field: was the mail sent from elsewhere?"
	case len(a.fields) == 0 && !a.direct:
		return false, notShown
	}
	return true, "what was forged arrived under another name or not at all, and the server wrote its own"
}

const notShown = "not shown: no forged field of any id arrived, so the sending server may have removed them; send it some other way, or straight to the receiver's MX and say --direct"
