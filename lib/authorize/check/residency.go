package check

import (
	"fmt"
	"slices"
	"strings"

	"pulse/lib/authorize/layout"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/terms"
)

// residency collects where text goes, a line each.
type residency struct {
	p      *policy.Policy
	schema *schema.Schema // nil: nothing is extracted
	*layout.Layout
	lines []string
}

// Residency says which bytes of whose mail go where, under the policy and with what the environment
// file starts. s is nil if nothing is extracted.
func Residency(p *policy.Policy, s *schema.Schema, l *layout.Layout) []string {
	r := &residency{p: p, schema: s, Layout: l}
	r.kept()
	r.asks()
	r.effects()
	r.notices()
	return r.lines
}

// say adds a line.
func (r *residency) say(when bool, whose, what, where, why string) {
	if when {
		r.lines = append(r.lines, escape.Line(fmt.Sprintf("%s: %s -> %s (%s)", whose, what, where, why)))
	}
}

// kept says what the servers learn that mail is fetched from, and what lies on this machine.
func (r *residency) kept() {
	for _, in := range r.Inboxes {
		r.say(true, "all mail", "nothing, except which mail is read and when", in.Host, in.Why)
		r.say(in.DKIM || r.p.Evidence != policy.ByAuthRes,
			"all mail", "the domains of From and of signatures", in.Resolver, in.Why+", evidence or --dkim")
	}
	none := r.Absent("INBOX")
	r.say(len(r.Inboxes) == 0, "all mail", "nothing", none.Where, none.Why)
	for _, pl := range r.p.Platforms {
		r.say(true, "messages of "+pl.Source, "nothing: they are brought here", layout.Here, "[[platform]]")
	}
	r.say(true, "accepted mail", "header fields, "+r.mail(), layout.Here, "the queue, until pulse-queue prune")
	r.say(true, "refused mail", "sender, Message-ID, reason", layout.Here, "the log")
	r.say(r.p.Limits.KeepRefused > 0, "refused mail", "header fields, without text", layout.Here, "the queue, limits.keep_refused")
	r.say(true, "what waits", "all that would be used", "the terminals of approvers",
		fmt.Sprintf("pulse-approve, approval.require is %s", r.p.Approval.Require))
}

// mail says what of a mail is handed on, by the widest scope of all mailboxes.
func (r *residency) mail() string {
	what := r.Reads()
	if what == "" || len(r.p.Platforms) > 0 { // not known, or not mail alone
		return "perhaps the whole text and all attachments"
	}
	return "sender, subject, names of attachments, " + what
}

// asks says what readers and workers are given of the asks of each row of the matrix, and which
// of them may have a model look into the web: an address that it asks for can tell anything that
// it has read.
func (r *residency) asks() {
	reader, worker := r.Way("READER", "pulse-reader"), r.Way("WORKER", "pulse-worker")
	web, flow := "any host of the web", r.p.Flow[label.Private]
	if worker.Boxed {
		web = "what the host of the model fetches for it"
	}
	why := fmt.Sprintf("web.fetch or web.search is allowed, flow.private confirms %d and denies %d", len(flow.Confirm), len(flow.Deny))
	for _, row := range rowsOf(r.p) {
		reach := 0
		for _, a := range terms.Actions {
			reach = max(reach, row.Outcome(a).Reach())
		}
		whose, after := "mail and other asks of "+row.name, map[int]string{1: ", after a yes"}[reach]
		bare, free := r.texts(row)
		if bare && reach > 0 {
			r.say(true, whose, r.mail()+after, reader.Where, reader.Why)
			r.say(true, whose, fmt.Sprintf("an extract, %d bytes of free text at most%s", r.schema.Free, after), worker.Where, worker.Why)
			r.say(true, whose, r.mail()+", after a yes, if no extract fits", worker.Where, worker.Why)
		}
		r.say(free && reach > 0, whose, r.mail()+after, worker.Where, worker.Why)
		r.say(worker.Where != layout.Nowhere && looks(r.p, row), whose, "words that the model chooses", web, why)
	}
	r.say(worker.Keeps != "", "what WORKER was given", "its session, with all text", layout.Here, worker.Keeps)
	r.say(r.p.Exec.Workspace != "", "no mail", "files of "+r.p.Exec.Workspace+" that the model reads", worker.Where, "exec.workspace, "+worker.Why)
}

// texts reports whether mail that a row is for is kept from workers, and whether any is not.
func (r *residency) texts(row row) (bare, free bool) {
	for _, t := range terms.TrustLevels {
		is := row.counts(r.p, t)
		kept := r.schema != nil && slices.Contains(r.p.Extract.Require, t)
		bare, free = bare || is && kept, free || is && !kept
	}
	return bare, free
}

// effects says where what a worker proposes goes.
func (r *residency) effects() {
	proposed := func(a terms.Action) bool { // by any row
		return slices.ContainsFunc(rowsOf(r.p), func(row row) bool { return row.Outcome(a) != terms.Reject })
	}
	const what = "text and files, each after a yes"
	w, targets := r.Way("SENDER", "pulse-sender"), strings.Join(r.p.Outbound.Allow, ", ")
	switch {
	case !r.p.Outbound.Restricted:
		targets = "any target that a person confirms"
	case targets == "":
		targets = layout.Nowhere
	}
	r.say(proposed(terms.ExternalSend), "effects", what, w.Where, w.Why)
	r.say(proposed(terms.ExternalSend) && w.Where != layout.Nowhere, "effects", what, targets, "by that way, outbound.allow")
	w = r.Way("DRAFTER", "pulse-drafter")
	r.say(proposed(terms.WriteLocal) && r.Values["DRAFTER"] != "", "drafts", "text, without a yes", w.Where, w.Why)
}

// output is what the commands and units of pulse print.
const output = "ids, hosts, senders, 200 bytes of what a program said"

// notices says what those learn who are told that something waits or fails.
func (r *residency) notices() {
	for _, name := range []string{"ADD_FLAGS", "RUN_FLAGS", "READ_FLAGS"} {
		for _, o := range layout.Options(r.Values[name]) {
			r.say(o.Name == "--notify", "notices", "how many tasks wait, and ids", layout.Unknown, name+", "+o.Value)
		}
	}
	cmd := r.Values["NOTIFY"]
	r.say(cmd != "", "notices", "the name of a unit that fails or works again, and what it printed: "+output, layout.Unknown, "NOTIFY, "+cmd)
	r.say(true, "what commands print", output, layout.Here, "the journal, or the mail of cron, which may leave")
	for _, name := range r.Strange {
		r.say(true, "whatever uses it", name, layout.Unknown, r.Name+" has this name, which pulse has no use for")
	}
}
