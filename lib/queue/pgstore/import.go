package pgstore

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// Import fills a queue that has no line yet with the log of another one, in one transaction.
// staged returns what the other queue has under a key, and who may say yes there is not known
// here: the lines are the owner's. The login is one that could make the queue.
func Import(ctx context.Context, name string, lines func(fn func(raw []byte, l *audit.Line) error) error, staged func(store.Shelf, string) ([]byte, error)) error {
	s, err := owner(ctx, name)
	if err != nil {
		return err
	}
	defer s.conn.Close(ctx)
	all, err := s.ask(ctx, say("BEGIN"), say(becomeOwner), say("SET LOCAL ROLE pulse_owner"), say("SET LOCAL synchronous_commit = on"), say("SELECT format, seq FROM pulse.queue FOR UPDATE"))
	if err != nil {
		return s.fail(err)
	}
	if len(all[4]) == 1 {
		err = s.fits(num(all[4][0][0]))
	}
	if err != nil {
		return err
	}
	if len(all[4]) != 1 || num(all[4][0][1]) != 0 {
		return fault.Usagef("make another one: pulse-queue init", "%s: there are lines in it already", name)
	}
	in := &importer{ctx: ctx, s: s, fold: newFold()}
	err = lines(in.take)
	if err == nil {
		err = in.fill(staged)
	}
	if err == nil {
		err = s.conn.Exec(ctx, leaveSQL+"COMMIT; ANALYZE").Close()
	}
	return s.fail(err)
}

// importer sends rows, some at a time.
type importer struct {
	*fold
	ctx  context.Context
	s    *Store
	into string // the table and its columns
	rows bytes.Buffer
}

// take sends a line of the log.
func (in *importer) take(raw []byte, l *audit.Line) error {
	in.line(raw, l)
	return in.send("audit (seq, line, who)", text(in.Seq), string(raw), "pulse_owner")
}

// null is NULL in a column, which a text can't be.
const null = "\x00"

// escaped is what COPY reads as the same text.
var escaped = strings.NewReplacer(null, `\N`, "\\", "\\\\", "\t", "\\t", "\n", "\\n", "\r", "\\r")

// send adds a row. It sends what there is if that is much, or if it is for another table.
func (in *importer) send(into string, columns ...string) error {
	if into != in.into || in.rows.Len() > 4<<20 {
		if err := in.flush(); err != nil {
			return err
		}
		in.into = into
	}
	for i, c := range columns {
		if i > 0 {
			in.rows.WriteByte('\t')
		}
		in.rows.WriteString(escaped.Replace(c))
	}
	return in.rows.WriteByte('\n')
}

func (in *importer) flush() error {
	if in.rows.Len() == 0 {
		return nil
	}
	_, err := in.s.conn.CopyFrom(in.ctx, &in.rows, "COPY pulse."+in.into+" FROM STDIN")
	in.rows.Reset()
	return err
}

// fill sends what the log makes of all other tables.
func (in *importer) fill(staged func(store.Shelf, string) ([]byte, error)) error {
	if n := in.Counts.Tasks[task.Running]; n > 0 {
		return fault.Temporaryf("pulse-queue hold, and wait until nothing runs", "tasks are running: %d", n)
	}
	for _, t := range tables {
		columns := strings.Fields(t[2])
		into := fmt.Sprintf("%s (%s, %s)", t[0], t[1], strings.Join(columns, ", "))
		for _, key := range in.keys(t[0]) {
			row := in.row(t[0], key)
			for i, c := range row {
				var err error
				switch {
				case c == "":
					row[i] = null
				case columns[i] == "bytes":
					row[i], err = in.bytes(t[0], key, c, staged)
				}
				if err != nil {
					return err
				}
			}
			if err := in.send(into, append(strings.SplitN(key, "/", 1+strings.Count(t[1], ",")), row...)...); err != nil {
				return err
			}
		}
	}
	if err := in.flush(); err != nil {
		return err
	}
	return in.queue()
}

// bytes returns the bytes that belong to a row, as PostgreSQL writes them.
func (in *importer) bytes(table, key, digest string, staged func(store.Shelf, string) ([]byte, error)) (string, error) {
	shelf, name, _ := strings.Cut(key, "/")
	if table == "file" {
		shelf, name = string(store.On(in.Tasks[key].State)), key
	}
	b, err := staged(store.Shelf(shelf), name)
	if err == nil && digest != anything && task.Digest(b) != digest && shelf != string(task.Corrupt) {
		err = fmt.Errorf("%s %s: its bytes are not those that the log names: pulse-queue verify", table, key)
	}
	return `\x` + hex.EncodeToString(b), err
}

// queue fills the row of the queue.
func (in *importer) queue() error {
	c := &in.Counts
	var states, numbers []string
	for st, n := range c.Tasks {
		states, numbers = append(states, string(st)), append(numbers, fmt.Sprint(n))
	}
	_, err := in.s.ask(in.ctx, say(`UPDATE pulse.queue SET seq = $1, ours = $1, head = $2, held = EXISTS (SELECT FROM pulse.thing WHERE shelf = 'hold'), day = $3,
		refused = $4, limited = $5::text::bool, kept = $6, kept_bytes = $7, counts = coalesce((SELECT jsonb_object_agg(k, v::int) FROM unnest($8::text[], $9::text[]) x(k, v)), '{}')`,
		in.Seq, in.Head, c.Day, int64(c.Refused), fmt.Sprint(c.Limited), int64(c.Kept), c.KeptBytes, states, numbers))
	return err
}
