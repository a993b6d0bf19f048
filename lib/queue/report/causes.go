package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// cause is why something was rejected.
type cause struct{ reason, rule, identity string }

// Cause returns why the log says that something was not allowed, and what to do, on one line that is safe to show.
func Cause(l *audit.Line) string { return causeOf(l).String() }

func causeOf(l *audit.Line) cause { return cause{l.Change.Reason, l.Rule, l.IdentityReason} }

// String returns the rule and how the sender was proven, with what to do, on one line that is safe to show.
func (k cause) String() string {
	text := cmp.Or(k.rule, k.reason)
	if k.identity != "" {
		text += " (" + k.identity + ")"
	}
	if advice := k.advice(); advice != "" {
		text += ": " + advice
	}
	return escape.Message(text)
}

// advice says what to do: about the sender, if that is what the policy rejects, and
// otherwise about the decision.
func (k cause) advice() string {
	who := identity.Reason(k.identity)
	aboutSender := decision.Reason(k.reason) == decision.NotPermitted || decision.Reason(k.reason) == decision.Unchecked
	if aboutSender && !who.Good() && who.Advice() != "" {
		return who.Advice()
	}
	if text, ok := queueAdvice[k.reason]; ok {
		return text
	}
	return decision.Reason(k.reason).Advice()
}

// queueAdvice is for reasons that no decision has.
var queueAdvice = map[string]string{
	queue.Quota:               "answer what waits of that sender, or raise limits.pending_per_sender",
	store.ReasonSessionSpent:  "answer with pulse-approve, or open another session",
	queue.ReasonCloseUnproven: "answer with pulse-approve",
	queue.ReasonApproval:      "answer again with pulse-approve",
	"definition_changed":      "see what the MCP server has changed, and accept it: pulse-authorize hook mcp --pin NAME -- SERVER",
	"hook_failed":             "see which client of the worker it is: pulse-authorize hook reads those of the versions in pulse-agents(7)",
}

// tally counts what was rejected, by cause and sender. Its memory is bounded, whatever the log holds.
type tally struct {
	causes  map[cause]*bySender
	others  int // lines with a cause beyond maxCauses
	limited []string
}

func newTally() *tally { return &tally{causes: map[cause]*bySender{}} }

// The bounds of what is told apart. A policy has fewer causes.
const (
	maxCauses  = 500
	maxSenders = 200 // of a cause
)

// hear counts a line of the log. A refusal for a sender's quota counts, whatever the policy says.
func (t *tally) hear(l *audit.Line) {
	switch l.Event {
	case audit.Limited:
		t.limited = append(t.limited, l.Time.UTC().Format(time.DateOnly))
		return
	case task.Refused:
	case task.Added, task.Parked, task.Dropped:
		if l.Outcome != terms.Reject {
			return
		}
	default:
		return
	}
	k := causeOf(l)
	one := t.causes[k]
	if one == nil && len(t.causes) >= maxCauses {
		t.others++
		return
	}
	if one == nil {
		one = &bySender{most: maxSenders}
		t.causes[cause{strings.Clone(k.reason), strings.Clone(k.rule), strings.Clone(k.identity)}] = one
	}
	one.add(asker{sender: l.Sender}, 0, 1)
}

// addToday adds the last day of refusals to limited if it had more than MaxRefusals and is none before a time: the
// line that says so may be older than the lines that were read.
func (t *tally) addToday(since time.Time, counts *store.Counts) {
	today := counts.Refused > queue.MaxRefusals && counts.Day >= since.UTC().Format(time.DateOnly)
	if today && !slices.Contains(t.limited, counts.Day) {
		t.limited = append(t.limited, counts.Day)
	}
}

// causeCount is how often there was a cause, and for whom.
type causeCount struct {
	cause
	times int
	whom  *bySender
}

// sorted returns the causes, the most frequent first.
func (t *tally) sorted() (list []causeCount) {
	for k, whom := range t.causes {
		list = append(list, causeCount{k, whom.all(), whom})
	}
	slices.SortFunc(list, func(a, b causeCount) int {
		return cmp.Or(b.times-a.times, cmp.Compare(a.reason, b.reason), cmp.Compare(a.rule, b.rule), cmp.Compare(a.identity, b.identity))
	})
	return list
}

// unlisted says what is known of refusals of a day that have no line.
func unlisted(day string, counts *store.Counts) string {
	text := fmt.Sprintf("after the first %d refusals of %s the others are counted and not listed", queue.MaxRefusals, day)
	if counts.Day == day {
		text += fmt.Sprintf(": %d in all", counts.Refused)
	}
	return text
}
