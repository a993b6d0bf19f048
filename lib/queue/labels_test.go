package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/hook"

	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// reader is a queue whose policy lets owners read and write, with or without [flow].
func reader(t *testing.T, flow map[label.Label]policy.Flow) *desk {
	d := newDesk(t)
	d.p.Limits.MaxPerDay, d.p.Limits.PerSenderPerHour = 1<<20, 1<<20
	d.p.Matrix[terms.OwnerVerifiedEmail][terms.ReadPrivate], d.p.Flow = terms.Allow, flow
	return d
}

// start claims the next task of a kind, nil if there is none.
func (d *desk) start(effect terms.Action) (claim *queue.Claim) {
	d.t.Helper()
	run := queue.Run{Policy: d.p, Effect: effect, Max: 1, Now: func() time.Time { return d.now }}
	for more := true; more; {
		d.update(func(tx *queue.Tx) (err error) {
			claim, more, err = run.Next(tx, func(string) error { return nil })
			return err
		})
	}
	return claim
}

// finish ends the worker of a claim, which may have printed something.
func (d *desk) finish(c *queue.Claim, end queue.End, out ...string) {
	d.t.Helper()
	if end.Exit == 0 || end.Ungated != "" {
		list, discarded := proposal.Read([]byte(strings.Join(out, "\n")), false, nil)
		end.Proposals = &queue.Proposals{List: list, Discarded: discarded}
	}
	d.update(func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, c, end, &d.p.Limits, d.now)
		return err
	})
}

// labels returns the labels of a root task of an owner.
func (d *desk) labels(root string) label.Set { return d.labelsFor(root, terms.OwnerVerifiedEmail) }

// labelsFor returns the labels of a root task of a trust level.
func (d *desk) labelsFor(root string, t terms.Trust) (set label.Set) {
	d.t.Helper()
	err := d.store.View(func(v store.View) (err error) {
		set, err = queue.LabelsOf(v, root, t)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return set
}

// has makes sure which labels a root task has.
func (d *desk) has(root string, want ...string) {
	d.t.Helper()
	if got := d.labels(root).Words(); !slices.Equal(got, want) {
		d.t.Errorf("%s has the labels %q, want %q", root, got, want)
	}
}

const (
	readMail = `{"action":"read_private","tool":"mail.read"}`
	fetch    = `{"action":"read_public","tool":"web.fetch"}`
	note     = `{"action":"write_local","args":{"n":1}}`
	later    = `{"action":"read_public","args":{"later":true}}`
)

// TestLabelsOfStarts: a start gives its label in the commit that starts the task, and the
// worker reads it.
func TestLabelsOfStarts(t *testing.T) {
	d := reader(t, nil)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.finish(d.start(""), queue.End{}, readMail, fetch, note)
	d.has(root)
	d.take()
	for _, c := range []struct {
		action terms.Action
		want   []string
	}{
		{terms.WriteLocal, nil},
		{terms.ReadPrivate, []string{"private"}},
		{terms.ReadPublic, []string{"private", "untrusted"}},
	} {
		before := len(d.store.Log())
		claim := d.start(c.action)
		d.has(root, c.want...)
		if lines := d.store.Log()[before:]; len(c.want) > 0 &&
			(len(lines) != 2 || lines[0].Event != task.Started || !lines[0].More || lines[1].Event != audit.Labelled || lines[1].Task != root) {
			t.Errorf("%s: %+v", c.action, lines)
		}
		given := string(claim.Given().Line())
		if words := `"labels":["` + strings.Join(c.want, `","`) + `"]`; strings.Contains(given, `"labels"`) != (c.want != nil) ||
			c.want != nil && !strings.Contains(given, words) {
			t.Errorf("%s: the worker reads %s", c.action, given)
		}
		if given, printed := d.find(claim.Task.ID), string(claim.Line()); strings.Contains(string(given.File), `"labelled"`) ||
			strings.Contains(printed, `"labelled"`) != (c.want != nil) {
			t.Errorf("%s: the file is %s, and the record that is printed %s", c.action, given.File, printed)
		}
	}
	if u := d.labels(root).Use(label.Private); u.By != "mail.read" || u.Task == root || u.At.IsZero() {
		t.Errorf("%+v", u)
	}
}

// TestLabelsOfAsks: an ask that reads what is private has the label from its first start on.
func TestLabelsOfAsks(t *testing.T) {
	d := reader(t, nil)
	private := `{"request":{"action":"read_private"},` + fmt.Sprintf(ask, 1)[1:]
	root, _ := d.add(private)
	claim := d.start("")
	d.has(root, "private")
	if given := string(claim.Given().Line()); !strings.Contains(given, `"labels":["private"]`) {
		t.Error(given)
	}
	d.finish(claim, queue.End{Exit: 75})
	d.now = d.now.Add(24 * time.Hour)
	if given := string(d.start("").Given().Line()); !strings.Contains(given, `"labels":["private"]`) {
		t.Error("again:", given)
	}
}

// TestLabelsOfJudgements: whatever the hook of a worker let through counts, however the
// worker ended, and what it proposes has it already.
func TestLabelsOfJudgements(t *testing.T) {
	judged := func(o terms.Outcome, tool string, a terms.Action) []hook.Judged {
		j := queuetest.Allowed(tool, a)
		j.Outcome = o
		return []hook.Judged{j}
	}
	many := queue.End{Unread: true}
	for name, c := range map[string]struct {
		end  queue.End
		want []string
	}{
		"a file":       {queue.End{Judged: judged(terms.Allow, "fs.read", terms.ReadPrivate)}, []string{"private"}},
		"no tool":      {queue.End{Judged: judged(terms.Allow, "", terms.ReadPublic)}, []string{"untrusted"}},
		"by its tool":  {queue.End{Judged: judged(terms.Allow, "calendar.read", terms.WriteLocal)}, []string{"private"}},
		"confirmed":    {queue.End{Judged: judged(terms.Confirm, "fs.read", terms.ReadPrivate)}, []string{"private"}},
		"reviewed":     {queue.End{Judged: judged(terms.Review, "fs.read", terms.ReadPrivate)}, []string{"private"}},
		"denied":       {queue.End{Judged: judged(terms.Reject, "fs.read", terms.ReadPrivate)}, nil},
		"written":      {queue.End{Judged: judged(terms.Allow, "fs.write", terms.WriteLocal)}, nil},
		"not known":    {queue.End{Judged: judged(terms.Allow, "", "")}, []string{"private", "untrusted"}},
		"not read":     {many, []string{"private", "untrusted"}},
		"nothing":      {queue.End{}, nil},
		"it failed":    {queue.End{Exit: 1, Judged: judged(terms.Allow, "fs.read", terms.ReadPrivate)}, []string{"private"}},
		"it was ended": {queue.End{Exit: -1, Judged: judged(terms.Allow, "fs.read", terms.ReadPrivate)}, []string{"private"}},
		"later":        {queue.End{Exit: 75, Judged: judged(terms.Allow, "fs.read", terms.ReadPrivate)}, []string{"private"}},
	} {
		d := reader(t, nil)
		root, _ := d.add(fmt.Sprintf(ask, 1))
		d.finish(d.start(""), c.end, note)
		d.has(root, c.want...)
		for _, line := range d.outbox() {
			if strings.Contains(line, `"labels":["`+strings.Join(c.want, `","`)+`"]`) != (c.want != nil) {
				t.Errorf("%s: %s", name, line)
			}
		}
		d = reader(t, nil)
		root, _ = d.add(fmt.Sprintf(ask, 1))
		claim := d.start("")
		d.update(func(tx *queue.Tx) error {
			if _, err := queue.Cancel(tx, root, "me", d.now); err != nil {
				return err
			}
			return queue.FinishCancelled(tx, claim, c.end, d.now)
		})
		d.has(root, c.want...)
	}
}

// TestLabelsGoDeep: what an effect of an effect of an effect reads is known to all of its
// root, also to one that its worker proposes while another one reads.
func TestLabelsGoDeep(t *testing.T) {
	d := reader(t, nil)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.finish(d.start(""), queue.End{}, note, later)
	d.take()
	slow := d.start(terms.WriteLocal)
	d.finish(d.start(terms.ReadPublic), queue.End{}, later+" ", `{"action":"read_public","args":{"n":2}}`)
	d.take()
	d.finish(d.start(terms.ReadPublic), queue.End{}, readMail)
	d.take()
	third := d.start(terms.ReadPrivate)
	if third.Identity.Depth != 3 || third.Root() != root {
		t.Fatalf("%+v", third.Identity)
	}
	d.has(root, "private", "untrusted")
	d.finish(slow, queue.End{}, `{"action":"read_public","args":{"n":3}}`)
	box := d.outbox()
	if len(box) != 1 || !strings.Contains(box[0], `"labels":["private","untrusted"]`) {
		t.Error("a worker that was started before:", box)
	}
}

// TestLabelsStay: nothing takes a label away, and an effect of a root that was pruned has it.
func TestLabelsStay(t *testing.T) {
	d := reader(t, nil)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.finish(d.start(""), queue.End{Judged: []hook.Judged{queuetest.Allowed("fs.read", terms.ReadPrivate)}}, note)
	shown := d.find(root)
	d.update(func(tx *queue.Tx) error {
		return queue.Requeue(tx, &shown, queue.Yes(&shown, "me", "terminal", d.now), d.now)
	})
	d.has(root, "private")
	claim := d.start("")
	if given := string(claim.Given().Line()); !strings.Contains(given, `"labels":["private"]`) {
		t.Error("requeued:", given)
	}
	d.finish(claim, queue.End{})
	ids := []store.ID{store.IDOf(root)}
	d.update(func(tx *queue.Tx) error {
		_, _, err := queue.Prune(tx, task.Completed, ids, &queue.Older{}, "me", d.now)
		return err
	})
	d.has(root, "private")
	ids2, _ := d.take()
	if s := d.find(ids2[0]); !slices.Equal(s.Labels.Words(), []string{"private"}) {
		t.Errorf("an effect whose root was pruned: %+v", s.Labels)
	}
}

// TestLabelsOfRecords: a record with fewer labels than the queue knows does not take one away,
// and one with more adds them, whatever became of its root.
func TestLabelsOfRecords(t *testing.T) {
	const private = `,"labels":["private"],"labelled":[{"label":"private","by":"mail.read"}]}`
	less := func(line string) string {
		i := strings.Index(line, `,"labels"`)
		return line[:i] + "}" + line[i+strings.Index(line[i:], "]}")+2:]
	}
	d := reader(t, nil)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.finish(d.start(""), queue.End{Judged: []hook.Judged{queuetest.Allowed("fs.read", terms.ReadPrivate)}}, note)
	line := d.outbox()[0]
	id, _ := d.add(less(line))
	if s := d.find(id); len(s.Identity.Labels) != 0 || !slices.Equal(s.Labels.Words(), []string{"private"}) {
		t.Errorf("less: %+v, %+v", s.Identity.Labels, s.Labels)
	}

	other := reader(t, nil) // another queue, which knows nothing
	other.add(line)
	other.has(root, "private")
	if u := other.labels(root).Use(label.Private); u.By != "fs.read" {
		t.Errorf("%+v", u)
	}
	other.add(less(strings.Replace(line, `"n":1`, `"n":2`, 1)))
	other.has(root, "private")
	asked, _ := other.add(strings.Replace(fmt.Sprintf(ask, 2), `"why":""}`, `"why":""`+private, 1))
	other.has(asked, "private")
	before := len(other.store.Log())
	other.add(line) // it is known
	if lines := other.store.Log()[before:]; len(lines) > 0 {
		t.Errorf("again: %+v", lines)
	}

	restored := reader(t, nil) // to a time before the read
	restored.add(fmt.Sprintf(ask, 1))
	restored.add(strings.Replace(fmt.Sprintf(ask, 1), `"why":""}`, `"why":""`+private, 1))
	restored.has(root, "private")
}

// TestLabelsThatCannotBeRead: nobody knows what they were, so that it is all of them.
func TestLabelsThatCannotBeRead(t *testing.T) {
	for name, file := range map[string]string{
		"cut": `{"labels":[`, "not a list": `{"labels":1}`, "a label of a newer version": `{"labels":[{"label":"secret"}]}`, "empty": "",
		"an object with nothing in it": `{}`, "no label": `{"labels":[]}`,
	} {
		s := newShelf(t, stored(1, task.Scheduled, time.Hour, time.Hour))
		s.Lay(store.Labels, fmt.Sprintf("%032x", 1), store.Item{Bytes: []byte(file)})
		if got := s.find(fmt.Sprintf("%032x", 1)).Labels; len(got) != len(label.All) || got[0].By != queue.Unreadable {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFlowAtTheStart: an effect that was allowed when it came, and whose root got a label
// since then, waits for a person or is rejected, and what says what a run would do says so. A
// yes that was given before holds against a confirm, and not against a deny.
func TestFlowAtTheStart(t *testing.T) {
	confirm := map[label.Label]policy.Flow{label.Private: {Confirm: []string{"read_public"}}}
	deny := map[label.Label]policy.Flow{label.Private: {Deny: []string{"web.*"}}}
	for name, c := range map[string]struct {
		flow   map[label.Label]policy.Flow
		yes    bool
		state  task.State
		reason string
	}{
		"without [flow]":       {nil, false, task.Running, "allowed"},
		"confirm":              {confirm, false, task.Awaiting, "flow_private"},
		"deny":                 {deny, false, task.Rejected, "flow_private"},
		"confirm, after a yes": {confirm, true, task.Running, "flow_private"},
		"deny, after a yes":    {deny, true, task.Rejected, "flow_private"},
	} {
		d := reader(t, c.flow)
		d.p.Tools.Level = map[string]string{}
		if c.yes {
			d.p.Tools.Level["web.*"] = "approval_required"
		}
		d.add(fmt.Sprintf(ask, 1))
		d.finish(d.start(""), queue.End{}, readMail, fetch)
		ids, _ := d.take()
		id := ids[1]
		if shown := d.find(id); c.yes {
			d.update(func(tx *queue.Tx) error {
				return queue.Approve(tx, &shown, queue.Yes(&shown, "me", "terminal", d.now), d.now)
			})
		}
		if d.p.Tools.Level["web.*"] = "open"; d.find(id).Task.State != task.Scheduled {
			t.Fatalf("%s: %+v", name, d.find(id).Task)
		}
		d.start(terms.ReadPrivate)
		waits := d.find(id)
		run := queue.Run{Policy: d.p, Effect: terms.ReadPublic, Max: 1, Now: func() time.Time { return d.now }}
		if err := d.store.View(func(v store.View) error {
			o, err := run.Outlook(v, &waits, d.now)
			if o.Starts != (c.state == task.Running) || string(o.Decision.Reason) != c.reason {
				t.Errorf("%s: %+v", name, o)
			}
			if c.flow != nil && !strings.Contains(o.Decision.Why, "private (mail.read in "+ids[0]) {
				t.Errorf("%s: it names neither label nor use: %s", name, o.Decision.Why)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
		d.start(terms.ReadPublic)
		if s := d.find(id); s.Task.State != c.state || c.state != task.Running && s.Task.Reason != c.reason {
			t.Errorf("%s: %s (%s)", name, s.Task.State, s.Task.Reason)
		}
	}
}

// TestParkedByFlow: once a person has said yes to what was parked, it starts.
func TestParkedByFlow(t *testing.T) {
	d := reader(t, map[label.Label]policy.Flow{label.Private: {Confirm: []string{"read_public"}}})
	d.add(fmt.Sprintf(ask, 1))
	d.finish(d.start(""), queue.End{}, readMail, fetch)
	ids, _ := d.take()
	d.start(terms.ReadPrivate)
	if c := d.start(terms.ReadPublic); c != nil {
		t.Fatal("it was started")
	}
	shown := d.find(ids[1])
	d.update(func(tx *queue.Tx) error {
		return queue.Approve(tx, &shown, queue.Yes(&shown, "me", "terminal", d.now), d.now)
	})
	if c := d.start(terms.ReadPublic); c == nil || c.Task.ID != ids[1] {
		t.Error("it was not started")
	}
}

// TestLabelsOfOneCommit: what one record of a batch adds, the next one does not take away.
func TestLabelsOfOneCommit(t *testing.T) {
	root := fmt.Sprintf("%032x", 7)
	says := func(n int, l label.Label) string {
		return strings.Replace(queuetest.Effect(n), `"via":"agent"`, fmt.Sprintf(`"via":"agent","root":%q,"labels":[%q]`, root, l), 1)
	}
	s := newShelf(t)
	if err := queuetest.Add(says(1, label.Private), says(2, label.Untrusted), says(3, label.Private)).Do(s.Memory, now); err != nil {
		t.Fatal(err)
	}
	s.view(func(v store.View) error {
		set, err := queue.LabelsOf(v, root, terms.OwnerVerifiedEmail)
		if !slices.Equal(set.Words(), []string{"private", "untrusted"}) {
			t.Errorf("%v", set)
		}
		return err
	})
	n := 0
	for _, l := range s.lines() {
		if l.Event == audit.Labelled {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
}
