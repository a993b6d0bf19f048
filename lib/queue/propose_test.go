package queue_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/queue"
	"pulse/lib/queue/proposal"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// desk is a queue with a clock and a policy.
type desk struct {
	t     *testing.T
	store *recorder
	now   time.Time
	p     *policy.Policy
}

func newDesk(t *testing.T) *desk {
	p := policy.Default()
	p.Owners, p.Tools.Profile = []string{"me@example.com"}, "full"
	store := &recorder{Memory: queuetest.NewMemory()}
	t.Cleanup(func() { store.check(t) })
	return &desk{t, store, now, p}
}

func (d *desk) update(fn func(tx *queue.Tx) error) {
	d.t.Helper()
	d.now = d.now.Add(time.Second)
	if err := queue.Update(d.store, fn); err != nil {
		d.t.Fatal(err)
	}
}

// add takes a record, decided on with the desk's policy, and returns its task.
func (d *desk) add(line string) (id string, st task.State) {
	d.t.Helper()
	rec, err := record.Parse([]byte(line), queue.Members...)
	if err != nil {
		d.t.Fatal(err)
	}
	in := decision.Input{Policy: d.p}
	for name, read := range map[string]func(record.Value) error{
		identity.Member: func(v record.Value) error {
			id, err := identity.Decode(v)
			in.Identity = &id
			return err
		},
		request.Member: func(v record.Value) error {
			r, err := request.Decode(v)
			in.Request = &r
			return err
		},
	} {
		if !rec.Has(name) {
			continue
		}
		if err := rec.Decode(name, read); err != nil {
			d.t.Fatal(err)
		}
	}
	made := decision.Decide(in)
	b := queue.NewBatch(d.store, false, 1000, func() time.Time { return d.now })
	if err := b.Put(withDecision(d.t, rec, &made)); err != nil {
		d.t.Fatal(err)
	}
	d.now = d.now.Add(time.Second)
	err = b.Commit(func(receipt []byte) error {
		rec, err := record.Parse(receipt, task.Member)
		if err != nil {
			return err
		}
		return rec.Decode(task.Member, func(v record.Value) error {
			return v.Each(func(name string, v record.Value) error {
				switch name {
				case "id":
					return v.Into(&id)
				case "state":
					return v.Into((*string)(&st))
				}
				return nil
			})
		})
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return id, st
}

func withDecision(t *testing.T, rec *record.Record, made *decision.Decision) *record.Record {
	t.Helper()
	decided, err := record.Parse(rec.AppendReplaced(nil, decision.Member, made.Append(nil)), queue.Members...)
	if err != nil {
		t.Fatal(err)
	}
	return decided
}

const ask = `{"message":{"source":"s","id":"<%d@t>","digest":"sha256:1"},"identity":{"sender":"me@example.com","trust":"owner_verified_email","verified":true,"reason":"authenticated_owner","stale":false,"automatic":false,"why":""}}`

// work starts the next task of a kind, prints what is given, and returns the line
// of its end and what was discarded.
func (d *desk) work(effect terms.Action, out ...string) (audit.Line, proposal.Discarded) {
	d.t.Helper()
	_, end, discarded := d.once(effect, false, out...)
	return end, discarded
}

// once is work; the client of the task may have kept its session.
func (d *desk) once(effect terms.Action, kept bool, out ...string) (claim *queue.Claim, end audit.Line, discarded proposal.Discarded) {
	d.t.Helper()
	run := queue.Run{Policy: d.p, Effect: effect, Max: 1, Now: func() time.Time { return d.now }}
	d.update(func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	if claim == nil {
		d.t.Fatal("nothing to start")
	}
	list, discarded := proposal.Read([]byte(strings.Join(out, "\n")), false, nil)
	d.update(func(tx *queue.Tx) (err error) {
		end, err = queue.Finish(tx, claim, queue.End{Kept: kept, Proposals: &queue.Proposals{List: list, Discarded: discarded}}, &d.p.Limits, d.now)
		return err
	})
	return claim, end, discarded
}

// outbox returns the lines of all outboxes.
func (d *desk) outbox() (lines []string) {
	d.t.Helper()
	err := queuetest.Proposed(d.store, func(line string) { lines = append(lines, strings.TrimSuffix(line, "\n")) })
	if err != nil {
		d.t.Fatal(err)
	}
	return lines
}

// take adds all that was proposed, and returns the states it got.
func (d *desk) take() (ids []string, states []task.State) {
	d.t.Helper()
	for _, line := range d.outbox() {
		id, st := d.add(line)
		ids, states = append(ids, id), append(states, st)
	}
	return ids, states
}

func (d *desk) chores() {
	d.t.Helper()
	for more := true; more; {
		d.update(func(tx *queue.Tx) (err error) {
			run := queue.Run{Policy: d.p, Max: 1, Now: func() time.Time { return d.now }}
			more, err = run.Chores(tx, d.now)
			return err
		})
	}
}

func (d *desk) find(id string) (s queue.Stored) {
	d.t.Helper()
	err := d.store.View(func(v store.View) (err error) {
		s, err = queue.Find(v, id)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// TestTrustIsInherited: an effect is asked for by whom its root is, at most.
func TestTrustIsInherited(t *testing.T) {
	d := newDesk(t)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.work("", `{"action":"read_public","args":{"n":1}}`)
	first, _ := d.take()
	d.work(terms.ReadPublic, `{"action":"external_send","target":"bob@x.example"}`)
	second, states := d.take()
	if len(first) != 1 || len(second) != 2 || states[0] != task.Awaiting || states[1] != task.Scheduled {
		t.Fatalf("%v, %v, %v", first, second, states)
	}
	s := d.find(second[0])
	who := s.Identity
	if who.Sender != "me@example.com" || who.Trust != terms.OwnerVerifiedEmail || who.Root != root || who.Parent != first[0] || who.Depth != 2 {
		t.Errorf("%+v", who)
	}
}

// TestBudget: however a root's effects propose on, there are never more than
// MaxBudget of them, drafts aside.
func TestBudget(t *testing.T) {
	d := newDesk(t)
	d.p.Limits.MaxPerDay = 1 << 20
	d.add(fmt.Sprintf(ask, 1))
	propose := func(depth, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf(`{"action":"read_public","args":{"n":%d,"depth":%d,"now":%q}}`, i, depth, d.now))
		}
		return out
	}
	d.work("", propose(1, 9)...)
	total := 0
	for depth := 2; ; depth++ {
		ids, _ := d.take()
		total += len(ids)
		if len(ids) == 0 {
			break
		}
		for range ids {
			end, discarded := d.work(terms.ReadPublic, propose(depth, 40)...)
			if len(end.Proposed)+discarded[proposal.OverBudget]+discarded[proposal.TooDeep] != 40 {
				t.Errorf("depth %d: %d taken, %v", depth, len(end.Proposed), discarded)
			}
		}
	}
	if total > queue.MaxBudget || total < queue.MaxBudget*9/10 {
		t.Errorf("%d effects, the budget is %d", total, queue.MaxBudget)
	}
}

// TestEvidence: it names the message it all began with, or nothing.
func TestEvidence(t *testing.T) {
	for evidence, want := range map[string]int{
		`"<1@t>"`: 0, `"sha256:1"`: 0, `["<1@t>","sha256:1"]`: 0, `[]`: 0,
		`"<2@t>"`: 1, `["<1@t>","<2@t>"]`: 1, `""`: 1, `"sha256:"`: 1,
	} {
		d := newDesk(t)
		d.add(fmt.Sprintf(ask, 1))
		if _, discarded := d.work("", `{"action":"read_public","evidence":`+evidence+`}`); discarded[proposal.EvidenceUnknown] != want {
			t.Errorf("%s: %v", evidence, discarded)
		}
	}
}

// TestEqualProposals: equal ones of one worker are several, those of a later worker
// of the same root are the ones that are there: a refusal sticks.
func TestEqualProposals(t *testing.T) {
	d := newDesk(t)
	d.add(fmt.Sprintf(ask, 1))
	send := `{"action":"external_send","target":"bob@x.example"}`
	d.work("", send, send, `{"action":"read_public"}`)
	ids, states := d.take()
	if len(ids) != 5 || ids[0] == ids[2] || states[0] != task.Awaiting {
		t.Fatalf("%v, %v", ids, states)
	}
	shown := d.find(ids[0])
	d.update(func(tx *queue.Tx) error { return queue.Deny(tx, &shown, "me", "terminal", "no", d.now) })
	d.chores()
	d.work(terms.ReadPublic, `{"target":["bob@x.example"], "action":"external_send"}`)
	again, states := d.take()
	if len(again) != 2 || again[0] != ids[0] || states[0] != task.Rejected {
		t.Errorf("%v, %v", again, states)
	}
	if left := d.outbox(); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// TestCloseAndNote: an effect ends what came out of the same root and has not begun,
// and nothing else; a person can have it done all the same.
func TestCloseAndNote(t *testing.T) {
	d := newDesk(t)
	root, _ := d.add(fmt.Sprintf(ask, 1))
	d.work("", `{"action":"external_send","target":"bob@x.example"}`, `{"action":"read_public"}`)
	ids, _ := d.take()
	d.chores()
	other, _ := d.add(fmt.Sprintf(ask, 2))
	do := func(tool, id string) string {
		return fmt.Sprintf(`{"action":"write_local","tool":%q,"args":{"task":%q,"text":"x"},"evidence":"<1@t>"}`, tool, id)
	}
	_, discarded := d.work(terms.ReadPublic,
		do("task.close", ids[0]), do("task.note", root), do("task.close", root), do("task.close", other), do("task.note", other), do("task.close", ""))
	if discarded[proposal.NotLegal] != 1 || discarded[proposal.NotItsTask] != 3 {
		t.Errorf("%v", discarded)
	}
	effects, states := d.take()
	if len(effects) != 2 || states[0] != task.Scheduled || states[1] != task.Scheduled {
		t.Fatalf("%v", states)
	}
	d.chores()
	closed := d.find(ids[0])
	if closed.Task.State != task.Rejected || closed.Task.Reason != "closed_by_agent" || queue.Requeueable(&closed) != nil {
		t.Errorf("%+v", closed.Task)
	}
	for _, id := range effects {
		if s := d.find(id); s.Task.State != task.Completed {
			t.Errorf("%+v", s.Task)
		}
	}
	if s := d.find(other); s.Task.State != task.Scheduled {
		t.Errorf("%+v", s.Task)
	}
}

// TestManyCloses: beyond max_closes_per_run a person looks at all of them.
func TestManyCloses(t *testing.T) {
	for n, want := range map[int]task.State{2: task.Scheduled, 3: task.Awaiting} {
		d := newDesk(t)
		d.p.Limits.MaxClosesPerRun = 2
		d.add(fmt.Sprintf(ask, 1))
		out := []string{`{"action":"read_public"}`}
		for i := range 3 {
			out = append(out, fmt.Sprintf(`{"action":"external_send","target":"bob%d@x.example"}`, i))
		}
		d.work("", out...)
		ids, _ := d.take()
		d.chores()
		var closes []string
		for _, id := range []string{ids[1], ids[3], ids[5]}[:n] {
			closes = append(closes, fmt.Sprintf(`{"action":"write_local","tool":"task.close","args":{"task":%q}}`, id))
		}
		d.work(terms.ReadPublic, closes...)
		_, states := d.take()
		for _, st := range states {
			if st != want {
				t.Errorf("%d closes: %v", n, states)
			}
		}
	}
}

// TestInterval: two messages to one target are min_reply_interval apart, in whatever
// case it is written; one that did not happen counts for nothing.
func TestInterval(t *testing.T) {
	d := newDesk(t)
	d.add(fmt.Sprintf(ask, 1))
	d.work("", `{"action":"external_send","target":"bob@x.example"}`, `{"action":"external_send","target":["eve@x.example","BOB@x.example"]}`)
	ids, _ := d.take()
	for _, id := range []string{ids[0], ids[2]} {
		shown := d.find(id)
		d.update(func(tx *queue.Tx) error {
			return queue.Approve(tx, &shown, queue.Yes(&shown, "me", "terminal", d.now), d.now)
		})
	}
	next := func() (claim *queue.Claim) {
		t.Helper()
		run := queue.Run{Policy: d.p, Effect: terms.ExternalSend, Max: 9, Now: func() time.Time { return d.now }}
		d.update(func(tx *queue.Tx) (err error) {
			claim, _, err = run.Next(tx, func(string) error { return nil })
			return err
		})
		return claim
	}
	end := func(c *queue.Claim, exit int) {
		t.Helper()
		d.update(func(tx *queue.Tx) error {
			_, err := queue.Finish(tx, c, queue.End{Exit: exit}, &d.p.Limits, d.now)
			return err
		})
	}
	first := next()
	if first == nil || first.Task.ID != ids[0] {
		t.Fatal("the first was not started")
	}
	if c := next(); c != nil {
		t.Errorf("%s was started at once", c.Task.ID)
	}
	end(first, 75) // nothing happened
	second := next()
	if second == nil || second.Task.ID != ids[2] {
		t.Fatal("what did not happen keeps another one back")
	}
	end(second, 0)
	d.now = d.now.Add(5 * time.Minute)
	if c := next(); c != nil {
		t.Errorf("%s was started after 5 minutes", c.Task.ID)
	}
	d.now = d.now.Add(5 * time.Minute)
	if c := next(); c == nil || c.Task.ID != ids[0] {
		t.Error("it does not start after 10 minutes")
	}
}

// TestOwnToolsStartNoWorker: a run of that action carries them out itself.
func TestOwnToolsStartNoWorker(t *testing.T) {
	d := newDesk(t)
	d.add(fmt.Sprintf(ask, 1))
	d.work("", `{"action":"external_send","target":"bob@x.example"}`)
	ids, _ := d.take()
	run := queue.Run{Policy: d.p, Effect: terms.WriteLocal, Max: 9, Now: func() time.Time { return d.now }}
	d.update(func(tx *queue.Tx) error {
		claim, _, err := run.Next(tx, func(string) error { return nil })
		if claim != nil {
			t.Errorf("a worker is started for %s", claim.Line())
		}
		return err
	})
	if s := d.find(ids[1]); s.Task.State != task.Completed {
		t.Errorf("%+v", s.Task)
	}
}

// TestFilesTravel: what a worker's file held when it ended is what the effect has.
func TestFilesTravel(t *testing.T) {
	d := newDesk(t)
	d.add(fmt.Sprintf(ask, 1))
	run := queue.Run{Policy: d.p, Max: 1, Now: func() time.Time { return d.now }}
	var claim *queue.Claim
	d.update(func(tx *queue.Tx) (err error) {
		claim, _, err = run.Next(tx, func(string) error { return nil })
		return err
	})
	p := proposal.Proposal{Action: terms.ExternalSend, Target: []string{"bob@x.example"}, Files: []request.File{{Name: "r.txt", Data: []byte("v1")}}}
	d.update(func(tx *queue.Tx) error {
		_, err := queue.Finish(tx, claim, queue.End{Proposals: &queue.Proposals{List: []proposal.Proposal{p}, Discarded: proposal.Discarded{}}}, &d.p.Limits, d.now)
		return err
	})
	ids, _ := d.take()
	if s := d.find(ids[0]); len(s.Request.Files) != 1 || string(s.Request.Files[0].Data) != "v1" {
		t.Errorf("%+v", s.Request)
	}
}
