package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// Verify checks the chain of the log from its first line, whether head, if any, was once its
// head, and every table against what the log makes of it; then the functions and rights of the
// schema. It needs up to 2 kB of memory a task.
func (s *Store) Verify(head string) (*store.Report, error) {
	if s.reader {
		return nil, fault.Usagef("name a login of another role", "%s: %s may not read the files that verify compares", s.name, s.cfg.User)
	}
	c := comparison{fold: newFold(), s: s}
	var r *store.Report
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
func (s *Store) VerifyChain() (r *store.Report, err error) {
	err = s.snapshot(func(ctx context.Context) (err error) {
		r, err = s.chain(ctx, "", nil)
		return err
	})
	return r, err
}

// chain reads the log, and reports whether one of its lines has the hash that is wanted.
func (s *Store) chain(ctx context.Context, want string, fn func(raw []byte, l *audit.Line)) (*store.Report, error) {
	r := &store.Report{Head: audit.Origin, Knows: want == "" || audit.Bare(want) == audit.Bare(audit.Origin)}
	last := int64(0)
	const lines = "SELECT a.seq, line, who::text, alone, a.seq > ours FROM pulse.audit a, pulse.queue ORDER BY a.seq"
	err := s.stream(ctx, say(lines), func(r1 row) error {
		l := audit.Line{Prev: audit.PrevOf(r1[1])}
		var err error
		odd := yes(r1[4]) && !names(r1[1], r1[2], yes(r1[3]))
		if fn != nil || odd {
			l, err = audit.Parse(r1[1])
		}
		if seq := num(r1[0]); err != nil || seq != last+1 || l.Prev != r.Head {
			r.Broken = true
			r.Findings = append(r.Findings, fmt.Sprintf("line %d of the log: it does not follow the one before it", seq))
		} else if odd && !wrote(&l, string(r1[2]), yes(r1[3])) {
			r.Findings = append(r.Findings, fmt.Sprintf("line %d of the log: the table has another login beside it", seq))
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

// names reports, without reading all of a line, whether it is one of a login, and says no level or
// the one that was proven of it. What it does not report may be so all the same: wrote knows.
func names(line, who []byte, alone bool) bool {
	_, rest, _ := bytes.Cut(line, []byte(`,"by":"`)) // the line's own comes first
	rest, ok := bytes.CutPrefix(rest, who)
	level, leveled := bytes.CutPrefix(rest, []byte(`","level":"`))
	return ok && bytes.HasPrefix(rest, []byte(`"`)) && (!leveled || alone == bytes.HasPrefix(level, []byte(`user"`)))
}

// wrote reports whether a line that the server made is of a login, and says the same of what was
// proven of it. What closes a task names an effect instead.
func wrote(l *audit.Line, who string, alone bool) bool {
	grants := l.Approval != nil && len(l.Approval.Grants) > 0
	return (l.By == notPlain().ReplaceAllString(who, "?") || l.Event == task.Closed) &&
		(l.Level == "" || grants || alone == (l.Level == approval.User))
}

// notPlain is what the server's function quoted replaces.
var notPlain = lazy.Regexp(`[^ !#-\[\]-~]`)

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

// missing says how many of the log were not found.
func (c *comparison) missing(n int, what string) {
	if n > 0 && c.err == nil {
		c.find("%d %s of the log are missing", n, what)
	}
}

func (c *comparison) tables(ctx context.Context) {
	c.one(ctx)
	for _, t := range tables {
		c.table(ctx, t[0], t[1], strings.Fields(t[2]))
	}
	c.outboxes(ctx)
	c.running(ctx)
	c.schema(ctx)
}

// table compares the rows of a table.
func (c *comparison) table(ctx context.Context, name, key string, columns []string) {
	q := "SELECT concat_ws('/', " + key + ")"
	for _, col := range columns {
		if col == "bytes" {
			col = "'sha256:' || encode(sha256(bytes), 'hex')"
		}
		q += ", coalesce((" + col + ")::text, '')"
	}
	left := map[string]bool{}
	for _, key := range c.keys(name) {
		left[key] = true
	}
	c.each(ctx, q+" FROM pulse."+name, func(r row) {
		key := string(r[0])
		delete(left, key)
		want := c.row(name, key)
		if want == nil {
			c.find("%s %s: the log does not know it", name, key)
		}
		for i := range want {
			if have := string(r[i+1]); want[i] != have && (want[i] != anything || have == "") {
				c.find("%s %s: its %s is not as the log says", name, key, columns[i])
			}
		}
	})
	c.missing(len(left), "rows of table "+name)
}

// outboxes compares the proposals that wait for a receipt.
func (c *comparison) outboxes(ctx context.Context) {
	c.each(ctx, "SELECT key, bytes FROM pulse.thing WHERE shelf = 'outbox'", func(r row) {
		if t := c.Things[store.Outbox][string(r[0])]; t != nil && proposals(r[1], t.lines, c.rest(string(r[0]))) == nil {
			c.find("thing outbox/%s: its bytes are not as the log says", r[0])
		}
	})
}

// one compares the row of the queue.
func (c *comparison) one(ctx context.Context) {
	c.each(ctx, "SELECT seq, head, held, day, refused, limited, kept, kept_bytes, counts::text FROM pulse.queue", func(r row) {
		want := &c.Counts
		same := num(r[0]) == c.Seq && string(r[1]) == c.Head && yes(r[2]) == (c.Things[store.Hold][""] != nil) &&
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

// running compares the runs.
func (c *comparison) running(ctx context.Context) {
	left := c.Counts.Tasks[task.Running]
	c.each(ctx, "SELECT fence, task FROM pulse.run", func(r row) {
		switch t := c.Tasks[string(r[1])]; {
		case t.State != task.Running: // it was cancelled, and its worker may still live
		case t.Moved == num(r[0]):
			left--
		default:
			c.find("run %d: the log does not know it", num(r[0]))
		}
	})
	c.missing(left, "runs")
}
