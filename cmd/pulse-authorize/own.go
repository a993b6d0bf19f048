package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/authorize/judge"
	"pulse/lib/authorize/workspace"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/label"
	"pulse/lib/shared/record"
	"pulse/lib/shared/task"
)

// own is a judge outside of any run, for an agent at whose terminal a person sits: the task
// is in the file PULSE_RECORD, what its uses have touched is kept in PULSE_RECORD.labels, and
// what waits for a person in PULSE_PARKED. One process judges at a time.
type own struct {
	judge  *judge.Judge
	labels *os.File
	parked string
}

func judgeOf(c *cli.Context) string {
	if c.IsSet("judge") {
		return c.String("judge")
	}
	return os.Getenv("PULSE_JUDGE")
}

func openOwn(ctx context.Context, c *cli.Context) (*own, error) {
	path := os.Getenv("PULSE_RECORD")
	line, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("PULSE_RECORD: %w", reason(err))
	}
	p, err := cmdline.Policy(c)
	if err != nil {
		return nil, err
	}
	o := &own{parked: os.Getenv("PULSE_PARKED")}
	if o.parked == "" {
		o.parked = path + ".parked"
	}
	o.judge = &judge.Judge{Policy: p, World: workspace.World{}, Person: os.Getenv("PULSE_ASK") == "1"}
	if err := o.task(line); err != nil {
		return nil, fmt.Errorf("PULSE_RECORD: %w", err)
	}
	if err := o.open(ctx, path); err != nil {
		return nil, err
	}
	return o, nil
}

// open opens what earlier uses have left.
func (o *own) open(ctx context.Context, path string) (err error) {
	if o.labels, err = os.OpenFile(path+".labels", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		err = lockFile(ctx, o.labels)
	}
	if err == nil {
		err = o.earlier()
	}
	if err != nil {
		o.close()
		return fmt.Errorf("the labels of the run can not be kept: %w", reason(err))
	}
	return nil
}

// reason returns an error without the path, which a model need not know.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (o *own) close() { o.labels.Close() }

// task reads whom the tools are used for.
func (o *own) task(line []byte) error {
	rec, err := record.Parse(line, identity.Member, task.Member)
	if err != nil {
		return err
	}
	if o.judge.Identity, err = identity.Read(rec); err != nil {
		return err
	}
	err = rec.Decode(task.Member, func(v record.Value) error {
		return v.Each(record.To("id", &o.judge.Task))
	})
	if err == nil && o.judge.Task == "" {
		err = errTask
	}
	return err
}

var errTask = errors.New("it has no task")

// lockFile waits until no other use is being judged.
func lockFile(ctx context.Context, f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.New("another use is being judged")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// earlier reads what earlier uses have left.
func (o *own) earlier() error {
	info, err := o.labels.Stat()
	if err != nil {
		return err
	}
	b := make([]byte, info.Size())
	if _, err := o.labels.ReadAt(b, 0); err != nil && len(b) > 0 {
		return err
	}
	for line := range bytes.Lines(b) {
		v, err := record.ParseValue(line)
		if err != nil {
			return err
		}
		set, err := label.Decode(v)
		if err != nil {
			return err
		}
		o.judge.Identity.Labels = o.judge.Identity.Labels.Union(set)
	}
	if o.judge.Alone {
		return nil
	}
	waiting, err := os.ReadFile(o.parked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.judge.Waiting(bytes.Count(waiting, []byte("\n")), len(waiting))
	return nil
}

// keep keeps what uses leave. It comes before anybody hears what was decided.
func (o *own) keep() error {
	left := o.judge.Result()
	if len(left.Labels) > 0 {
		if _, err := o.labels.Write(append(left.Labels.Append(nil), '\n')); err != nil {
			return fmt.Errorf("the labels of the run can not be kept: %w", reason(err))
		}
	}
	if len(left.Parked) > 0 {
		if err := appendTo(o.parked, left.Parked); err != nil {
			return fmt.Errorf("it can not be put to a person: %w", reason(err))
		}
	}
	return nil
}

func appendTo(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
