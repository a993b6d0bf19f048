package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/terms"
)

// Where text goes. unknown is said of whatever is not certain: nothing is guessed to be safe.
const (
	unknown = "not known: may be anywhere"
	nowhere = "nowhere"
	here    = "this machine"
)

// residency collects where text goes, a line each.
type residency struct {
	w      io.Writer
	p      *policy.Policy
	schema *schema.Schema // nil: nothing is extracted
	*layout
}

// printResidency prints which bytes of whose mail go where, under the policy and with what the
// environment file starts.
func printResidency(c *cli.Context, p *policy.Policy, s *schema.Schema) error {
	file := c.String("environment")
	if file == "" {
		file = filepath.Join(filepath.Dir(p.Name), "environment")
	}
	l, err := readLayout(file, c.IsSet("environment"))
	if err != nil {
		return err
	}
	r := &residency{c.App.Writer, p, s, l}
	r.sources()
	r.kept()
	r.asks()
	r.web()
	r.effects()
	r.notices()
	for _, name := range l.strange {
		r.say("whatever uses it", name, unknown, "%s has this name, which pulse has no use for", l.name)
	}
	return nil
}

func (r *residency) say(whose, what, where, why string, args ...any) {
	fmt.Fprintln(r.w, escape.Line(fmt.Sprintf("%s: %s -> %s (%s)", whose, what, where, fmt.Sprintf(why, args...))))
}

// sources says what those learn that mail is fetched from.
func (r *residency) sources() {
	for _, in := range r.inboxes {
		r.say("all mail", "nothing, except which mail is read and when", in.host, "%s", in.why)
		if r.p.Evidence != policy.ByAuthRes || in.dkim {
			r.say("all mail", "the domains of From and of signatures", in.resolver, "%s, evidence or --dkim", in.why)
		}
	}
	if len(r.inboxes) == 0 {
		r.say("all mail", "nothing", r.absent(nowhere), "%s", r.without("INBOX"))
	}
	for _, pl := range r.p.Platforms {
		r.say("messages of "+pl.Source, "nothing: they are brought here", here, "[[platform]]")
	}
}

// kept says what lies on this machine.
func (r *residency) kept() {
	r.say("accepted mail", "header fields, "+r.mail(), here, "the queue, until pulse-queue prune")
	r.say("refused mail", "sender, Message-ID, reason", here, "the log")
	if r.p.Limits.KeepRefused > 0 {
		r.say("refused mail", "header fields, without text", here, "the queue, limits.keep_refused")
	}
	r.say("what waits", "all that would be used", "the terminals of approvers", "pulse-approve, approval.require is %s", r.p.Approval.Require)
}

// mail says what of a mail is handed on, by the widest scope of all mailboxes.
func (r *residency) mail() string {
	text := "sender, subject, names of attachments"
	switch {
	case r.scope == "" || len(r.p.Platforms) > 0: // not known, or not mail alone
		return "perhaps the whole text and all attachments"
	case r.scope == "headers":
		return text
	}
	text += fmt.Sprintf(", %d characters of text", r.maxText)
	if r.scope == "attachments" {
		text += fmt.Sprintf(", %d bytes of attachments", r.maxAttachments)
	}
	return text
}

// asks says what readers and workers are given.
func (r *residency) asks() {
	reader, worker := r.way("READER", "pulse-reader"), r.way("WORKER", "pulse-worker")
	for _, after := range []string{"", ", after a yes"} {
		bare, free := r.whose(after != "")
		if bare != "" {
			what := r.mail() + after
			r.say(bare, what, reader.where, "%s", reader.why)
			r.say(bare, fmt.Sprintf("an extract, %d bytes of free text at most%s", r.schema.Free, after), worker.where, "%s", worker.why)
			r.say(bare, r.mail()+", after a yes, if no extract fits", worker.where, "%s", worker.why)
		}
		if free != "" {
			r.say(free, r.mail()+after, worker.where, "%s", worker.why)
		}
	}
	if worker.keeps != "" {
		r.say("what WORKER was given", "its session, with all text", here, "%s", worker.keeps)
	}
	if r.p.Exec.Workspace != "" {
		r.say("no mail", "files of "+r.p.Exec.Workspace+" that the model reads", worker.where, "exec.workspace, %s", worker.why)
	}
}

// whose names the senders whose mail a model gets without a person, or only after one: first
// those whose text is kept from workers, and then the others.
func (r *residency) whose(asked bool) (bare, free string) {
	var lists [2][]string
	for _, row := range rowsOf(r.p) {
		reach := 0
		for _, a := range terms.Actions {
			reach = max(reach, row.Outcome(a).Reach())
		}
		if reach == 0 || asked != (reach == 1) {
			continue
		}
		trusts := []terms.Trust{row.trust}
		if row.trust == "" {
			trusts = trustsOf(r.p, strings.Trim(row.name, `"`))
		}
		for i, want := range []bool{true, false} {
			if slices.ContainsFunc(trusts, func(t terms.Trust) bool {
				return (r.schema != nil && slices.Contains(r.p.Extract.Require, t)) == want
			}) {
				lists[i] = append(lists[i], row.name)
			}
		}
	}
	return senderList(lists[0]), senderList(lists[1])
}

func senderList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "mail and other asks of " + strings.Join(names, ", ")
}

// trustsOf returns the levels that a row of one sender or domain stands in for.
func trustsOf(p *policy.Policy, sender string) (list []terms.Trust) {
	for t, entries := range map[terms.Trust][]string{terms.OwnerVerifiedEmail: p.Owners, terms.ExternalVerified: p.AllowedExternal} {
		if listed(&policy.Policy{Owners: entries, AllowedExternal: entries}, sender) {
			list = append(list, t)
		}
	}
	return list
}

// web says who may have a model look into the web: an address that it asks for can tell
// anything that it has read.
func (r *residency) web() {
	var rows []string
	for _, row := range rowsOf(r.p) {
		for _, tool := range []string{"web.fetch", "web.search"} {
			if visible, _ := tools.Visible(r.p, tool); visible && row.Outcome(tools.Action(r.p, tool)) == terms.Allow && !slices.Contains(rows, row.name) {
				rows = append(rows, row.name)
			}
		}
	}
	if w := r.way("WORKER", "pulse-worker"); len(rows) > 0 && w.where != nowhere {
		where := "any host of the web"
		if w.boxed {
			where = "what the host of the model fetches for it"
		}
		flow := r.p.Flow[label.Private]
		r.say(senderList(rows), "words that the model chooses", where, "web.fetch or web.search is allowed, flow.private confirms %d and denies %d", len(flow.Confirm), len(flow.Deny))
	}
}
