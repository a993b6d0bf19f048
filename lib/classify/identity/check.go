package identity

import "pulse/lib/shared/trace"

// check is one of the checks that a message has to pass, whatever kind of message it is.
type check[S any] struct {
	name  string
	run   func(S) finding
	saw   func(S) trace.Step // what run looked at; called after run, and only for a log
	asked func(S) bool       // whether the policy asks for it; nil: every policy does
}

// first makes the checks until one finds something, and returns that.
func first[S any](s S, log *trace.Log, list []check[S]) (found finding) {
	for i := range list {
		switch c := &list[i]; {
		case c.asked != nil && !c.asked(s):
			log.Skip(c.name, trace.NotAsked)
		case found.reason != "":
			log.Skip(c.name, trace.NotReached)
		default:
			if found = c.run(s); log != nil {
				log.Add(c.name, c.saw(s), string(found.reason))
			}
		}
	}
	return found
}
