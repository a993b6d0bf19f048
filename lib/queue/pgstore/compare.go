package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// Verify checks the chain of the log from its first line, whether head, if any, was once its
// head, and every table against what the log makes of it; then the functions and rights of the
// schema. It needs some 500 bytes of memory a task.
func (s *Store) Verify(head string) (*queue.Report, error) {
	if s.reader {
		return nil, fault.Usagef("name a login of another role", "%s: %s may not read the files that verify compares", s.name, s.cfg.User)
	}
	c := comparison{fold: newFold(), s: s}
	var r *queue.Report
	err := s.snapshot(func(ctx context.Context) (err error) {
		if r, err = s.chain(ctx, head, c.line); err != nil || r.Broken {
			return err
		}
		c.tables(ctx)
		return c.err
	})
	if r != nil {
		r.Findings = append(r.Findings, c.findings...)
	}
	return r, err
}

// VerifyChain checks the chain alone.
func (s *Store) VerifyChain() (r *queue.Report, err error) {
	err = s.snapshot(func(ctx context.Context) (err error) {
		r, err = s.chain(ctx, "", nil)
		return err
	})
	return r, err
}

// chain reads the log, and reports whether one of its lines has the hash that is wanted.
func (s *Store) chain(ctx context.Context, want string, fn func(raw []byte, l *audit.Line)) (*queue.Report, error) {
	r := &queue.Report{Head: audit.Origin, Knows: want == "" || audit.Bare(want) == audit.Bare(audit.Origin)}
	last := int64(0)
	err := s.stream(ctx, say("SELECT seq, line FROM pulse.audit ORDER BY seq"), func(r1 row) error {
		l, err := audit.Parse(r1[1])
		if seq := num(r1[0]); err != nil || seq != last+1 || l.Prev != r.Head {
			r.Broken = true
			r.Findings = append(r.Findings, fmt.Sprintf("line %d of the log: it does not follow the one before it", seq))
		}
		last, r.Head = num(r1[0]), audit.Hash(r1[1])
		r.Knows = r.Knows || audit.Bare(r.Head) == audit.Bare(want)
		if fn != nil && !r.Broken {
			fn(r1[1], &l)
		}
		return nil
	})
	if err == nil && !r.Broken && r.Head != s.in.head {
		r.Broken = true
		r.Findings = append(r.Findings, fmt.Sprintf("the log ends with %s, and the queue says %s", r.Head, s.in.head))
	}
	return r, err
}

// stream runs a query and calls fn for every row, which is good until fn returns.
func (s *Store) stream(ctx context.Context, q stmt, fn func(row) error) error {
	values, oids := make([][]byte, len(q.args)), make([]uint32, len(q.args))
	for i, arg := range q.args {
		values[i], oids[i] = encode(arg)
	}
	rows := s.conn.ExecParams(ctx, q.sql, values, oids, binaryFormat, binaryFormat)
	var err error
	for err == nil && rows.NextRow() {
		err = fn(rows.Values())
	}
	_, end := rows.Close()
	if err == nil {
		err = s.fail(end)
	}
	return err
}

// comparison is what is wrong with the tables, by what the log makes of them.
type comparison struct {
	*fold
	s        *Store
	findings []string
	err      error
}

func (c *comparison) find(format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf(format, args...))
}

// each calls fn for every row of a query.
func (c *comparison) each(ctx context.Context, sql string, fn func(row)) {
	if c.err == nil {
		c.err = c.s.stream(ctx, say(sql), func(r row) error {
			fn(r)
			return nil
		})
	}
}

// missing says how many things of the log no row was found for.
func (c *comparison) missing(n int, what string) {
	if n > 0 && c.err == nil {
		c.find("%d %s of the log are missing", n, what)
	}
}

func (c *comparison) tables(ctx context.Context) {
	c.one(ctx)
	c.rows(ctx)
	c.files(ctx)
	c.shelves(ctx)
	c.counted(ctx)
	c.once(ctx)
	c.running(ctx)
	c.schema(ctx)
}

// one compares the row of the queue.
func (c *comparison) one(ctx context.Context) {
	c.each(ctx, "SELECT seq, head, held, day, refused, limited, kept, kept_bytes, counts::text FROM pulse.queue", func(r row) {
		want := &c.counts
		same := num(r[0]) == c.seq && string(r[1]) == c.head && yes(r[2]) == (c.things[place{queue.Hold, ""}] != nil) &&
			string(r[3]) == want.Day && num(r[4]) >= int64(want.Refused) && yes(r[5]) == want.Limited &&
			num(r[6]) == int64(want.Kept) && num(r[7]) == want.KeptBytes
		counts, err := countsOf(r[8])
		for _, st := range task.States {
			same = same && counts[st] == want.Tasks[st]
		}
		if !same || err != nil {
			c.find("table queue: its numbers are not those of the log")
		}
	})
}

// countsOf reads how many tasks are in each state.
func countsOf(b []byte) (map[task.State]int, error) {
	counts := map[task.State]int{}
	rec, err := record.Parse(b)
	if err != nil {
		return nil, err
	}
	err = rec.Value().Each(func(name string, v record.Value) error {
		var n int
		err := v.Into(&n)
		counts[task.State(name)] = n
		return err
	})
	return counts, err
}

// rows compares the tasks.
func (c *comparison) rows(ctx context.Context) {
	left := len(c.tasks)
	c.each(ctx, "SELECT id, added, n, seq, state, kind, action, digest, coalesce(entry, '') FROM pulse.task", func(r row) {
		want := c.tasks[string(r[0])]
		if want == nil {
			c.find("task %s: the log does not know it", r[0])
			return
		}
		left--
		have := taskRow{num(r[1]), num(r[2]), num(r[3]), task.State(r[4]), string(r[5]), string(r[6]), string(r[7]), string(r[8])}
		if have.opened != want.opened {
			c.find("task %s: its entry is not that of its line", r[0])
			have.opened = want.opened
		}
		if *want != have {
			c.find("task %s: it is not as the log says, which has it in %s", r[0], want.state)
		}
	})
	c.missing(left, "tasks")
}

// files compares the digests of the task files.
func (c *comparison) files(ctx context.Context) {
	left := len(c.tasks)
	c.each(ctx, "SELECT id, 'sha256:' || encode(sha256(bytes), 'hex') FROM pulse.file", func(r row) {
		want := c.tasks[string(r[0])]
		if want == nil {
			c.find("the file of task %s: the log does not know it", r[0])
			return
		}
		if left--; want.digest != string(r[1]) {
			c.find("the file of task %s: it was changed", r[0])
		}
	})
	c.missing(left, "task files")
}

// shelves compares everything that is no task.
func (c *comparison) shelves(ctx context.Context) {
	left := len(c.things)
	c.each(ctx, `SELECT shelf, key, seq, coalesce(array_to_string(rest, ' '), ''), coalesce('sha256:' || encode(sha256(bytes), 'hex'), ''),
		CASE shelf WHEN 'outbox' THEN bytes END FROM pulse.thing`, func(r row) {
		want := c.things[place{queue.Shelf(r[0]), string(r[1])}]
		if want == nil {
			c.find("%s/%s: the log does not know it", r[0], r[1])
			return
		}
		left--
		same := num(r[2]) == want.seq && slices.Equal(strings.Fields(string(r[3])), want.rest)
		if want.lines == nil {
			same = same && string(r[4]) == want.digest
		} else {
			same = same && proposals(r[5], want.lines, want.rest) != nil
		}
		if !same {
			c.find("%s/%s: it is not as the log says", r[0], r[1])
		}
	})
	c.missing(left, "things")
}

// counted compares the starts that limits count. Old ones are dropped now and then.
func (c *comparison) counted(ctx context.Context) {
	starts, last := map[int64]started{}, int64(0)
	for _, s := range c.starts {
		starts[s.seq], last = s, max(last, s.at)
	}
	c.each(ctx, "SELECT seq, at, entry FROM pulse.start", func(r row) {
		have := started{num(r[0]), num(r[1]), string(r[2])}
		if starts[have.seq] != have {
			c.find("start %d: it is not as the log says", have.seq)
		}
		delete(starts, have.seq)
	})
	left := 0
	for _, s := range starts {
		if last-s.at < int64(queue.Window.Seconds()) {
			left++
		}
	}
	c.missing(left, "starts")
}

// once compares what can be used once.
func (c *comparison) once(ctx context.Context) {
	left := len(c.nonces)
	c.each(ctx, "SELECT nonce, seq FROM pulse.nonce", func(r row) {
		if c.nonces[string(r[0])] == num(r[1]) {
			left--
		} else {
			c.find("nonce %s: the log does not know it", r[0])
		}
	})
	c.missing(left, "nonces, which could be used again,")
}

// running compares the runs.
func (c *comparison) running(ctx context.Context) {
	left := c.counts.Tasks[task.Running]
	c.each(ctx, "SELECT fence, task FROM pulse.run", func(r row) {
		switch t := c.tasks[string(r[1])]; {
		case t == nil || t.state != task.Running: // it was cancelled, and its worker may still live
		case t.seq == num(r[0]):
			left--
		default:
			c.find("run %d: the log does not know it", num(r[0]))
		}
	})
	c.missing(left, "runs")
}
