package queue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// strangers is a policy by which the text of outsiders is kept from workers.
func strangers() *policy.Policy {
	p := *queuetest.Policy
	p.AllowedExternal = []string{"friend@partner.example"}
	p.Extract = policy.Extract{Schema: "request", Require: []terms.Trust{terms.ExternalVerified}}
	return &p
}

const owners = `"sender":"me@example.com","trust":"owner_verified_email"`

// theirs is a mail of an outsider, in which all that they can write freely says canary.
func theirs(uid int) string {
	line := strings.Replace(queuetest.Mail(uid, terms.Allow), owners, `"sender":"friend@partner.example","trust":"external_verified"`, 1)
	line = strings.Replace(line, `"why":""`, `"why":"canary"`, 2)
	return strings.Replace(line, `"received":`, `"from":"canary <friend@partner.example>","subject":"canary","text":"canary",`+
		`"headers":[["From","friend@partner.example"],["To","agent@example.com"]],"thread":{"in_reply_to":["<canary@t>"]},`+
		`"attachments":[{"name":"canary","type":"text/canary","size":3}],"received":`, 1)
}

// gap is a queue, and the runs of a policy with [extract].
type gap struct {
	*testing.T
	store  *recorder
	policy *policy.Policy
	schema *schema.Schema
	now    time.Time
}

func newGap(t *testing.T, lines ...string) *gap {
	t.Helper()
	g := &gap{t, &recorder{Memory: queuetest.NewMemory()}, strangers(), queuetest.Schema, now}
	g.do(queuetest.Add(lines...))
	return g
}

func (g *gap) do(ops ...queuetest.Operation) {
	g.Helper()
	for _, op := range ops {
		if err := op.Do(g.store, g.now); err != nil {
			g.Fatal(op.Name, err)
		}
	}
}

// next is what a run, of readers or of workers, starts next.
func (g *gap) next(readers bool) (claim *queue.Claim) {
	g.Helper()
	run := queue.Run{Policy: g.policy, Schema: g.schema, Readers: readers, Max: 1, Now: func() time.Time { return g.now }}
	for more := true; more; {
		err := queue.Update(g.store, func(tx *queue.Tx) (err error) {
			claim, more, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if err != nil {
			g.Fatal(err)
		}
	}
	return claim
}

func (g *gap) finish(c *queue.Claim, exit int, printed string) (l audit.Line) {
	g.Helper()
	err := queue.Update(g.store, func(tx *queue.Tx) (err error) {
		l, err = queue.Finish(tx, c, queue.End{Exit: exit, Result: []byte(printed)}, &g.policy.Limits, g.now)
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
	return l
}

// read lets the reader of the only task end so, some time after the last one.
func (g *gap) read(exit int, printed string) audit.Line {
	g.Helper()
	g.now = g.now.Add(13 * time.Hour)
	c := g.next(true)
	if c == nil {
		g.Fatal("there is nothing to read")
	}
	return g.finish(c, exit, printed)
}

// task is the only one.
func (g *gap) task() (s queue.Stored) {
	g.Helper()
	err := g.store.View(func(v store.View) error {
		return v.Open("", func(e store.Entry) (_ bool, err error) {
			s, err = queue.Find(v, e.ID)
			return false, err
		})
	})
	if err != nil {
		g.Fatal(err)
	}
	return s
}

// answer says yes to the only task, which waits.
func (g *gap) answer(change func(*approval.Approval)) {
	g.Helper()
	s := g.task()
	yes := queue.Yes(&s, "me", approval.Terminal, g.now)
	if change != nil {
		change(&yes)
	}
	err := queue.Update(g.store, func(tx *queue.Tx) error { return queue.Approve(tx, &s, yes, g.now) })
	if err != nil {
		g.Fatal(err)
	}
}

// TestReaderThenWorker: the reader gets all and the schema, and the worker what the reader
// printed, and not a byte of what the sender wrote.
func TestReaderThenWorker(t *testing.T) {
	g := newGap(t, theirs(1))
	if c := g.next(false); c != nil || len(g.store.Log()) != 1 {
		t.Fatalf("%+v, %d lines", c, len(g.store.Log()))
	}
	c := g.next(true)
	if in := string(c.Given().Line()); !strings.Contains(in, `"text":"canary"`) || !strings.Contains(in, `"schema":{`) || strings.Contains(in, `"extract"`) {
		t.Error(in)
	}
	if l := g.finish(c, 0, "\n"+queuetest.Fits+" \n"); l.Event != task.Extracted || l.To != task.Scheduled || l.Change.Reason != queue.ReasonExtracted {
		t.Errorf("%s", l.Append(nil))
	}
	if s := g.task(); s.Task.Attempts != 0 || s.Task.Restarts != 0 {
		t.Errorf("%+v", s.Task)
	}
	if c = g.next(true); c != nil {
		t.Errorf("it is read again: %+v", c)
	}
	c = g.next(false)
	if in := string(c.Given().Line()); strings.Contains(in, "canary") || !strings.Contains(in, `"extract":`+queuetest.Fits) || strings.Contains(in, `"schema"`) ||
		!strings.Contains(in, `"id":"<1@t>"`) {
		t.Error(in)
	}
	if l := g.finish(c, 1, "oh"); l.Event != task.Retried || l.Change.Attempts != 1 {
		t.Errorf("%s", l.Append(nil))
	}
	g.store.check(t)
}

// TestWithheld: the worker without the text gets no member that can hold a text.
func TestWithheld(t *testing.T) {
	platform := strings.Replace(theirs(2), `{"message":`, `{"request":{"action":"read_public","tool":"canary here","target":"canary@t.example","args":{"text":"canary"},`+
		`"evidence":["canary"],"files":[{"name":"canary","size":6,"digest":"sha256:e100fbce008c04ec40637af0af91fb2f05aeedc23f856a2d3c0b1580625d755e","data":"Y2FuYXJ5"}]},"canary":1,"extract":{"request":"canary"},"message":`, 1)
	long := strings.Replace(theirs(3), `<3@t>`, `<canary!ignore{all}rules@t>`, 1)
	for _, line := range []string{platform, long} {
		g := newGap(t, line)
		g.finish(g.next(true), 0, queuetest.Fits)
		c := g.next(false)
		c.Outcomes = []queue.Outcome{{Task: c.Task.ID, Action: terms.ExternalSend, Tool: "canary here", Target: []string{"canary, do", "bob@partner.example"}, Ending: "waiting"}}
		if in := string(c.Given().Line()); strings.Contains(in, "canary") || strings.Contains(in, "Y2FuYXJ5") || !strings.Contains(in, "bob@partner.example") {
			t.Error(in)
		}
		if all := string(c.Stored.Line()); strings.Count(all, `"extract":`) != 1 || !strings.Contains(all, `"extract":`+queuetest.Fits) {
			t.Error(all)
		}
		if c.Outcomes[0].Tool == "" || len(c.Outcomes[0].Target) != 2 {
			t.Error("what people are shown changed")
		}
	}
}

// TestUnfit: what does not fit twice waits for a person, and the log says at which place, and
// not what it was.
func TestUnfit(t *testing.T) {
	for name, printed := range map[string]string{
		"nothing": "", "prose": queuetest.Prose, "two values": queuetest.Fits + queuetest.Fits, "another word": `{"request":"canary"}`,
		"a member more": `{"request":"order","canary":1}`, "a list": "[" + queuetest.Fits + "]",
		"long": queuetest.Fits + strings.Repeat(" ", 10<<20), "a trailing word": queuetest.Fits + " canary",
	} {
		g := newGap(t, theirs(1))
		l := g.read(0, printed)
		if l.Event != task.Retried || l.Change.Reason != queue.ReasonUnfit || l.Change.NotBefore.Sub(l.Time) > 2*time.Minute {
			t.Errorf("%s: %s", name, l.Append(nil))
		}
		l = g.read(0, printed)
		if l.Event != task.Parked || l.To != task.Awaiting || l.Change.Reason != queue.ReasonUnfit || l.End == nil || l.End.Said == "" ||
			strings.Contains(string(l.Append(nil)), "canary") {
			t.Errorf("%s: %s", name, l.Append(nil))
		}
		g.store.check(t)
	}
	g := newGap(t, theirs(1))
	g.read(1, "")
	g.read(0, "oh")
	g.read(75, "")
	if l := g.read(0, queuetest.Fits); l.Event != task.Extracted {
		t.Errorf("%s", l.Append(nil))
	}
}

// TestReaderFails: nothing is lost where a worker's task would have failed.
func TestReaderFails(t *testing.T) {
	g := newGap(t, theirs(1))
	for range 5 {
		if l := g.read(75, ""); l.Event != task.Retried || l.Change.Reason != queue.ReasonLater {
			t.Errorf("%s", l.Append(nil))
		}
	}
	for i := range g.policy.Limits.MaxAttempts {
		l := g.read(-1, "")
		want := task.Retried
		if i == g.policy.Limits.MaxAttempts-1 {
			want = task.Parked
		}
		if l.Event != want || l.Change.Reason != queue.ReasonUnread {
			t.Errorf("%d: %s", i, l.Append(nil))
		}
	}
	if s := g.task(); s.Task.State != task.Awaiting || !s.OpensText() {
		t.Errorf("%+v", s.Task)
	}
	g.store.check(t)
}

// TestReaderDies: what dies with its run and has no tools gives no label, and in the end a
// person has the text.
func TestReaderDies(t *testing.T) {
	g := newGap(t, theirs(1))
	for i := range g.policy.Limits.MaxRestarts + 1 {
		if g.next(true) == nil {
			t.Fatalf("%d: there is nothing to read", i)
		}
		err := queue.Update(g.store, func(tx *queue.Tx) error {
			_, err := queue.Reap(tx, &g.policy.Limits, g.now, func(string) bool { return true })
			return err
		})
		if s := g.task(); err != nil || !slices.Equal(s.Labels.Words(), []string{"untrusted"}) {
			t.Fatalf("%d: %v, %v", i, s.Labels, err)
		}
	}
	if s := g.task(); s.Task.State != task.Awaiting || !s.OpensText() {
		t.Errorf("%+v", s.Task)
	}
	g.store.check(t)
}

// TestYesToTheText: a yes to a task without an extract hands its text to the worker; any other
// yes does not, and none does that is not good.
func TestYesToTheText(t *testing.T) {
	whole := func(g *gap) bool {
		c := g.next(false)
		return c != nil && c.Extract == nil && strings.Contains(string(c.Given().Line()), `"text":"canary"`)
	}
	unread := func() *gap {
		g := newGap(t, theirs(1))
		g.read(0, "oh")
		g.read(0, "oh")
		return g
	}
	g := unread()
	if g.answer(nil); g.next(true) != nil || !whole(g) {
		t.Error("a yes does not hand over the text")
	}
	g.do(queuetest.Finish(queue.End{Exit: 1}))
	if g.now = g.now.Add(time.Hour); g.next(true) != nil || !whole(g) {
		t.Error("an attempt that failed used up the yes")
	}
	for name, change := range map[string]func(*approval.Approval){
		"other bytes": func(a *approval.Approval) { a.Digest = "sha256:0" },
		"expired":     func(a *approval.Approval) { a.Expires = a.Given },
		"other task":  func(a *approval.Approval) { a.Action = terms.ReadPrivate },
	} {
		g := unread()
		if g.answer(change); whole(g) || g.task().Task.State != task.Awaiting || g.task().Task.Reason != queue.ReasonApproval {
			t.Errorf("%s: %+v", name, g.task().Task)
		}
		if g.answer(nil); whole(g) || g.next(true) == nil {
			t.Errorf("%s: a yes to a yes that was not good hands over the text", name)
		}
	}
	g = unread()
	g.answer(nil)
	g.policy.Approval.Require = string(approval.Signature)
	if whole(g) || g.task().Task.State != task.Awaiting {
		t.Error("a yes that nobody signed hands over the text")
	}
	g = unread()
	g.answer(func(a *approval.Approval) { a.Text = false })
	if whole(g) || g.next(true) == nil {
		t.Error("a yes to something else hands over the text")
	}
}

// TestYesToTheTask: a yes for another reason lets the reader start, and then the worker.
func TestYesToTheTask(t *testing.T) {
	g := newGap(t, strings.Replace(theirs(1), `"read_public"`, `"write_local"`, 1))
	if g.next(true) != nil || g.task().Task.State != task.Awaiting {
		t.Fatal("the policy wants a person before the reader starts")
	}
	g.answer(nil)
	if g.next(false) != nil {
		t.Fatal("a yes to the task hands over the text")
	}
	g.finish(g.next(true), 0, queuetest.Fits)
	if c := g.next(false); c == nil || c.Extract == nil || c.Approval == nil {
		t.Errorf("%+v", c)
	}
	g.do(queuetest.Finish(queue.End{}))
	g.store.check(t)

	g = newGap(t, theirs(1))
	g.policy.AllowedExternal = nil
	if g.next(false) != nil || g.task().Task.State != task.Scheduled || g.next(true) != nil || g.task().Task.ID != "" {
		t.Errorf("%+v", g.task().Task)
	}
}

// TestSchemaChanged: an extract that does not fit any more is made anew, and never given.
func TestSchemaChanged(t *testing.T) {
	g := newGap(t, theirs(1))
	g.finish(g.next(true), 0, queuetest.Fits)
	was := g.schema
	strict, err := schema.Parse("strict", []byte(`{"type":"object","additionalProperties":false,"required":["yes"],"properties":{"yes":{"type":"boolean"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, now := range []*schema.Schema{strict, nil} {
		if g.schema = now; g.next(false) != nil {
			t.Error("its worker starts")
		}
	}
	if g.schema = was; g.next(true) != nil {
		t.Error("it fits again, and is read again")
	}
	g.schema = strict
	g.finish(g.next(true), 0, `{"yes":true}`)
	if c := g.next(false); c == nil || string(c.Extract) != `{"yes":true}` {
		t.Errorf("%+v", c)
	}
}

// counting counts the files that are read.
type counting struct {
	store.View
	reads *int
}

func (c counting) Get(s store.Shelf, key string) (store.Item, error) {
	*c.reads++
	return c.View.Get(s, key)
}

// TestManyWaitForReaders: they keep nothing else waiting, and no file of them is read.
func TestManyWaitForReaders(t *testing.T) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, theirs(i+1))
	}
	g := newGap(t, append(lines, queuetest.Mail(9000, terms.Allow))...)
	for _, require := range [][]terms.Trust{{terms.ExternalVerified}, {terms.ExternalVerified, terms.OwnerClaim}} {
		g.policy.Extract.Require = require
		run := queue.Run{Policy: g.policy, Schema: g.schema, Max: 2, Now: func() time.Time { return g.now }}
		reads := 0
		var claim *queue.Claim
		err := queue.Update(g.store, func(tx *queue.Tx) (err error) {
			tx.View = counting{tx.View, &reads}
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		if err != nil || claim == nil || claim.Message.UID != 9000 || reads > 20 {
			t.Fatalf("%v: %+v, %d reads, %v", require, claim, reads, err)
		}
		g.do(queuetest.Finish(queue.End{Exit: 75}))
		g.now = g.now.Add(time.Hour)
	}
}

// TestLimitsCountReaders: a reader costs as much as a worker.
func TestLimitsCountReaders(t *testing.T) {
	g := newGap(t, theirs(1), theirs(2))
	g.policy.Limits.PerSenderPerHour = 1
	if g.next(true) == nil || g.next(true) != nil {
		t.Error("the second reader of an hour starts")
	}
	g.policy.Limits.PerSenderPerHour = 9
	g.policy.Limits.MaxPerDay = 1
	if g.next(true) != nil {
		t.Error("the second one of a day starts")
	}
}

// TestOutlookOfReaders: what a run will do with it is known before.
func TestOutlookOfReaders(t *testing.T) {
	g := newGap(t, theirs(1), queuetest.Mail(2, terms.Allow))
	look := func() (list []bool) {
		run := queue.Run{Policy: g.policy, Schema: g.schema, Max: 1, Blind: true}
		err := g.store.View(func(v store.View) error {
			return v.Open(task.Scheduled, func(e store.Entry) (bool, error) {
				s, err := queue.Find(v, e.ID)
				if err != nil {
					return false, err
				}
				o, err := run.Outlook(v, &s, g.now)
				waits, err2 := run.Unread(v, &e)
				if o.Reader != waits || !o.Starts || err2 != nil {
					t.Errorf("%+v, %t, %v", o, waits, err2)
				}
				list = append(list, o.Reader)
				return true, err
			})
		})
		if err != nil {
			t.Error(err)
		}
		return list
	}
	if got := look(); !slices.Equal(got, []bool{true, false}) {
		t.Error(got)
	}
	g.finish(g.next(true), 0, queuetest.Fits)
	if got := look(); !slices.Equal(got, []bool{false, false}) {
		t.Error(fmt.Sprint(got))
	}
}

// TestReadersDoChores: a run of readers carries out what needs no worker, as any run.
func TestReadersDoChores(t *testing.T) {
	g := newGap(t, queuetest.Mails(1, 1)...)
	g.do(queuetest.Start(""), queuetest.Propose(1), queuetest.Take)
	run := queue.Run{Policy: g.policy, Schema: g.schema, Readers: true, Max: 1, Now: func() time.Time { return g.now }}
	more := true
	for range 10 {
		err := queue.Update(g.store, func(tx *queue.Tx) (err error) {
			more, err = run.Chores(tx, g.now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	carried := slices.ContainsFunc(g.store.Log(), func(l audit.Line) bool { return l.Event == task.Carried })
	if more || !carried {
		t.Errorf("more %t, carried out %t", more, carried)
	}
}

// TestOnlyOne: a run of one start goes on to an outsider's ask if the others are for another
// kind of run.
func TestOnlyOne(t *testing.T) {
	g := newGap(t, theirs(1))
	g.policy.Extract.Require = append(g.policy.Extract.Require, terms.OwnerVerifiedEmail)
	g.read(0, queuetest.Fits)
	g.do(queuetest.Add(queuetest.Mail(2, terms.Allow)))
	if c := g.next(false); c == nil || c.Extract == nil {
		t.Errorf("a worker's run waits for a reader: %+v", c)
	}
	g = newGap(t, queuetest.Mail(1, terms.Allow))
	g.policy.Extract.Require = append(g.policy.Extract.Require, terms.OwnerVerifiedEmail)
	g.read(0, queuetest.Fits)
	g.do(queuetest.Add(theirs(2)))
	if c := g.next(true); c == nil {
		t.Error("a reader's run waits for a worker")
	}
}
