package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// Import fills a queue that has no line yet with the log of another one, in one transaction.
// bytes returns what the other queue has under a key, and who may say yes there is not known
// here: the lines are the owner's. The login is one that could make the queue.
func Import(ctx context.Context, name string, lines func(fn func(raw []byte, l *audit.Line) error) error, bytes func(queue.Shelf, string) ([]byte, error)) error {
	cfg, err := parse(name)
	if err != nil {
		return err
	}
	s := &Store{name: name, cfg: cfg}
	if s.conn, err = pgconn.ConnectConfig(ctx, cfg); err != nil {
		return s.fail(err)
	}
	defer s.conn.Close(ctx)
	all, err := s.ask(ctx, say("BEGIN"), say("SET LOCAL ROLE pulse_owner"), say("SET LOCAL synchronous_commit = on"), say("SELECT seq FROM pulse.queue FOR UPDATE"))
	if err != nil {
		return s.fail(err)
	}
	if len(all[3]) != 1 || num(all[3][0][0]) != 0 {
		return fault.Usagef("make another one: pulse-queue init", "%s: there are lines in it already", name)
	}
	in := &importer{ctx: ctx, s: s, fold: newFold()}
	err = lines(in.take)
	if err == nil {
		err = in.fill(bytes)
	}
	if err == nil {
		_, err = s.ask(ctx, say("COMMIT"), say("ANALYZE"))
	}
	return s.fail(err)
}

// importer sends rows, some at a time.
type importer struct {
	*fold
	ctx context.Context
	s   *Store

	insert string
	seqs   [3][]int64
	texts  [6][]string
	bytes  [][]byte
	size   int
}

// take sends a line of the log.
func (in *importer) take(raw []byte, l *audit.Line) error {
	in.line(raw, l)
	return in.send("INSERT INTO pulse.audit SELECT a, p, 'pulse_owner' FROM "+arrays, []int64{in.seq}, []string{string(raw)}, nil)
}

// arrays are the rows that are sent.
const arrays = "unnest($1::int8[], $2::int8[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bytea[]) x(a, b, c, p, q, r, s, t, u, bytes)"

// send adds a row, and sends what there is if that is much, or if it is for another table.
func (in *importer) send(insert string, seqs []int64, texts []string, bytes []byte) error {
	if insert != in.insert || len(in.seqs[0]) >= 1000 || in.size > 4<<20 {
		if err := in.flush(); err != nil {
			return err
		}
		in.insert = insert
	}
	for i := range in.seqs {
		in.seqs[i] = append(in.seqs[i], append(seqs, 0, 0, 0)[i])
	}
	for i := range in.texts {
		in.texts[i] = append(in.texts[i], append(texts, "", "", "", "", "", "")[i])
		in.size += len(in.texts[i][len(in.texts[i])-1])
	}
	in.bytes = append(in.bytes, bytes)
	in.size += len(bytes)
	return nil
}

func (in *importer) flush() error {
	if len(in.bytes) == 0 {
		return nil
	}
	_, err := in.s.ask(in.ctx, say(in.insert, in.seqs[0], in.seqs[1], in.seqs[2], in.texts[0], in.texts[1], in.texts[2], in.texts[3], in.texts[4], in.texts[5], in.bytes))
	*in = importer{fold: in.fold, ctx: in.ctx, s: in.s}
	return err
}

// fill sends what the log makes of all other tables.
func (in *importer) fill(bytes func(queue.Shelf, string) ([]byte, error)) error {
	if n := in.counts.Tasks[task.Running]; n > 0 {
		return fault.Temporaryf("pulse-queue hold, and wait until nothing runs", "%d tasks are running", n)
	}
	for id, t := range in.tasks {
		err := in.send("INSERT INTO pulse.task SELECT p, a, b, c, q, r, s, t, nullif(u, '') FROM "+arrays,
			[]int64{t.added, t.n, t.seq}, []string{id, string(t.state), t.kind, t.action, t.digest, t.opened}, nil)
		if err != nil {
			return err
		}
	}
	for id, t := range in.tasks {
		b, err := bytes(queue.On(t.state), id)
		if err == nil && task.Digest(b) != t.digest && t.state != task.Corrupt {
			err = fmt.Errorf("task %s: its file is not the one that was added: pulse-queue verify", id)
		}
		if err == nil {
			err = in.send("INSERT INTO pulse.file SELECT p, bytes FROM "+arrays, nil, []string{id}, b)
		}
		if err != nil {
			return err
		}
	}
	for at, t := range in.things {
		var b []byte
		var err error
		if t.digest != "" || t.lines != nil {
			if b, err = bytes(at.shelf, at.key); err != nil {
				return err
			}
		}
		err = in.send("INSERT INTO pulse.thing SELECT p, q, a, string_to_array(nullif(r, ''), ' '), nullif(bytes, '') FROM "+arrays,
			[]int64{t.seq}, []string{string(at.shelf), at.key, strings.Join(t.rest, " ")}, b)
		if err != nil {
			return err
		}
	}
	return in.rest()
}

// rest sends starts, nonces and the row of the queue.
func (in *importer) rest() error {
	for _, s := range in.starts {
		if err := in.send("INSERT INTO pulse.start SELECT a, b, p FROM "+arrays, []int64{s.seq, s.at}, []string{s.entry}, nil); err != nil {
			return err
		}
	}
	for nonce, seq := range in.nonces {
		if err := in.send("INSERT INTO pulse.nonce SELECT p, a FROM "+arrays, []int64{seq}, []string{nonce}, nil); err != nil {
			return err
		}
	}
	if err := in.flush(); err != nil {
		return err
	}
	c := &in.counts
	var states, numbers []string
	for st, n := range c.Tasks {
		states, numbers = append(states, string(st)), append(numbers, fmt.Sprint(n))
	}
	held := int64(0)
	if in.things[place{queue.Hold, ""}] != nil {
		held = 1
	}
	limited := int64(0)
	if c.Limited {
		limited = 1
	}
	_, err := in.s.ask(in.ctx, say(`UPDATE pulse.queue SET seq = $1, head = $2, held = $3 <> 0::int8, day = $4, refused = $5, limited = $6 <> 0::int8, kept = $7, kept_bytes = $8,
		counts = coalesce((SELECT jsonb_object_agg(k, v::int) FROM unnest($9::text[], $10::text[]) x(k, v)), '{}')`,
		in.seq, in.head, held, c.Day, int64(c.Refused), limited, int64(c.Kept), c.KeptBytes, states, numbers))
	return err
}
