package main

import (
	"slices"
	"strings"

	"pulse/lib/shared/terms"
)

// effects says where what a worker proposes goes.
func (r *residency) effects() {
	if r.proposed(terms.ExternalSend) {
		w := r.way("SENDER", "pulse-sender")
		what := "text and files, each after a yes"
		r.say("effects", what, w.where, "%s", w.why)
		if w.where != nowhere {
			targets := strings.Join(r.p.Outbound.Allow, ", ")
			switch {
			case !r.p.Outbound.Restricted:
				targets = "any target that a person confirms"
			case targets == "":
				targets = nowhere
			}
			r.say("effects", what, targets, "by that way, outbound.allow")
		}
	}
	if r.proposed(terms.WriteLocal) && r.values["DRAFTER"] != "" {
		w := r.way("DRAFTER", "pulse-drafter")
		r.say("drafts", "text, without a yes", w.where, "%s", w.why)
	}
}

// proposed reports whether any row leaves an effect with this action.
func (r *residency) proposed(a terms.Action) bool {
	return slices.ContainsFunc(rowsOf(r.p), func(row row) bool { return row.Outcome(a) != terms.Reject })
}

// notices says what those learn who are told that something waits or fails.
func (r *residency) notices() {
	for _, name := range []string{"ADD_FLAGS", "RUN_FLAGS", "READ_FLAGS"} {
		words := strings.Fields(r.values[name])
		for i, word := range words {
			cmd, is := strings.CutPrefix(word, "--notify=")
			if word == "--notify" && i+1 < len(words) {
				cmd, is = words[i+1], true
			}
			if is {
				r.say("notices", "how many tasks wait, and ids", unknown, "%s, %s", name, cmd)
			}
		}
	}
	if cmd := r.values["NOTIFY"]; cmd != "" {
		r.say("notices", "the name of a unit that failed", unknown, "NOTIFY, %s", cmd)
	}
	r.say("what commands print", "ids, hosts, senders, 200 bytes of what a program said", here, "the journal, or the mail of cron, which may leave")
}
