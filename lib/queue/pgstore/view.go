package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulse/lib/queue/journal"
	"pulse/lib/queue/seen"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// view is a transaction, and what it knows of the queue.
type view struct {
	*Store
	seq    int64     // of the last line
	head   string    // its hash
	last   time.Time // its time
	now    time.Time // by the server's clock, when the view began
	counts store.Counts
	noted  seen.Noted // before the transaction began
	known  map[string]*about

	foreseen map[string][]row // answers that came with the beginning
	opened   store.Entry      // the one that Open called its function for last
}

// about is what is kept under a key, except bytes: the task of that id, and its things.
type about struct {
	state  task.State // "": there is no such task
	line   []byte     // that moved the task last
	file   []byte     // if it is small and was asked for with others
	things map[store.Shelf]maker
}

// maker is the line that made a thing what it is.
type maker struct {
	line []byte
	rest []string // of an outbox
	who  string   // whose login wrote the line; "" if that was not a person's alone
}

// mostKnown bounds how many keys a view keeps.
const mostKnown = 4096

const (
	sqlFile  = "SELECT bytes FROM pulse.file WHERE id = $1"
	sqlBytes = "SELECT bytes FROM pulse.thing WHERE shelf = $1 AND key = $2"
)

// kept asks for what is kept under keys. Under "" that is what is asked for each time: the hold, the
// clock, and the last line.
func kept(keys []string) stmt {
	return say("SELECT * FROM pulse.kept($1, '{results,extracts,labels,drafts,approvals,partly,spent,grants,sessions,outbox,positions,pruned,names,refused,findings,hold,clock}')", keys)
}

// know takes what kept was answered.
func (v *view) know(keys []string, rows []row) {
	for _, key := range keys {
		v.known[key] = &about{things: map[store.Shelf]maker{}}
	}
	for _, r := range rows {
		a, who := v.known[string(r[0])], ""
		if yes(r[5]) || string(r[4]) == "pulse_owner" { // nobody vouches for what a machine's login said
			who = string(r[4])
		}
		if r[1] == nil {
			a.state, a.line = task.State(r[3]), r[2]
		} else {
			a.things[store.Shelf(r[1])] = maker{r[2], strings.Fields(string(r[3])), who}
		}
	}
}

// query runs statements of the view in one round trip, or in none if all were foreseen.
func (s *Store) query(list ...stmt) (all [][]row, err error) {
	for i := 0; s.in != nil && i < len(list); i++ {
		rows, there := s.in.foreseen[list[i].key()]
		if !there {
			break
		}
		if all = append(all, rows); len(all) == len(list) {
			return all, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.in == nil && (s.conn == nil || s.conn.IsClosed()) {
		s.drop()
		if err := s.connect(ctx); err != nil {
			return nil, err
		}
	}
	all, err = s.ask(ctx, list...)
	return all, s.fail(err)
}

// about returns what is kept under a key, and what else is asked for in the same round trip.
func (v *view) about(key string, also ...stmt) (*about, [][]row, error) {
	a := v.known[key]
	if a != nil && len(also) == 0 {
		return a, nil, nil
	}
	if a == nil {
		also = append(also, kept([]string{key}))
	}
	all, err := v.query(also...)
	if err != nil || a != nil {
		return a, all, err
	}
	if len(v.known) >= mostKnown {
		clear(v.known)
	}
	n := len(all) - 1
	v.know([]string{key}, all[n])
	return v.known[key], all[:n], nil
}

// sqlFiles leaves out large files: what is read ahead is kept.
const sqlFiles = "SELECT id, bytes FROM pulse.file WHERE id = ANY ($1) AND octet_length(bytes) < 16384"

// Look reads what is kept under some keys at once, which are about to be asked for, and, if
// they are wanted, files.
func (v *view) Look(keys []string, files bool) error {
	keys = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { // they were read together with others
		a := v.known[key]
		return a != nil && (a.file != nil || !files || v.reader)
	})
	if len(keys) == 0 {
		return nil
	}
	list := []stmt{kept(keys)}
	if files && !v.reader {
		list = append(list, say(sqlFiles, keys))
	}
	all, err := v.query(list...)
	if err != nil {
		return err
	}
	if len(v.known)+len(keys) > mostKnown {
		clear(v.known)
	}
	v.know(keys, all[0])
	for _, r := range slices.Concat(all[1:]...) {
		v.known[string(r[0])].file = r[1]
	}
	return nil
}

// Where returns the state of a task, "" if there is none.
func (v *view) Where(id string) (task.State, error) {
	if !task.ValidID(id) {
		return "", nil
	}
	if id == v.opened.ID {
		return v.opened.State, nil
	}
	a, _, err := v.about(id)
	if err != nil {
		return "", err
	}
	return a.state, nil
}

// Has reports whether there is a thing.
func (v *view) Has(s store.Shelf, key string) (bool, error) {
	if slices.Contains(task.States, task.State(s)) {
		st, err := v.Where(key)
		return store.On(st) == s, err
	}
	a, _, err := v.about(key)
	switch {
	case err != nil:
		return false, err
	case s == store.Meta:
		_, err := making(a.line, s, key)
		return err == nil, nil
	}
	_, there := a.things[s]
	return there, nil
}

// There says that all may be: an open task is the row that Open reads, and of the rest Look knows.
func (v *view) There(store.Shelf) (func(id string) bool, error) {
	return func(string) bool { return true }, nil
}

// Get reads a thing. Bytes that this login may not see are ErrCorrupt.
func (v *view) Get(s store.Shelf, key string) (item store.Item, err error) {
	if slices.Contains(task.States, task.State(s)) {
		return v.file(s, key)
	}
	a, _, err := v.about(key)
	if err != nil {
		return item, err
	}
	if s == store.Meta {
		c, err := making(a.line, s, key)
		return store.Item{Bytes: c.Bytes}, err
	}
	t, there := a.things[s]
	if !there {
		return item, unknown(key)
	}
	from := s
	if s == store.Spent { // put aside, and else as it was
		from = store.Approvals
	}
	c, err := making(t.line, from, key)
	if c.Answer && t.who != "" {
		item.Writer = holder(t.who)
	}
	if err != nil || c.Bytes != nil {
		item.Bytes = c.Bytes
		return item, err
	}
	item.Bytes, err = v.bytes(sqlBytes, string(s), key)
	if err == nil && s == store.Outbox {
		if item.Bytes = proposals(item.Bytes, c.Lines, t.rest); item.Bytes == nil {
			err = fmt.Errorf("%w: the outbox of %s", store.ErrCorrupt, key)
		}
	}
	return item, err
}

// file reads the file of a task in a state.
func (v *view) file(s store.Shelf, id string) (item store.Item, err error) {
	var also []stmt
	if known := v.known[id]; !v.reader && (known == nil || known.file == nil) {
		also = []stmt{say(sqlFile, id)}
	}
	a, all, err := v.about(id, also...)
	switch {
	case err != nil:
		return item, err
	case store.On(a.state) != s || a.state == "":
		return item, unknown(id)
	case v.reader:
		return item, v.unseen()
	case also == nil:
		return store.Item{Bytes: a.file}, nil
	case len(all[0]) == 0:
		return item, fmt.Errorf("%w: %s has no file", store.ErrCorrupt, id)
	}
	return store.Item{Bytes: all[0][0][0]}, nil
}

// bytes reads what was staged with a line.
func (v *view) bytes(sql string, args ...any) ([]byte, error) {
	if v.reader {
		return nil, v.unseen()
	}
	all, err := v.query(say(sql, args...))
	if err != nil {
		return nil, err
	}
	if len(all[0]) == 0 {
		return nil, fmt.Errorf("%w: its bytes are gone", store.ErrCorrupt)
	}
	return all[0][0][0], nil
}

// Staged returns bytes as they came with a line: the file of a task, on the shelf of any state,
// or what lies on a shelf; nil: there are none.
func (s *Store) Staged(shelf store.Shelf, key string) ([]byte, error) {
	q := say(sqlBytes, string(shelf), key)
	if slices.Contains(task.States, task.State(shelf)) {
		q = say(sqlFile, key)
	}
	all, err := s.query(q)
	if err != nil || len(all[0]) == 0 {
		return nil, err
	}
	return all[0][0][0], nil
}

func unknown(key string) error { return fmt.Errorf("%w: %s", store.ErrUnknown, key) }

func (v *view) unseen() error {
	return fmt.Errorf("%w: %s sees no content", store.ErrCorrupt, v.cfg.User)
}

// making returns what a line of the log makes of a thing. Without a line, or if that does not
// make the thing, the error is ErrUnknown.
func making(raw []byte, s store.Shelf, key string) (store.Change, error) {
	if raw == nil {
		return store.Change{}, unknown(key)
	}
	l, err := audit.Parse(raw)
	if err != nil {
		return store.Change{}, fmt.Errorf("%w: %w", journal.ErrBroken, err)
	}
	for _, c := range store.Changes(&l) {
		if c.Shelf == s && c.Key == key && !c.Gone() {
			return c, nil
		}
	}
	return store.Change{}, unknown(key)
}

// Clock returns what the server's clock said when the view began, zero if it leaves that to others,
// and the time of the last line.
func (v *view) Clock() (now, last time.Time, err error) { return v.now, v.last, nil }

// Counts returns what the queue counts.
func (v *view) Counts() store.Counts { return v.counts }
