// Package trace holds what the checks of a decision saw. The code that decides notes each
// check in a Log as it makes it, so a trace can't differ from the decision.
//
// Invariant: a nil Log takes nothing, and nothing is put into words for it. Caveat: Saw
// holds text from outside as it came; escape it before it is shown.
package trace

import "unicode/utf8"

// Step is one check: what it looked at, and what came of it.
type Step struct {
	Check  string // its name
	Saw    string // what it looked at, in a few words
	Key    string // the key of the policy that it goes by; empty: no key changes it
	Nth    int    // of several tables or keys of that name, which, from 0
	Result string // one of the words below, a reason, or what the check found out
}

// The results of a check that found nothing wrong, and of one that was not made.
const (
	OK         = "ok"
	NotAsked   = "not asked"   // the policy, or the kind of record, does not ask for it
	NotReached = "not reached" // a check before it has decided
)

// Log takes the steps of one decision, in their order.
type Log struct{ Steps []Step }

// maxSaw bounds what a step shows of a record, in bytes.
const maxSaw = 300

// Add notes a check. saw holds what it looked at; an empty result is OK.
func (l *Log) Add(check string, saw Step, result string) {
	saw.Check, saw.Saw, saw.Result = check, clip(saw.Saw), result
	if result == "" {
		saw.Result = OK
	}
	l.Steps = append(l.Steps, saw)
}

// Skip notes a check that was not made: NotAsked or NotReached.
func (l *Log) Skip(check, result string) {
	if l != nil {
		l.Steps = append(l.Steps, Step{Check: check, Result: result})
	}
}

// Amend notes what came to light about a check that was noted before.
func (l *Log) Amend(check, more, result string) {
	if l == nil {
		return
	}
	for i := range l.Steps {
		if s := &l.Steps[i]; s.Check == check {
			s.Saw, s.Result = clip(s.Saw+more), result
		}
	}
}

// clip shortens text from outside at a character.
func clip(s string) string {
	if len(s) <= maxSaw {
		return s
	}
	n := maxSaw
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
