package pgstore

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue/entry"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// Rows come in chunks. The first one is small where most readers soon have what they want.
const (
	firstChunk = 50
	chunk      = 1000
	allStarts  = int64(10000) // of a day, unless the limits are very high
)

// chunks calls fn for rows, of which the SQL gives those after a number, at most so many, and
// the number first, until fn returns false.
func (s *Store) chunks(first int64, sql string, args []any, fn func(row) (more bool, err error)) error {
	from := int64(0)
	for n := first; ; n = max(n, chunk) {
		all, err := s.query(say(sql, append([]any{from, n}, args...)...))
		if err != nil {
			return err
		}
		for _, r := range all[0] {
			from = num(r[0])
			if more, err := fn(r); err != nil || !more {
				return err
			}
		}
		if int64(len(all[0])) < n {
			return nil
		}
	}
}

const (
	sqlOpen = "SELECT n, entry FROM pulse.task WHERE entry IS NOT NULL AND n > $1 AND state = $3 ORDER BY n LIMIT $2"
	// The index begins with the state, so each state gives as many as are wanted of all.
	sqlAllOpen = `SELECT t.n, t.entry FROM unnest('{scheduled,awaiting_review,running}'::text[]) st,
		LATERAL (SELECT n, entry FROM pulse.task WHERE entry IS NOT NULL AND n > $1 AND state = st ORDER BY n LIMIT $2) t ORDER BY n LIMIT $2`
	// It may hold a hundred thousand that one sender sent, which the server passes over.
	sqlSift = `SELECT n, entry FROM pulse.task WHERE entry IS NOT NULL AND n > $1 AND state = $3
		AND substr(entry, 69, 37) <> ALL ($4) ORDER BY n LIMIT $2`
	sqlPending = `SELECT substr(entry, 88, 18), count(*) FROM pulse.task WHERE entry IS NOT NULL
		AND state IN ('scheduled', 'awaiting_review', 'running') AND substr(entry, 88, 18) = ANY ($1) GROUP BY 1`
	sqlClosed = `SELECT t.added, t.id, left(a.line, 48) FROM pulse.task t JOIN pulse.audit a ON a.seq = t.added
		WHERE t.entry IS NULL AND t.added > $1 AND t.state = $3 ORDER BY t.added LIMIT $2`
	sqlShelf = "SELECT t.key, left(a.line, 48) FROM pulse.thing t JOIN pulse.audit a USING (seq) WHERE t.shelf = $1 ORDER BY t.seq, t.key"
)

// Open calls fn for the open tasks of a state, or of all states for "", in the order in which
// they became open.
func (v *view) Open(st task.State, fn func(store.Entry) (more bool, err error)) error {
	sql, args := sqlAllOpen, []any(nil)
	if st != "" {
		if v.counts.Tasks[st] == 0 {
			return nil
		}
		sql, args = sqlOpen, []any{string(st)}
	}
	return v.chunks(firstChunk, sql, args, func(r row) (bool, error) {
		e, err := v.entry(r)
		if err != nil {
			return false, err
		}
		v.opened = e
		return fn(e)
	})
}

func (v *view) entry(r row) (store.Entry, error) {
	e, ok := entry.Parse(r[1])
	if !ok {
		return e, fmt.Errorf("%s: the entry of number %d can't be read: %.128q", v.name, num(r[0]), r[1])
	}
	return e, nil
}

// Sift implements store.View.
func (v *view) Sift(st task.State, fn func(store.Entry) (rest bool, err error)) error {
	if v.counts.Tasks[st] == 0 {
		return nil
	}
	var passed []string
	args := []any{string(st), passed}
	return v.chunks(firstChunk, sqlSift, args, func(r row) (bool, error) {
		e, err := v.entry(r)
		alike := string(entry.Alike(r[1]))
		if err != nil || slices.Contains(passed, alike) {
			return err == nil, err
		}
		rest, err := fn(e)
		if !rest {
			passed = append(passed, alike)
			args[1] = passed
		}
		return true, err
	})
}

// Pending implements store.View.
func (v *view) Pending(of map[store.Key]int) error {
	var from []string // class and sender
	for sender := range of {
		from = append(from, "m "+string(sender), "x "+string(sender))
	}
	all, err := v.query(say(sqlPending, from))
	if err != nil {
		return err
	}
	for _, r := range all[0] {
		of[store.Key(r[0][2:])] += int(num(r[1]))
	}
	return nil
}

// Each calls fn for the keys of a shelf, oldest first, until fn returns false.
func (v *view) Each(s store.Shelf, fn func(key string, made time.Time) (more bool, err error)) error {
	st := task.State(s)
	switch {
	case st.Open():
		return v.Open(st, func(e store.Entry) (bool, error) { return fn(e.ID, e.Since) })
	case slices.Contains(task.States, st):
		return v.chunks(firstChunk, sqlClosed, []any{string(st)}, func(r row) (bool, error) {
			return fn(string(r[1]), audit.TimeOf(r[2]))
		})
	case s == store.Meta:
		return fmt.Errorf("pgstore: nobody asks what is on %s", s)
	}
	all, err := v.query(say(sqlShelf, string(s)))
	if err != nil {
		return err
	}
	for _, r := range all[0] {
		if more, err := fn(string(r[0]), audit.TimeOf(r[1])); err != nil || !more {
			return err
		}
	}
	return nil
}

// starts are those that were read from this server. Only what is added later has to be read,
// unless a clock went back meanwhile, which changes those that it had not reached yet.
type starts struct {
	list  []store.Start
	seq   int64  // the last line's number
	clock []byte // the line that says how the clock jumped last
}

// further asks for the starts that are not read yet.
func (c *starts) further() stmt {
	return say("SELECT seq, at, entry FROM pulse.start WHERE seq > $1 ORDER BY seq LIMIT $2", c.seq, allStarts)
}

// Starts calls fn for the starts of the last store.Window, and perhaps older ones.
func (v *view) Starts(_ time.Time, fn func(store.Start)) error {
	c := &v.Store.starts
	v.claims = true
	always, _, err := v.about("")
	if err != nil {
		return err
	}
	if clock := always.things[store.Clocks].line; !bytes.Equal(clock, c.clock) {
		*c = starts{clock: clock}
	}
	for n := allStarts; n == allStarts; {
		all, err := v.query(c.further())
		if err != nil {
			return err
		}
		n = int64(len(all[0]))
		for _, r := range all[0] {
			e, ok := entry.Parse(r[2])
			if !ok {
				return fmt.Errorf("%s: the start of line %d can't be read: the limits can't be reckoned", v.name, num(r[0]))
			}
			c.seq = num(r[0])
			c.list = append(c.list, store.Start{Time: time.Unix(num(r[1]), 0).UTC(), Kind: e.Kind, External: e.External, Sender: e.Sender})
		}
	}
	for _, st := range c.list { // none is dropped: the clock may be right again the next time
		fn(st)
	}
	return nil
}

// List returns the tasks of some states as they were at one moment, the oldest of a state
// first. Open tasks are listed only if want accepts them.
func (s *Store) List(states []task.State, want func(*store.Entry) bool) (all []store.Listed, err error) {
	err = s.View(func(store.View) error {
		v := s.in
		all = nil
		for _, st := range states {
			l := store.Listed{State: st}
			var err error
			if st.Open() {
				err = v.Open(st, func(e store.Entry) (bool, error) {
					if want(&e) {
						l.IDs = append(l.IDs, store.IDOf(e.ID))
					}
					return true, nil
				})
			} else {
				const sql = "SELECT added, id FROM pulse.task WHERE entry IS NULL AND added > $1 AND state = $3 ORDER BY added LIMIT $2"
				err = v.chunks(chunk, sql, []any{string(st)}, func(r row) (bool, error) {
					l.IDs = append(l.IDs, store.IDOf(string(r[1])))
					return true, nil
				})
			}
			if err != nil {
				return err
			}
			all = append(all, l)
		}
		return nil
	})
	return all, err
}

// Match returns at most two ids that begin with prefix: those of open tasks or, if there is
// none, those of tasks that are closed or were pruned.
func (s *Store) Match(prefix string) (ids []string, err error) {
	if strings.Trim(prefix, "0123456789abcdef") != "" {
		return nil, nil
	}
	const begins = "SELECT id FROM pulse.task WHERE id LIKE $1 || '%' AND entry IS "
	all, err := s.query(
		say(begins+"NOT NULL ORDER BY id LIMIT 2", prefix),
		say("("+begins+"NULL LIMIT 2) UNION (SELECT key FROM pulse.thing WHERE shelf = 'pruned' AND key >= $1 AND key < $1 || 'g' LIMIT 2) ORDER BY 1 LIMIT 2", prefix))
	if err != nil {
		return nil, err
	}
	for _, found := range all {
		for _, r := range found {
			ids = append(ids, string(r[0]))
		}
		if len(ids) > 0 {
			break
		}
	}
	return ids, nil
}
