package pgstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue/pgtest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// world is a queue in which everything has happened, and a connection of a superuser who plays
// every login: what is tried is undone.
type world struct {
	tb     testing.TB
	c      *pgx.Conn
	now    time.Time
	tasks  map[string]*tasked
	fences map[string]int64
	yeses  map[string]*approval.Approval
	given  map[string]*approval.Grant
	opened map[string]*approval.Session
	failed error // of the first commit that failed within a transaction

	written []string // the lines of the last commit, as the server wrote them
}

// tasked is a task that a world has, or could have.
type tasked struct {
	id, digest, parent string
	kind               task.Kind
	action             terms.Action
	file               []byte
}

// step is a line, and what is staged with it.
type step struct {
	audit.Line
	fence int64       // 0: that of the task's run
	reap  bool        // the line takes no fence along
	shelf store.Shelf // where blob is staged; empty: nowhere
	blob  []byte
	also  []byte // staged as the result
	edit  func(raw string) string
}

// call is a commit of a login.
type call struct {
	who      string
	steps    []step
	unlisted int
	host     string
	args     [9]string // SQL in the place of an argument
	before   string    // SQL by the same login, in the same transaction
	super    string    // SQL by a superuser, before all else
	sql      string    // in the place of the commit
}

// doc is the file of a task.
func doc(id string, kind task.Kind, root string, target ...string) []byte {
	var list record.Object
	list.Strs("target", target)
	return fmt.Appendf(nil, `{"request":%s,"identity":{"root":%q},"task":{"id":%q,"kind":%q}}`+"\n", list.Bytes(), root, id, kind)
}

func idOf(name string) string { return audit.Bare(task.Digest([]byte(name)))[:32] }

// know makes a task that a world can have.
func (w *world) know(name string, kind task.Kind, action terms.Action, parent string, target ...string) *tasked {
	id := idOf(name)
	t := &tasked{id: id, kind: kind, action: action, file: doc(id, kind, idOf("a.done"), target...)}
	if parent != "" {
		t.parent = idOf(parent)
	}
	t.digest = task.Digest(t.file)
	w.tasks[name] = t
	return t
}

// of returns a line about a task.
func (w *world) of(name string, e task.Event, from, to task.State) step {
	t := w.tasks[name]
	s := step{Line: audit.Line{Time: w.now, Event: e, Task: t.id, From: from, To: to, Kind: t.kind, Action: t.action, Digest: t.digest}}
	if e == task.Added {
		s.Parent, s.shelf, s.blob = t.parent, store.On(to), t.file
	}
	return s
}

// note returns a line that moves nothing.
func (w *world) note(name string, e task.Event) step {
	l := audit.Line{Time: w.now, Event: e}
	if name != "" {
		l.Task = idOf(name)
	}
	return step{Line: l}
}

// yes returns an approval of a task, and what a person's line about it is.
func (w *world) yes(name string, e task.Event, from task.State, level approval.Level, target ...string) step {
	t, s := w.tasks[name], w.of(name, e, from, task.Scheduled)
	a := &approval.Approval{Task: t.id, Digest: t.digest, Action: t.action, Target: target, By: "ann", Level: level,
		Nonce: "nonce-" + name, Given: w.now, Expires: w.now.Add(time.Hour)}
	s.Approval, w.yeses[name] = a, a
	return s
}

// bought returns the lines by which a sender spends grants on an effect.
func (w *world) bought(name string, target []string, grants ...string) (list []step) {
	t, s := w.tasks[name], w.of(name, task.Approved, task.Awaiting, task.Scheduled)
	s.Approval = &approval.Approval{Task: t.id, Digest: t.digest, Action: t.action, Target: target, By: "grants",
		Level: approval.Terminal, Nonce: "sum", Given: w.now, Expires: w.now.Add(50 * time.Minute)}
	for _, g := range grants {
		one := w.note(name, audit.Consumed)
		one.Grant = w.given[g]
		list = append(list, one)
		s.Approval.Grants = append(s.Approval.Grants, *w.given[g])
	}
	return append(list, s)
}

// grant returns the line of a grant that is given.
func (w *world) grant(name, target, bound string, expires time.Duration) step {
	g := &approval.Grant{ID: name, Target: target, By: "ann", Level: approval.Terminal, Given: w.now, Expires: w.now.Add(expires)}
	if bound != "" {
		g.Task = idOf(bound)
	}
	s := w.note("", audit.Granted)
	s.Grant, w.given[name] = g, g
	return s
}

// session returns the line of a session, with some uses left.
func (w *world) session(e task.Event, name string, left int) step {
	s := w.note("", e)
	s.Session = &approval.Session{ID: name, Sender: "me@example.com", Max: 3, Left: left, By: "ann", Level: approval.User,
		Opened: w.now, Expires: w.now.Add(time.Hour)}
	if name == "s.over" || name == idOf("a.done") { // which soon are
		s.Session.Expires = w.now.Add(time.Second)
	}
	w.opened[name] = s.Session
	return s
}

// labelled returns the line of labels.
func (w *world) labelled(name string, labels ...label.Label) step {
	s := w.note(name, audit.Labelled)
	for _, l := range labels {
		s.Labels, _ = s.Labels.With(label.Use{Label: l, By: "x"})
	}
	return s
}

// things are the kinds of what has labels and is no task.
var things = []string{"path", "name", "link", "content", "root"}

// thing returns the line of where a thing comes from.
func (w *world) thing(kind string, labels ...label.Label) step {
	s := w.labelled("", labels...)
	s.Task = task.ThingID(kind, "/srv/agent/notes.md")
	for i := range s.Labels {
		s.Labels[i].By, s.Labels[i].Task = "made", idOf("a.done")+" "+idOf("a.pruned")
	}
	return s
}

// refused returns the line of a refused record that is kept.
func (w *world) refused(name string) step {
	s := w.note(name, task.Refused)
	s.shelf, s.blob = store.Refused, []byte("refused "+name)
	s.Digest, s.Size = task.Digest(s.blob), int64(len(s.blob))
	return s
}

// read returns the line of a position.
func (w *world) read(uid uint32) step {
	s := w.note("", audit.Read)
	s.Positions = []audit.Position{{Source: "imap", UIDValidity: 1, UID: uid, Received: w.now}}
	return s
}

// proposing lets a line end a run with proposals.
func proposing(s step, names ...string) step {
	s.shelf = store.Outbox
	for _, n := range names {
		l := []byte(`{"propose":"` + n + `"}`)
		s.Proposed = append(s.Proposed, audit.Proposed{ID: idOf(n), Digest: audit.Hash(l)})
		s.blob = append(append(s.blob, l...), '\n')
	}
	return s
}

// result lets a line bring bytes.
func result(s step, shelf store.Shelf) step {
	s.shelf, s.blob = shelf, []byte("printed by "+s.Task)
	s.Result = task.Digest(s.blob)
	return s
}

// code returns the SQLSTATE of an error.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

func (w *world) exec(sql string) error { return w.c.PgConn().Exec(context.Background(), sql).Close() }

// commit carries a call out, in the transaction that there is.
func (w *world) commit(c *call) error {
	if err := w.exec(c.super + "; SET SESSION AUTHORIZATION " + c.who + "; " + c.before); err != nil {
		return err
	}
	if c.sql != "" {
		if err := w.exec(c.sql); err != nil {
			return err
		}
		return w.exec("RESET SESSION AUTHORIZATION")
	}
	ctx := context.Background()
	var seq int64
	if err := w.c.QueryRow(ctx, "SELECT seq FROM pulse.lock()").Scan(&seq); err != nil {
		return err
	}
	if err := w.call(ctx, c, seq); err != nil {
		return err
	}
	if err := w.exec("RESET SESSION AUTHORIZATION"); err != nil {
		return err
	}
	return w.reread(c, seq)
}

// reread reads what a call has written. Who said yes, and until when, is what the server says.
func (w *world) reread(c *call, seq int64) error {
	rows, err := w.c.Query(context.Background(), "SELECT line FROM pulse.audit WHERE seq > $1 ORDER BY seq", seq)
	if err == nil {
		w.written, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	for i := range w.written {
		l, bad := audit.Parse([]byte(w.written[i]))
		if bad != nil {
			return bad
		}
		switch s := &c.steps[i]; {
		case s.Event == task.Started:
			w.fences[s.Task] = seq + int64(i) + 1
		case (s.Event == task.Approved || s.Event == audit.Partly) && s.Approval != nil && l.Approval != nil, s.Event == task.Requeued && l.Approval != nil:
			*s.Approval = *l.Approval
		case s.Event == audit.Granted && l.Grant != nil:
			*s.Grant = *l.Grant
		case s.Event == audit.SessionOpened && l.Session != nil:
			*s.Session = *l.Session
		}
	}
	return err
}

// arguments returns what commit is called with.
func (w *world) arguments(c *call, seen int64) []any {
	lines, fences := []string{}, []int64{}
	shelves, keys, blobs := []string{}, []string{}, [][]byte{}
	for i := range c.steps {
		s := c.steps[i]
		raw := string(s.Append(nil))
		if s.edit != nil {
			raw = s.edit(raw)
		}
		if s.From == task.Running && s.fence == 0 && !s.reap {
			s.fence = w.fences[s.Task]
		}
		lines, fences = append(lines, raw), append(fences, s.fence)
		if s.also != nil {
			shelves, keys, blobs = append(shelves, string(store.Results)), append(keys, s.Task), append(blobs, s.also)
		}
		if s.shelf != "" {
			shelves, keys, blobs = append(shelves, string(s.shelf)), append(keys, s.Task), append(blobs, s.blob)
		}
	}
	return []any{seen, lines, fences, c.unlisted, shelves, keys, blobs, c.host, 7}
}

// call calls commit.
func (w *world) call(ctx context.Context, c *call, seen int64) error {
	types := []string{"bigint", "text[]", "bigint[]", "int", "text[]", "text[]", "bytea[]", "text", "bigint"}
	var sql []string
	for i, t := range types {
		arg := fmt.Sprintf("$%d::%s", i+1, t)
		if c.args[i] != "" {
			arg = fmt.Sprintf("(SELECT a FROM (SELECT (%s)::%s AS a, %s) x)", strings.ReplaceAll(c.args[i], "$$", arg), t, arg)
		}
		sql = append(sql, arg)
	}
	_, err := w.c.Exec(ctx, "SELECT pulse.commit("+strings.Join(sql, ", ")+")", w.arguments(c, seen)...)
	return err
}

// lies makes the function pg_temp.lies, which tries a commit with each of several lines in the place
// of one. It returns what was written, NULL where that is refused, and undoes it.
const lies = `CREATE FUNCTION pg_temp.lies(at int, variants text[], seen bigint, lines text[], fences bigint[], unlisted int, shelves text[], keys text[], blobs bytea[], host text, mark bigint) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE got text; variant text; written text[] := '{}';
BEGIN
  FOREACH variant IN ARRAY variants LOOP
    BEGIN
      got := NULL; lines[at] := variant;
      PERFORM pulse.commit(seen, lines, fences, unlisted, shelves, keys, blobs, host, mark);
      SELECT line INTO got FROM pulse.audit WHERE seq = seen + at;
      RAISE EXCEPTION USING ERRCODE = 'PU999';
    EXCEPTION WHEN OTHERS THEN written := array_append(written, got);
    END;
  END LOOP;
  RETURN written;
END $$`

// lied returns what the log has if one line of a call, from 0 on, is each of several; nil where the
// server refuses that.
func (w *world) lied(c *call, at int, variants []string) (written []*string, err error) {
	if err = w.exec("SAVEPOINT lied; " + c.super + "; SET SESSION AUTHORIZATION " + c.who); err != nil {
		return nil, err
	}
	ctx := context.Background()
	var seq int64
	if err = w.c.QueryRow(ctx, "SELECT seq FROM pulse.lock()").Scan(&seq); err == nil {
		args := append([]any{at + 1, variants}, w.arguments(c, seq)...)
		err = w.c.QueryRow(ctx, "SELECT pg_temp.lies($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)", args...).Scan(&written)
	}
	return written, cmp.Or(err, w.exec("ROLLBACK TO lied"))
}

// do carries calls out for good: in a transaction each, unless there is one already.
func (w *world) do(calls ...call) {
	w.tb.Helper()
	for i := range calls {
		if err := w.done(&calls[i]); err != nil {
			w.tb.Fatalf("%s, %v: %v", calls[i].who, calls[i].steps, err)
		}
	}
}

func (w *world) done(c *call) error {
	if w.failed != nil || w.c.PgConn().TxStatus() != 'I' {
		if w.failed == nil {
			w.failed = w.commit(c)
		}
		return nil
	}
	if err := w.exec("BEGIN"); err != nil {
		return err
	}
	if err := w.commit(c); err != nil {
		return err
	}
	return w.exec("COMMIT")
}

// try carries calls out and undoes them. It returns the first error, and which call it was.
func (w *world) try(calls ...call) (n int, err error) {
	w.tb.Helper()
	if err := w.exec("SAVEPOINT try"); err != nil {
		w.tb.Fatal(err)
	}
	before := maps.Clone(w.fences)
	defer func() { w.fences = before }()
	for n = range calls {
		if err = w.commit(&calls[n]); err != nil {
			break
		}
	}
	if err := w.exec("ROLLBACK TO try"); err != nil {
		w.tb.Fatal(err)
	}
	return n, err
}

// by is a commit of a login.
func by(who string, steps ...step) call { return call{who: who, steps: steps, host: "here"} }

// play connects a superuser to a database.
func play(tb testing.TB, d *pgtest.DB) *world {
	tb.Helper()
	c, err := pgx.Connect(context.Background(), d.DSN(pgtest.Super))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close(context.Background()) })
	return &world{tb: tb, c: c, now: time.Now().UTC().Truncate(time.Second), tasks: map[string]*tasked{}, fences: map[string]int64{},
		yeses: map[string]*approval.Approval{}, given: map[string]*approval.Grant{}, opened: map[string]*approval.Session{}}
}
