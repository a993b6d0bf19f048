package identity_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/replay"
	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestReplay takes every message of the fixtures and of the receivers' corpora through
// all stages into a queue, and then what the queue prints of it through all stages again:
// identity and decision are the same, byte for byte.
func TestReplay(t *testing.T) {
	n := map[terms.Outcome]int{}
	for _, path := range fixtures(t) {
		base := strings.TrimSuffix(path, ".eml")
		m := fixtureMessage(t, path)
		m.DKIM = fixtureDKIM(t, base)
		n[replayed(t, base, m, fixturePolicy(t, base))]++
	}
	for _, c := range corpora(t) {
		for _, sh := range append(c.genuine, c.unproven...) {
			for _, p := range []*policy.Policy{c.policy, c.either} {
				m := message.Parse(message.Raw{Header: raw(sh.fields)}, message.Options{Scope: envelope.Headers})
				m.Source = "imaps://agent@imap.example.net/INBOX"
				m.Fetched = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
				m.Received = m.Fetched.Add(-time.Minute)
				m.DKIM = sh.dkim
				n[replayed(t, c.name+"/"+sh.name, &m, p)]++
			}
		}
	}
	if n[terms.Allow] < 100 || n[terms.Review] < 10 || n[terms.Reject] < 100 {
		t.Errorf("too few: %v", n)
	}
}

// replayed takes one message through all stages, twice.
func replayed(t *testing.T, name string, m *envelope.Message, p *policy.Policy) terms.Outcome {
	t.Helper()
	fetched := append(m.Append([]byte(`{"`+envelope.Member+`":`)), '}')
	first, who, what := stages(t, name, fetched, p)
	if who.Reason == identity.EvidenceMissing {
		return "" // pulse-classify stops there
	}
	for i, printed := range kept(t, name, first) {
		again, _, _ := stages(t, name, printed, p)
		if got, want := member(t, again, identity.Member), member(t, first, identity.Member); got != want {
			t.Errorf("%s, %d: identity was\n%s\nand is\n%s", name, i, want, got)
		}
		if got, want := member(t, again, decision.Member), member(t, first, decision.Member); got != want {
			t.Errorf("%s, %d: decision was\n%s\nand is\n%s", name, i, want, got)
		}
	}
	return what.Outcome
}

// stages returns what pulse-classify and pulse-authorize make of a line, and checks that
// package replay says the same.
func stages(t *testing.T, name string, line []byte, p *policy.Policy) ([]byte, identity.Identity, decision.Decision) {
	t.Helper()
	rec := parse(t, line)
	origin, err := identity.ReadOrigin(rec)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	id := origin.Classify(p)
	in := decision.Input{Identity: &id, Policy: p}
	if origin.Message != nil {
		in.Source, in.Recipients = origin.Message.Source, identity.Recipients(origin.Message)
	}
	d := decision.Decide(in)
	c, err := replay.Read(rec)
	if a := c.Decide(p, nil); err != nil || !reflect.DeepEqual(a.Identity, id) || !reflect.DeepEqual(a.Decision.Decision, d) {
		t.Fatalf("%s: replay says %+v, %v", name, a, err)
	}
	line = rec.AppendReplaced(nil, identity.Member, id.Append(nil))
	return parse(t, line).AppendReplaced(nil, decision.Member, d.Append(nil)), id, d
}

// kept returns the receipt of a record, and what list --json prints of it if it has a file.
func kept(t *testing.T, name string, line []byte) (printed [][]byte) {
	t.Helper()
	memory := queuetest.NewMemory()
	b := queue.NewBatch(memory, false, 10, time.Now)
	err := b.Put(parse(t, line))
	if err == nil {
		err = b.Commit(func(receipt []byte) error {
			printed = append(printed, append([]byte(nil), receipt...))
			return nil
		})
	}
	if err != nil || len(printed) != 1 {
		t.Fatalf("%s: %d receipts, %v", name, len(printed), err)
	}
	id, err := task.Named(parse(t, printed[0]))
	if err != nil {
		t.Fatal(err)
	}
	err = memory.View(func(v store.View) error {
		st, err := v.Where(id)
		if err != nil || st == "" {
			return err
		}
		s, err := queue.Load(v, st, id)
		printed = append(printed, s.Line())
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return printed
}

func parse(t *testing.T, line []byte) *record.Record {
	t.Helper()
	rec, err := record.Parse(line, queue.Members...)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func member(t *testing.T, line []byte, name string) string {
	t.Helper()
	v, err := parse(t, line).Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(v)
}
