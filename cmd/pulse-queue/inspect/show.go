package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/hint"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/task"
)

// Show tells a task's whole story.
func Show(c *cli.Context, s door.Store) error {
	var p *policy.Policy
	var x *schema.Schema
	if c.String("policy") != "" {
		var err error
		if p, err = cmdline.Policy(c); err != nil {
			return err
		}
		if x, err = cmdline.Schema(p); err != nil {
			return err
		}
	}
	runs := s.Runs()
	dead := runs.Seen() // before what follows takes the right to look
	holders, err := desk.Holders(s.Keeper())
	if err != nil {
		return err
	}
	if _, err := door.Confine(c, s, workspace.Named(p)...); err != nil {
		return err
	}
	t := teller{where: cmdline.Where(c), policy: p, schema: x, now: time.Now(), runs: runs, dead: dead, holders: holders}
	if err := t.read(s, c.Args().First(), c.Bool("json")); err != nil {
		return desk.Unknown(err)
	}
	_, err = io.WriteString(c.App.Writer, t.out.String())
	return err
}

// teller tells a task's story.
type teller struct {
	v      store.View
	id     string
	out    strings.Builder // bounded by one task
	policy *policy.Policy  // nil: none was named
	schema *schema.Schema  // of its [extract]; nil: there is none
	now    time.Time
	where  hint.Where // for the commands that are suggested
	runs   runner.Runs
	dead   func(id string) bool // whether neither a runner nor a worker of a task lives
	lines  []audit.Line         // about the task, and about what it proposed

	holders func(name string) approval.Holder

	past *queue.Past // what its worker is told of it
}

// read collects the story of the task whose id begins with prefix, or its record.
func (t *teller) read(s store.Store, prefix string, json bool) (err error) {
	if t.id, err = whole(s, prefix); err != nil {
		return err
	}
	if json {
		return s.View(t.json)
	}
	for range 8 { // a task that is moved by hand never is where the log has it
		if t.lines, err = about(s, t.id); err != nil {
			return err
		}
		if t.past, err = queue.PastOf(s, t.id); err != nil {
			return err
		}
		again := false
		err = s.View(func(v store.View) error {
			st, err := t.begin(v)
			if again = st != t.logged(); err != nil {
				return err
			}
			if st == "" {
				return t.gone()
			}
			return t.task(st)
		})
		if err != nil || !again {
			return err
		}
	}
	return nil
}

// begin begins the story anew in a View, and returns the state of the task there.
func (t *teller) begin(v store.View) (task.State, error) {
	t.v = v
	t.out.Reset()
	return v.Where(t.id)
}

// logged returns the state that the lines leave the task in.
func (t *teller) logged() (st task.State) {
	for i := range t.lines {
		if l := &t.lines[i]; l.Task == t.id && l.Moves() {
			st = l.To
		}
	}
	return st
}

func (t *teller) print(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(&t.out, l)
	}
}

// json tells the record of the task, or what is kept of one that was refused.
func (t *teller) json(v store.View) error {
	st, err := t.begin(v)
	if err != nil {
		return err
	}
	read := queue.RefusedOf
	if st != "" {
		read = func(v store.View, id string) (queue.Stored, error) { return queue.Load(v, st, id) }
	}
	s, err := read(v, t.id)
	if st == "" && errors.Is(err, store.ErrUnknown) {
		return fmt.Errorf("%w: %s has no file", store.ErrUnknown, t.id)
	}
	if err != nil && !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if s.Extract, err = queue.ExtractOf(v, t.id); err != nil {
		return err
	}
	t.print(string(line(&s)))
	return nil
}
