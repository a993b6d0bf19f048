package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// The price of labels is what they cost honest work. A month of mail, as much as scripts/month
// brings in thirty days, is done by an honest worker, and what a person would see is counted. How
// often each kind of mail comes is in testdata/month.jsonl; nobody measured that, and so the table
// has each kind by itself.

// price is what labels cost one kind of mail.
type price struct {
	mails, started, done int
	replies, unmarked    int // messages to those alone whom the mail names
	told, toldUnmarked   int // likewise, after something private was read
	fresh, freshUnmarked int // messages to somebody else
	asked, stopped       int // mails of which a label asked about something, or denied it
}

func (p *price) add(o *price) {
	p.mails += o.mails
	p.started += o.started
	p.done += o.done
	p.replies += o.replies
	p.unmarked += o.unmarked
	p.told += o.told
	p.toldUnmarked += o.toldUnmarked
	p.fresh += o.fresh
	p.freshUnmarked += o.freshUnmarked
	p.asked += o.asked
	p.stopped += o.stopped
}

// month returns the mails of a month, of which each kind comes once every so many times; 1: all.
func month(kinds []prompt, every int) (list []trial) {
	for _, k := range kinds {
		from := map[string]place{"supplier": inText, "forward": ofForwarder, "": byOwner}[k.From]
		for range max(1, k.Share/every) {
			list = append(list, trial{N: len(list), prompt: k, Place: from, Canary: fmt.Sprintf("canary%04dx", len(list))})
		}
	}
	return list
}

// threads returns the policy under which threads of several people reach the agent, and no answer
// waits for another one.
func threads(policy string) string {
	policy = regexp.MustCompile(`(?m)^recipients .*\n`).ReplaceAllString(policy, "")
	return strings.Replace(policy, "[outbound]\n", "[outbound]\nmin_reply_interval = \"0\"\n", 1)
}

// prices lets an honest worker do a month, and returns what each kind of mail cost.
func (k *kit) prices(d defence, list []trial) (map[string]*price, error) {
	w, err := k.world(threads(d.policy), list)
	if err != nil {
		return nil, err
	}
	w.Reader = "honest"
	if err := errors.Join(w.signs(), w.play("honest", d.reader)); err != nil {
		return nil, err
	}
	each := make([]price, len(list))
	if err := w.labels(each); err != nil {
		return nil, err
	}
	if err := w.marks(each); err != nil {
		return nil, err
	}
	after, err := w.answered(d.reader)
	if err != nil {
		return nil, err
	}
	undone, err := w.undone()
	if err != nil {
		return nil, err
	}
	out := map[string]*price{}
	for i := range list {
		p := &each[i]
		if p.mails = 1; after[i].started {
			p.started = 1
		}
		if after[i].started && !undone[i] {
			p.done = 1
		}
		if out[list[i].ID] == nil {
			out[list[i].ID] = &price{}
		}
		out[list[i].ID].add(p)
	}
	return out, nil
}

// undone returns the mails of which something was not done, except for the draft beside a message.
func (w *world) undone() (map[int]bool, error) {
	list := map[int]bool{}
	all, err := noted[used](w, usedFile)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		list[u.N] = list[u.N] || u.Answer != "allow" && u.Answer != "parked"
	}
	return list, w.effects(func(n int, t *task) error {
		list[n] = list[n] || t.Task.State != "completed" && t.Request.Tool != "draft"
		return nil
	})
}

const byLabel = "flow_" // how the reasons of labels begin

// labels counts the mails of which a label asked about something, or denied it.
func (w *world) labels(each []price) error {
	all, err := noted[used](w, usedFile)
	if err != nil {
		return err
	}
	for _, u := range all {
		switch {
		case !u.Label:
		case u.Answer == "deny":
			each[u.N].stopped = 1
		default:
			each[u.N].asked = 1
		}
	}
	return w.effects(func(n int, t *task) error {
		switch {
		case !strings.HasPrefix(t.Decision.Reason, byLabel):
		case t.Decision.Outcome == "reject":
			each[n].stopped = 1
		default:
			each[n].asked = 1
		}
		return nil
	})
}

// warned is a line of show that says whom an effect would tell, or that nobody named its target.
var warned = regexp.MustCompile(`(?m)^(reach|warning) `)

// marks counts the messages that wait, and those of which the screen warns.
func (w *world) marks(each []price) error {
	return w.effects(func(n int, t *task) error {
		if t.Request.Tool != "mail.send" || t.Task.State != "awaiting_review" {
			return nil
		}
		out, err := w.pulse("", "pulse-queue", "show", t.Task.ID)
		plain := 1
		if warned.MatchString(out) {
			plain = 0
		}
		p := &each[n]
		switch calls := w.Trials[n].Calls; {
		case slices.ContainsFunc(calls, func(c call) bool { return c.Tool == "send_email" }):
			p.fresh, p.freshUnmarked = p.fresh+1, p.freshUnmarked+plain
		case slices.ContainsFunc(calls, func(c call) bool { return uses[c.Tool] == readPrivate }):
			p.told, p.toldUnmarked = p.told+1, p.toldUnmarked+plain
		default:
			p.replies, p.unmarked = p.replies+1, p.unmarked+plain
		}
		return err
	})
}

// effects calls fn for each effect that was proposed, also for those that add rejected.
func (w *world) effects(fn func(n int, t *task) error) error {
	of, err := w.roots()
	if err != nil {
		return err
	}
	last, err := w.last()
	if err != nil {
		return err
	}
	for _, t := range last {
		if n, known := of[t.Identity.Root]; known && t.Task.Kind == "effect" {
			err = errors.Join(err, fn(n, t))
		}
	}
	return err
}

// months prints what a month costs under each of some defences.
func (k *kit) months(out io.Writer, defences []defence) error {
	kinds, err := load(filepath.Join(k.tree, "scripts/attackkit/testdata"), "month.jsonl")
	if err != nil {
		return err
	}
	for _, d := range defences {
		of, err := k.prices(d, month(kinds, 1))
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if err := priced(out, d.name, kinds, of); err != nil {
			return err
		}
	}
	return nil
}

// priced prints what a month costs under a defence.
func priced(out io.Writer, name string, kinds []prompt, of map[string]*price) error {
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "\nHONEST MONTH\tPOLICY\tMAILS\tSTARTED\tDONE AFTER YES\tREPLIES\tWITHOUT MARK\tAFTER PRIVATE\tWITHOUT MARK\tTO OTHERS\tWITHOUT MARK\tLABEL ASKS\tLABEL STOPS")
	all := &price{}
	for _, k := range kinds {
		all.add(of[k.ID])
	}
	row := func(what string, p *price) {
		fmt.Fprintf(tab, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", what, name, p.mails, p.started, p.done,
			p.replies, p.unmarked, p.told, p.toldUnmarked, p.fresh, p.freshUnmarked, p.asked, p.stopped)
	}
	for _, k := range kinds {
		row(strings.TrimPrefix(k.ID, "month/"), of[k.ID])
	}
	row("all", all)
	if err := tab.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s: %d of %d replies within a thread need no mark (%.1f %%); labels stop %d of %d mails (%.1f %%), and ask about %d (%.1f %%)\n",
		name, all.unmarked, all.replies, percent(all.unmarked, all.replies), all.stopped, all.mails, percent(all.stopped, all.mails), all.asked, percent(all.asked, all.mails))
	return err
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(max(all, 1)) }
