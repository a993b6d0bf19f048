package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// maxSenders is how many senders are named of each cause.
const maxSenders = 3

// whyColumns are fixed widths, as those of list.
var whyColumns = []int{6, 26, 10, 18, 40, 22, 0}

func (t *tally) table(out *bufio.Writer, counts *queue.Counts) error {
	tab := table{out: out, widths: whyColumns}
	tab.row("COUNT", "OUTCOME", "CONNECTOR", "REASON", "RULE", "IDENTITY", "SENDERS")
	for _, one := range t.sorted() {
		tab.row(strconv.Itoa(one.times), orDash(escape.ASCII(string(one.outcome))), orDash(one.connector()), orDash(escape.Line(one.reason)),
			orDash(escape.Line(one.rule)), orDash(escape.Line(one.identity)), one.whom(maxSenders, mostly))
		if advice := one.advice(); advice != "" {
			fmt.Fprintf(out, "        %s\n", escape.Message(advice))
		}
	}
	if t.others > 0 {
		fmt.Fprintf(out, "%d more, of other causes\n", t.others)
	}
	for _, day := range t.limited {
		fmt.Fprintln(out, unlisted(day, counts))
	}
	return out.Flush()
}

// connector is the part of the gate that said no.
func (t *toll) connector() string { return string(decision.Reason(t.reason).Connector(t.rule)) }

// mostly returns a sender, unless that is very long.
func mostly(sender string) string { return cut(sender, 40) }

// whom names the n most frequent senders, each as shown has it.
func (t *toll) whom(n int, shown func(sender string) string) string {
	if t.hook {
		return "(uses of a tool in a run)"
	}
	atLeast := ""
	if t.senders.lossy {
		atLeast = "at least "
	}
	list, more := t.senders.top(n)
	parts := make([]string, 0, len(list)+1)
	for _, s := range list {
		parts = append(parts, fmt.Sprintf("%s (%s%d)", orDash(shown(escape.ASCII(s.word))), atLeast, s.times))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("+ %s%d more", atLeast, more))
	}
	return strings.Join(parts, ", ")
}

// advice says what to do: about the sender, if that is what the policy rejects, and
// otherwise about the decision.
func (t *toll) advice() string {
	who := identity.Reason(t.identity)
	aboutSender := decision.Reason(t.reason) == decision.NotPermitted || decision.Reason(t.reason) == decision.Unchecked
	if aboutSender && !who.Good() && who.Advice() != "" {
		return who.Advice()
	}
	if text, ok := queueAdvice[t.reason]; ok {
		return text
	}
	return decision.Reason(t.reason).Advice()
}

// queueAdvice is for reasons that no decision has.
var queueAdvice = map[string]string{
	queue.Quota:               "answer what waits of that sender, or raise limits.pending_per_sender",
	queue.ReasonSessionSpent:  "answer with pulse-approve, or open another session",
	queue.ReasonCloseUnproven: "answer with pulse-approve",
	queue.ReasonApproval:      "answer again with pulse-approve",
	"definition_changed":      "see what the MCP server has changed, and accept it: pulse-authorize hook mcp --pin NAME -- SERVER",
	"hook_failed":             "see which client of the worker it is: pulse-authorize hook reads those of the versions in pulse-agents(7)",
}

// unlisted says what is known of refusals of a day that have no line.
func unlisted(day string, counts *queue.Counts) string {
	text := fmt.Sprintf("after the first %d refusals of %s the others are counted and not listed", queue.MaxRefusals, day)
	if counts.Day == day {
		text += fmt.Sprintf(": %d in all", counts.Refused)
	}
	return text
}

func (t *tally) json(out *bufio.Writer, counts *queue.Counts) error {
	for _, one := range t.sorted() {
		out.Write(one.json())
		out.WriteString("\n")
	}
	if t.others > 0 {
		fmt.Fprintf(out, `{"others":%d}`+"\n", t.others)
	}
	for _, day := range t.limited {
		var o record.Object
		o.Str("limited", day)
		if counts.Day == day {
			o.Int("refused", int64(counts.Refused))
		}
		out.Write(o.Bytes())
		out.WriteString("\n")
	}
	return out.Flush()
}

func (t *toll) json() []byte {
	var o record.Object
	o.Int("count", int64(t.times))
	o.Str("outcome", string(t.outcome))
	o.StrIf("connector", t.connector())
	o.StrIf("reason", t.reason)
	o.StrIf("rule", t.rule)
	if t.identity != "" {
		var who record.Object
		who.Str("reason", t.identity)
		o.Raw("identity", who.Bytes())
	}
	if t.hook {
		o.Bool("hook", true)
	} else {
		t.sendersTo(&o)
	}
	o.StrIf("advice", t.advice())
	return o.Bytes()
}

func (t *toll) sendersTo(o *record.Object) {
	list, more := t.senders.top(maxSenders)
	o.Raw("senders", record.List(nil, list, func(s *often, dst []byte) []byte {
		one := record.ObjectAfter(dst)
		one.Str("sender", s.word)
		one.Int("count", int64(s.times))
		return one.Bytes()
	}))
	o.Int("more_senders", int64(more))
	o.BoolIf("at_least", t.senders.lossy)
}
