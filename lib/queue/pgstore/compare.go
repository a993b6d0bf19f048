package pgstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// comparison is what is wrong with the tables, by what the log makes of them.
type comparison struct {
	*fold
	tx       pgx.Tx
	findings []string
	err      error
}

func (c *comparison) find(format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf(format, args...))
}

// each runs a query and calls fn for every row of it.
func (c *comparison) each(ctx context.Context, sql string, fn func() error, into ...any) {
	if c.err != nil {
		return
	}
	rows, err := c.tx.Query(ctx, sql)
	if err == nil {
		_, err = pgx.ForEachRow(rows, into, fn)
	}
	c.err = err
}

// tables compares every table with the log.
func (c *comparison) tables(ctx context.Context) {
	c.one(ctx)
	c.rows(ctx)
	c.files(ctx)
	c.shelves(ctx)
	c.few(ctx)
	c.schema(ctx)
}

// one compares the row of the queue.
func (c *comparison) one(ctx context.Context) {
	var seq, keptBytes int64
	var head, day string
	var refused, kept int
	var held, limited bool
	var tasks map[task.State]int
	c.each(ctx, "SELECT seq, head, held, day, refused, limited, kept, kept_bytes, counts FROM pulse.queue", func() error {
		want := &c.counts
		same := seq == c.seq && head == c.head && day == want.Day && limited == want.Limited && refused >= want.Refused &&
			kept == want.Kept && keptBytes == want.KeptBytes && held == (c.things[place{queue.Hold, ""}] != nil)
		for _, st := range task.States {
			same = same && tasks[st] == want.Tasks[st]
		}
		if !same {
			c.find("table queue: the numbers are not those of the log")
		}
		return nil
	}, &seq, &head, &held, &day, &refused, &limited, &kept, &keptBytes, &tasks)
}

// rows compares the tasks. A task of the log that was found is marked by its digest alone.
func (c *comparison) rows(ctx context.Context) {
	var id string
	var r row
	found := 0
	c.each(ctx, "SELECT id, added, n, seq, state, kind, action, digest, coalesce(entry, '') FROM pulse.task", func() error {
		want := c.fold.tasks[id]
		switch {
		case want == nil:
			c.find("task %s: the log does not know it", id)
			return nil
		case *want != r:
			c.find("task %s: it is not as the log says, which has it in %s", id, want.state)
		}
		found++
		return nil
	}, &id, &r.added, &r.n, &r.seq, &r.state, &r.kind, &r.action, &r.digest, &r.opened)
	if c.err == nil && found < len(c.fold.tasks) {
		c.find("table task: %d tasks of the log are missing", len(c.fold.tasks)-found)
	}
}

// files compares the digests of the task files.
func (c *comparison) files(ctx context.Context) {
	var id, digest string
	found := 0
	c.each(ctx, "SELECT id, 'sha256:' || encode(sha256(bytes), 'hex') FROM pulse.file", func() error {
		want := c.fold.tasks[id]
		if want == nil {
			c.find("file of task %s: the log does not know it", id)
			return nil
		}
		if found++; want.digest != digest {
			c.find("file of task %s: it was changed", id)
		}
		return nil
	}, &id, &digest)
	if c.err == nil && found < len(c.fold.tasks) {
		c.find("table file: the files of %d tasks are missing", len(c.fold.tasks)-found)
	}
}

// shelves compares everything that is not a task.
func (c *comparison) shelves(ctx context.Context) {
	var at place
	var t thing
	var digest string
	found := 0
	c.each(ctx, "SELECT shelf, key, seq, coalesce(rest, '{}'), coalesce('sha256:' || encode(sha256(bytes), 'hex'), ''), CASE shelf WHEN 'outbox' THEN bytes END FROM pulse.thing", func() error {
		want := c.things[at]
		if want == nil {
			c.find("%s/%s: the log does not know it", at.shelf, at.key)
			return nil
		}
		found++
		if want.lines != nil {
			digest = want.digest
		}
		if t.seq != want.seq || !slices.Equal(t.rest, want.rest) || digest != want.digest || want.lines != nil && proposals(t.staged, want.lines, t.rest) == nil {
			c.find("%s/%s: it is not as the log says", at.shelf, at.key)
		}
		return nil
	}, &at.shelf, &at.key, &t.seq, &t.rest, &digest, &t.staged)
	if c.err == nil && found < len(c.things) {
		c.find("table thing: %d things of the log are missing", len(c.things)-found)
	}
}

// few compares starts, nonces and runs.
func (c *comparison) few(ctx context.Context) {
	var s started
	starts := map[int64]started{}
	for _, want := range c.starts {
		starts[want.seq] = want
	}
	c.each(ctx, "SELECT seq, at, entry FROM pulse.start", func() error {
		if starts[s.seq] != s {
			c.find("start of line %d: it is not as the log says", s.seq)
		}
		delete(starts, s.seq)
		return nil
	}, &s.seq, &s.at, &s.entry)
	for seq, want := range starts {
		if len(c.starts) > 0 && c.starts[len(c.starts)-1].at-want.at < int64(queue.Window.Seconds()) && c.err == nil {
			c.find("start of line %d: it is missing, and would count", seq)
		}
	}
	var nonce string
	var seq int64
	nonces := len(c.nonces)
	c.each(ctx, "SELECT nonce, seq FROM pulse.nonce", func() error {
		if c.nonces[nonce] != seq {
			c.find("nonce %s: the log does not know it", nonce)
		}
		nonces--
		return nil
	}, &nonce, &seq)
	if nonces > 0 && c.err == nil {
		c.find("table nonce: %d signatures could be used again", nonces)
	}
	running := c.counts.Tasks[task.Running]
	c.each(ctx, "SELECT fence, task FROM pulse.run", func() error {
		if t := c.fold.tasks[nonce]; t == nil || t.state != task.Running || t.seq != seq {
			c.find("run %d: it is not as the log says", seq)
		}
		running--
		return nil
	}, &seq, &nonce)
	if running != 0 && c.err == nil {
		c.find("table run: it does not have the tasks that run")
	}
}

// chain reads the log up to the end, checks that each line follows the one before, and
// reports whether one of them has the hash that was asked for.
func chain(ctx context.Context, tx pgx.Tx, want string, fn func(raw []byte, l *audit.Line)) (*queue.Report, error) {
	r := &queue.Report{Head: audit.Origin, Knows: want == "" || audit.Bare(want) == audit.Bare(audit.Origin)}
	rows, err := tx.Query(ctx, "SELECT seq, line FROM pulse.audit ORDER BY seq")
	if err != nil {
		return r, err
	}
	var seq, last int64
	var raw string
	_, err = pgx.ForEachRow(rows, []any{&seq, &raw}, func() error {
		l, err := audit.Parse([]byte(raw))
		if err != nil || seq != last+1 || l.Prev != r.Head {
			r.Broken = true
			r.Findings = append(r.Findings, fmt.Sprintf("line %d of the log: it does not follow the one before it", seq))
		}
		last, r.Head = seq, audit.Hash([]byte(raw))
		r.Knows = r.Knows || audit.Bare(r.Head) == audit.Bare(want)
		if fn != nil && !r.Broken {
			fn([]byte(raw), &l)
		}
		return nil
	})
	return r, err
}
