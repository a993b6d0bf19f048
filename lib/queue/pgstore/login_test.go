package pgstore_test

import (
	"context"
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// TestGreeting: a login that could do anything, or nothing, is refused, and so is a server
// that may lose what it acknowledges.
func TestGreeting(t *testing.T) {
	d := pgtest.New(t)
	refused := func(name, want string) {
		t.Helper()
		_, err := pgstore.Open(context.Background(), name)
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(d.DSN(pgtest.Super), "history")
	refused(d.DSN("nobody1"), "permission denied")
	refused(strings.Replace(d.DSN("ann"), d.Name, "postgres", 1), "no queue")
	refused(strings.Replace(d.DSN("ann"), d.Name, "nowhere", 1), "no queue")
	d.Exec(t, "UPDATE pulse.queue SET format = 3")
	refused(d.DSN("ann"), "its schema is 3")
}

// TestReader: a reader sees what is there, no content, and changes nothing.
func TestReader(t *testing.T) {
	d := pgtest.New(t)
	if err := queuetest.Add(queuetest.Mails(1, 1)...).Do(open(t, d.DSN("gate1")), queuetest.Epoch); err != nil {
		t.Fatal(err)
	}
	s := open(t, d.DSN("reader1"))
	if err := queuetest.Nothing.Do(s, queuetest.Epoch); fault.KindOf(err) != fault.Usage {
		t.Errorf("%v", err)
	}
	err := s.View(func(v store.View) error {
		return v.Open(task.Scheduled, func(e store.Entry) (bool, error) {
			if st, err := v.Where(e.ID); st != task.Scheduled || err != nil {
				t.Errorf("%s, %v", st, err)
			}
			_, err := queue.Load(v, e.State, e.ID)
			if err == nil || !strings.Contains(err.Error(), "sees no content") {
				t.Errorf("%v", err)
			}
			return true, nil
		})
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHolder: the server says whose yes it is, also after it was spent and came back.
func TestHolder(t *testing.T) {
	d := pgtest.New(t)
	s, ann, both := open(t, d.DSN("machine1")), open(t, d.DSN("ann")), open(t, d.DSN("all1"))
	if ann.Level() != approval.User || s.Level() == approval.User || both.Level() == approval.User {
		t.Error(ann.Level(), s.Level(), both.Level())
	}
	must := func(s store.Store, op queuetest.Operation) {
		t.Helper()
		if err := op.Do(s, queuetest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	must(s, queuetest.Add(queuetest.Effect(1)))
	must(ann, queuetest.Approve)
	holds(t, s, "role ann")
	must(s, queuetest.Start(terms.ExternalSend))
	must(s, queuetest.Finish(queue.End{Exit: 75})) // nothing was sent
	holds(t, s, "role ann")
	for holder, want := range map[approval.Holder]bool{"role ann": true, "role all1": false, "role machine1": false, "role root": false, "role x": false, "uid 0": false, "": false} {
		if err := s.Vouch(holder); (err == nil) != want {
			t.Errorf("%s: %v", holder, err)
		}
	}
}

// holds compares who said yes to the first task.
func holds(t *testing.T, s store.Store, want approval.Holder) {
	t.Helper()
	err := s.View(func(v store.View) error {
		e, found, err := queuetest.First(v, task.Scheduled)
		if !found || err != nil {
			t.Fatal(found, err)
		}
		a, err := queue.ApprovalOf(v, e.Task.ID)
		if a == nil || a.Holder != want {
			t.Errorf("%+v", a)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestForgery: without a yes of a person alone nothing reaches the outside.
func TestForgery(t *testing.T) {
	d := pgtest.New(t)
	s, both := open(t, d.DSN("machine1")), open(t, d.DSN("all1"))
	for _, op := range []queuetest.Operation{queuetest.Add(queuetest.Effect(1)), queuetest.Approve} {
		if err := op.Do(both, queuetest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	holds(t, s, "") // whatever roles that login has when somebody asks
	before := logged(t, s)
	if err := queuetest.Start(terms.ExternalSend).Do(s, queuetest.Epoch); err == nil || fault.KindOf(err) != fault.Failed {
		t.Errorf("%v", err)
	}
	if after := logged(t, s); len(after) != len(before) {
		t.Errorf("%q", after[len(before):])
	}
}

// TestLost: a server that lacks a line which this account saw committed is found out.
func TestLost(t *testing.T) {
	d, home := pgtest.New(t), t.TempDir()+"/seen"
	lost := func(s store.Store) (lost string) {
		t.Helper()
		err := s.View(func(v store.View) (err error) {
			lost, err = v.Lost()
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return lost
	}
	s := open(t, d.DSN("machine1"))
	s.Remember(home)
	for range 3 {
		if err := queuetest.Brake(audit.Held).Do(s, queuetest.Epoch); err != nil {
			t.Fatal(err)
		}
		if got := lost(s); got != "" || s.Forgetful() != nil {
			t.Error(got, s.Forgetful())
		}
	}
	d.Exec(t, `DELETE FROM pulse.audit WHERE seq = 3;
		UPDATE pulse.queue SET seq = 2, head = (SELECT 'sha256:' || encode(sha256(convert_to(line, 'UTF8')), 'hex') FROM pulse.audit WHERE seq = 2)`)
	again := open(t, d.DSN("machine1"))
	again.Remember(home)
	for _, s := range []store.Store{s, again} {
		if got := lost(s); !strings.Contains(got, "number 3") {
			t.Errorf("%q", got)
		}
	}
}

// TestLostRead: an account that committed nothing has noted what it read, and a picture that
// was made before another command's commit lacks nothing.
func TestLostRead(t *testing.T) {
	d, home := pgtest.New(t), t.TempDir()+"/seen"
	writer, reader := open(t, d.DSN("gate1")), open(t, d.DSN("machine1"))
	reader.Remember(home)
	look := func(s *pgstore.Store, first func()) (lost string) {
		t.Helper()
		err := s.View(func(v store.View) (err error) {
			first()
			lost, err = v.Lost()
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return lost
	}
	hold := func() {
		if err := queuetest.Brake(audit.Held).Do(writer, queuetest.Epoch); err != nil {
			t.Error(err)
		}
	}
	hold()
	if got := look(reader, func() {}); got != "" {
		t.Error(got)
	}
	same := open(t, d.DSN("machine1")) // another command of that account
	same.Remember(home)
	got := look(reader, func() {
		hold()
		if got := look(same, func() {}); got != "" {
			t.Error(got)
		}
	})
	if got != "" {
		t.Errorf("a picture that is older than the note: %s", got)
	}
	d.Exec(t, `DELETE FROM pulse.audit WHERE seq = 2;
		UPDATE pulse.queue SET seq = 1, head = (SELECT 'sha256:' || encode(sha256(convert_to(line, 'UTF8')), 'hex') FROM pulse.audit WHERE seq = 1)`)
	if got := look(reader, func() {}); !strings.Contains(got, "number 2") {
		t.Errorf("%q", got)
	}
}

// TestNUL: what a stranger writes into a Message-ID gets into the log as it came.
func TestNUL(t *testing.T) {
	s := open(t, pgtest.New(t).DSN("gate1"))
	mail := strings.Replace(queuetest.Mail(1, terms.Allow), "<1@t>", `<\u0000\ufffd"\\u0000@t>`, 1)
	mail = strings.Replace(mail, `"\\u0000@`, `\\u0000@`, 1)
	if err := queuetest.Add(mail).Do(s, queuetest.Epoch); err != nil {
		t.Fatal(err)
	}
	if all := logged(t, s); len(all) != 1 || !strings.Contains(all[0], `\u0000`) {
		t.Errorf("%q", all)
	}
}
