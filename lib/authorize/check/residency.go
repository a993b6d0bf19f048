package check

import (
	"cmp"
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

// going is text that goes somewhere.
type going struct {
	when                    bool
	whose, what, where, why string
}

// Residency says which bytes of whose mail go where, under the policy and with what the environment
// file starts. s is nil if nothing is extracted.
func Residency(p *policy.Policy, s *schema.Schema, l *layout.Layout) (lines []string) {
	mail := "sender, subject, names of attachments, " + l.Reads()
	if l.Reads() == "" || len(p.Platforms) > 0 { // not known, or not mail alone
		mail = "perhaps the whole text and all attachments"
	}
	for _, g := range slices.Concat(kept(p, l, mail), asks(p, s, l, mail), effects(p, l), notices(l)) {
		if g.when {
			lines = append(lines, escape.Line(fmt.Sprintf("%s: %s -> %s (%s)", g.whose, g.what, g.where, g.why)))
		}
	}
	return lines
}

// kept is what the servers learn that mail is fetched from, and what lies on this machine.
func kept(p *policy.Policy, l *layout.Layout, mail string) (list []going) {
	for _, in := range l.Inboxes {
		list = append(list, going{true, "all mail", "nothing, except which mail is read and when", in.Host, in.Why},
			going{in.DKIM || p.Evidence != policy.ByAuthRes, "all mail", "the domains of From and of signatures", in.Resolver, in.Why + ", evidence or --dkim"})
	}
	none := l.Absent("INBOX")
	list = append(list, going{len(l.Inboxes) == 0, "all mail", "nothing", none.Where, none.Why})
	for _, pl := range p.Platforms {
		list = append(list, going{true, "messages of " + pl.Source, "nothing: they are brought here", layout.Here, "[[platform]]"})
	}
	return append(list, []going{
		{true, "accepted mail", "header fields, " + mail, layout.Here, "the queue, until pulse-queue prune"},
		{true, "refused mail", "sender, Message-ID, reason", layout.Here, "the log"},
		{p.Limits.KeepRefused > 0, "refused mail", "header fields, without text", layout.Here, "the queue, limits.keep_refused"},
		{true, "what waits", "all that would be used", "the terminals of approvers", "pulse-approve, approval.require is " + p.Approval.Require},
	}...)
}

// asks is what readers and workers are given of the asks of each row of the matrix, and which
// of them may have a model look into the web: an address that it asks for can tell anything that
// it has read.
func asks(p *policy.Policy, s *schema.Schema, l *layout.Layout, mail string) (list []going) {
	reader, worker := l.Way("READER", "pulse-reader"), l.Way("WORKER", "pulse-worker")
	web, flow := "any host of the web", p.Flow[label.Private]
	if worker.Boxed {
		web = "what the host of the model fetches for it"
	}
	why := fmt.Sprintf("web.fetch or web.search is allowed, flow.private confirms %d and denies %d", len(flow.Confirm), len(flow.Deny))
	for _, row := range rowsOf(p) {
		reach := 0
		for _, a := range terms.Actions {
			reach = max(reach, row.Outcome(a).Reach())
		}
		whose, after := "mail and other asks of "+row.name, map[int]string{1: ", after a yes"}[reach]
		bare, free := texts(p, s, row)
		if bare = bare && reach > 0; bare {
			list = append(list, going{true, whose, mail + after, reader.Where, reader.Why},
				going{true, whose, fmt.Sprintf("an extract, %d bytes of free text at most%s", s.Free, after), worker.Where, worker.Why})
		}
		list = append(list, going{bare, whose, mail + ", after a yes, if no extract fits", worker.Where, worker.Why},
			going{free && reach > 0, whose, mail + after, worker.Where, worker.Why},
			going{worker.Where != layout.Nowhere && looks(p, row), whose, "words that the model chooses", web, why})
	}
	return append(list, going{worker.Keeps != "", "what WORKER was given", "its session, with all text", layout.Here, worker.Keeps},
		going{p.Exec.Workspace != "", "no mail", "files of " + p.Exec.Workspace + " that the model reads", worker.Where, "exec.workspace, " + worker.Why})
}

// texts reports whether mail that a row is for is kept from workers, and whether any is not.
func texts(p *policy.Policy, s *schema.Schema, row row) (bare, free bool) {
	for _, t := range terms.TrustLevels {
		is := row.counts(p, t)
		kept := s != nil && slices.Contains(p.Extract.Require, t)
		bare, free = bare || is && kept, free || is && !kept
	}
	return bare, free
}

// effects is where that goes which a worker proposes.
func effects(p *policy.Policy, l *layout.Layout) []going {
	proposed := func(a terms.Action) bool { // by any row
		return slices.ContainsFunc(rowsOf(p), func(row row) bool { return row.Outcome(a) != terms.Reject })
	}
	const what = "text and files, each after a yes"
	sender, drafter := l.Way("SENDER", "pulse-sender"), l.Way("DRAFTER", "pulse-drafter")
	targets := cmp.Or(strings.Join(p.Outbound.Allow, ", "), layout.Nowhere)
	if !p.Outbound.Restricted {
		targets = "any target that a person confirms"
	}
	return []going{
		{proposed(terms.ExternalSend), "effects", what, sender.Where, sender.Why},
		{proposed(terms.ExternalSend) && sender.Where != layout.Nowhere, "effects", what, targets, "by that way, outbound.allow"},
		{proposed(terms.WriteLocal) && l.Values["DRAFTER"] != "", "drafts", "text, without a yes", drafter.Where, drafter.Why},
	}
}

// output is what the commands and units of pulse print.
const output = "ids, hosts, senders, 200 bytes of what a program said"

// notices is what those learn who are told that something waits or fails.
func notices(l *layout.Layout) (list []going) {
	for _, name := range []string{"ADD_FLAGS", "RUN_FLAGS", "READ_FLAGS"} {
		for _, o := range layout.Options(l.Values[name]) {
			list = append(list, going{o.Name == "--notify", "notices", "how many tasks wait, and ids", layout.Unknown, name + ", " + o.Value})
		}
	}
	cmd := l.Values["NOTIFY"]
	list = append(list, going{cmd != "", "notices", "the name of a unit that fails or works again, and what it printed: " + output, layout.Unknown, "NOTIFY, " + cmd},
		going{true, "what commands print", output, layout.Here, "the journal, or the mail of cron, which may leave"})
	for _, name := range l.Strange {
		list = append(list, going{true, "whatever uses it", name, layout.Unknown, l.Name + " has this name, which pulse has no use for"})
	}
	return list
}
