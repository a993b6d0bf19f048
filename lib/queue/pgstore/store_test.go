package pgstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/pgstore"
	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(tb testing.TB, name string) *pgstore.Store {
	tb.Helper()
	s, err := pgstore.Open(context.Background(), name)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// cast plays the parts of a life: a machine does what commands do from cron, a person
// answers, and what is both at once in the life has a login that is both.
type cast struct {
	store.Store // the machine
	ann, both   store.Store
}

func castOf(tb testing.TB, d *pgtest.DB) *cast { return castBy(tb, d, "") }

// castBy is castOf by way of a pooler.
func castBy(tb testing.TB, d *pgtest.DB, pool string) *cast {
	return &cast{open(tb, d.DSN("machine1")+pool), open(tb, d.DSN("ann")+pool), open(tb, d.DSN("all1")+pool)}
}

// played returns a life whose operations are done by whom they belong to, on a cast.
func played(life []queuetest.Operation) (list []queuetest.Operation) {
	for _, op := range life {
		list = append(list, queuetest.Operation{Name: op.Name, Do: func(s store.Store, now time.Time) error {
			login := "machine1"
			switch name, _, _ := strings.Cut(op.Name, " "); name {
			case "approve", "agree", "correct", "deny", "revise", "requeue", "grant", "session", "end", "released", "held", "confirm":
				login = "ann"
			case "cancel":
				login = "all1"
			}
			if op.Name == "add 1" { // a session ends early by the server's clock
				login = "all1"
			}
			if c, ok := s.(*cast); ok {
				return op.Do(map[string]store.Store{"machine1": c.Store, "ann": c.ann, "all1": c.both}[login], now)
			}
			return op.Do(&stamped{s, login}, now)
		}})
	}
	return list
}

// stamped is another store, whose lines are as the server would make them of a login.
type stamped struct {
	store.Store
	login string
}

func (s *stamped) Update(fn func(store.View) (*store.Commit, error)) error {
	return s.Store.Update(func(v store.View) (*store.Commit, error) {
		c, err := fn(v)
		for i := 0; err == nil && i < len(c.Lines); i++ {
			s.stamp(&c.Lines[i])
		}
		return c, err
	})
}

// stamp writes who a line is by, and what is proven of them.
func (s *stamped) stamp(l *audit.Line) {
	level := approval.Terminal
	if s.login == "ann" {
		level = approval.User
	}
	switch a := l.Approval; {
	case a != nil && len(a.Grants) > 0 && l.Event == task.Approved:
		level = a.Level // of the grants, which were stamped
	case a != nil && (l.Event == task.Approved || l.Event == task.Requeued || l.Event == audit.Partly):
		b := *a
		b.By, b.Level, l.Approval = s.login, level, &b
	case l.Event == audit.Granted:
		g := *l.Grant
		g.By, g.Level, l.Grant = s.login, level, &g
	case l.Event == audit.SessionOpened:
		o := *l.Session
		o.By, o.Level, l.Session = s.login, level, &o
	}
	if l.Event != task.Closed {
		l.By = s.login
	}
	if l.Level != "" {
		l.Level = level
	}
}

// TestSame: a life with everything in it goes as it goes in memory.
func TestSame(t *testing.T) {
	if err := queuetest.Same(castOf(t, pgtest.New(t)), played(queuetest.Life)); err != nil {
		t.Error(err)
	}
}

func TestStorm(t *testing.T) {
	d := pgtest.New(t)
	o := func() (store.Store, error) { return pgstore.Open(context.Background(), d.DSN("machine1")) }
	if err := queuetest.Storm(o, 4, 10); err != nil {
		t.Error(err)
	}
}

// TestFair: senders take turns as in memory.
func TestFair(t *testing.T) {
	if err := queuetest.Burst(open(t, pgtest.New(t).DSN("machine1")), today); err != nil {
		t.Error(err)
	}
	if err := queuetest.Turns(open(t, pgtest.New(t).DSN("machine1")), 3, today); err != nil {
		t.Error(err)
	}
}

// TestPooled: all goes the same behind a server that lends its connections for a transaction.
func TestPooled(t *testing.T) {
	d, other := pgtest.New(t), pgtest.New(t)
	pool := d.Pooled(t)
	if err := queuetest.Same(castBy(t, d, pool), played(queuetest.Life)); err != nil {
		t.Error(err)
	}
	if list, _ := findings(t, d); len(list) > 0 {
		t.Error(list)
	}
	o := func() (store.Store, error) { return pgstore.Open(context.Background(), other.DSN("machine1")+pool) }
	if err := queuetest.Storm(o, 4, 10); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"postgres://ann:secret@localhost/q":       "without a password",
		"postgres://localhost/q?password=secret":  "not in",
		"postgres://db.example.com/q":             "would not be verified",
		"postgres://localhost,db.example.com/q":   "would not be verified",
		"mysql://localhost/q":                     "postgres URL",
		"postgres://ann@localhost:5433/q":         "",
		"postgresql://ann@localhost/q":            "",
		"postgres://ann@/q?host=/run/postgresql":  "",
		"postgres://ann@127.0.0.1,[::1]/q":        "",
		"postgres://ann@localhost/q?sslmode=none": "not in",
	} {
		_, err := pgstore.Parse(name)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Usage):
			t.Errorf("%s: %v", name, err)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterrupt: what waits for the lock ends when it is told to.
func TestInterrupt(t *testing.T) {
	d := pgtest.New(t)
	a, b := open(t, d.DSN("machine1")), open(t, d.DSN("machine2"))
	done := make(chan struct{})
	b.Interrupt(done)
	err := a.Update(func(store.View) (*store.Commit, error) {
		close(done)
		err := queuetest.Nothing.Do(b, queuetest.Epoch)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		return &store.Commit{}, nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := queuetest.Nothing.Do(b, queuetest.Epoch); err != nil {
		t.Errorf("nobody has the lock: %v", err)
	}
}

// TestOpenInOrder: the open tasks of all states come in the order in which they became open,
// over the chunks in which they are read; and no more is read than is asked for, so that what a
// command keeps in memory does not grow with the queue.
func TestOpenInOrder(t *testing.T) {
	f, d := fleetOf(t), pgtest.New(t)
	m := f.member(d.DSN("machine1"), nil)
	var want, have []string
	for range 4 {
		b := queue.NewBatch(m, false, 1<<20, time.Now)
		for range 300 {
			n := int(f.uid.Add(1))
			line := queuetest.Mail(n, terms.Allow)
			if n%3 == 0 {
				line = queuetest.Effect(n) // which waits
			}
			rec, err := record.Parse([]byte(line), queue.Members...)
			if err != nil || b.Put(rec) != nil {
				t.Fatal(err)
			}
		}
		err := b.Commit(func(receipt []byte) error {
			want = append(want, string(receiptID.FindSubmatch(receipt)[1]))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, hold, err := m.claim(queue.Run{Policy: f.policy, Max: 1, Now: time.Now})
	if err != nil || hold == nil {
		t.Fatalf("nothing starts: %v", err)
	}
	defer hold.Drop()
	states := map[task.State]int{}
	err = m.View(func(v store.View) error {
		return v.Open("", func(e store.Entry) (bool, error) {
			states[e.State]++
			have = append(have, e.ID)
			return true, nil
		})
	})
	if err != nil || !slices.Equal(have, want) || len(states) != 3 {
		t.Errorf("%v: %d tasks in %v, want %d in order", err, len(have), states, len(want))
	}
	p := proxyTo(t, d)
	s := open(t, p.dsn(d, "machine2"))
	p.arm(-1, false)
	err = s.View(func(v store.View) error {
		return v.Open("", func(store.Entry) (bool, error) { return false, nil })
	})
	rows := strings.Count(strings.Join(p.arm(-1, false), ""), "<D")
	if err != nil || rows == 0 || rows > 100 {
		t.Errorf("%v: %d rows are read for one task", err, rows)
	}
}
