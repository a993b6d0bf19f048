package queue

import (
	"slices"
	"strings"

	"pulse/lib/shared/address"
)

// withhold takes from what a worker is given all that a sender can write freely. What stays of
// theirs are words of closed lists, numbers, times, digests, addresses and a plain message id.
func (g *Given) withhold() {
	g.bare = true
	who, what := *g.identity, *g.decision
	who.Why, what.Why = "", "" // these sentences quote
	if !plainWord(who.Sender) {
		who.Sender = plainAddress(who.Sender)
	}
	who.Labels, _ = who.Labels[:0:0].Named(who.Labels.Words())
	g.identity, g.decision = &who, &what
	g.Outcomes = slices.Clone(g.Outcomes)
	for i := range g.Outcomes {
		g.Outcomes[i].withhold()
	}
}

// withhold takes from the outcome of an earlier effect what its worker may have copied from a
// text, and what a program printed. The reason of a refusal stays: a person or the policy gave it.
func (o *Outcome) withhold() {
	if !plainWord(o.Tool) {
		o.Tool = ""
	}
	if o.Result = ""; o.Ending == isNotDone {
		o.Reason = ""
	}
	o.Target = slices.DeleteFunc(slices.Clone(o.Target), func(t string) bool { return plainAddress(t) == "" })
}

// plainAddress returns an address that is one, and nothing for any other text.
func plainAddress(s string) string {
	if _, _, err := address.Split(s); err != nil {
		return ""
	}
	return s
}

// plainWord reports whether s is a short name of letters, digits and a few marks: a tool, an
// account, or the number of a sender on a platform after its name.
func plainWord(s string) bool {
	const longest = 64
	return len(s) <= longest && strings.IndexFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("._-:", c)
	}) < 0
}
