package store

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"pulse/lib/shared/terms"
)

// shortAction is how many letters of an action an index of fixed width keeps.
const shortAction = 16

// Short returns an action in at most shortAction letters. A longer word becomes its first
// letters, a tilde, which no action contains, and the beginning of its SHA-256.
func Short(a terms.Action) terms.Action {
	if len(a) <= shortAction {
		return a
	}
	sum := sha256.Sum256([]byte(a))
	return terms.Action(fmt.Sprintf("%s~%x", a[:shortAction-9], sum[:4]))
}

// Long returns the action that a short form stands for, or the form itself if it stands
// for no action of this version.
func Long(short terms.Action) terms.Action {
	if len(short) != shortAction || short[shortAction-9] != '~' {
		return short
	}
	if i := slices.IndexFunc(terms.Actions, func(a terms.Action) bool { return Short(a) == short }); i >= 0 {
		return terms.Actions[i]
	}
	return short
}

// Is reports whether a task has an action, as far as its short form can tell.
func (e *Entry) Is(a terms.Action) bool { return Short(e.Action) == Short(a) }
