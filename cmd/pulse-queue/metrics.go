package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// metrics returns the figures in the text exposition format of Prometheus. All are
// gauges: what they count can become less.
func (f *figures) metrics() []byte {
	var b bytes.Buffer
	metric := func(name, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name) }
	metric("pulse_queue_info", "The queue; its format is a label.")
	fmt.Fprintf(&b, "pulse_queue_info{format=\"1\"} 1\n")
	metric("pulse_tasks", "Tasks in each state.")
	for _, st := range task.States {
		fmt.Fprintf(&b, "pulse_tasks{state=%q} %d\n", st, f.counts[st])
	}
	metric("pulse_refused_today", "Records that add refused since 00:00 UTC.")
	fmt.Fprintf(&b, "pulse_refused_today %d\n", f.today())
	metric("pulse_refused_kept", "Refused records that are kept.")
	fmt.Fprintf(&b, "pulse_refused_kept %d\n", f.kept)
	metric("pulse_refused_kept_bytes", "Size of the refused records that are kept.")
	fmt.Fprintf(&b, "pulse_refused_kept_bytes %d\n", f.keptBytes)
	metric("pulse_held", "1 while the queue is held.")
	held := 0
	if f.held != "" {
		held = 1
	}
	fmt.Fprintf(&b, "pulse_held %d\n", held)
	metric("pulse_oldest_scheduled_seconds", "How long the task that waits longest for a start has been due.")
	fmt.Fprintf(&b, "pulse_oldest_scheduled_seconds %d\n", int64(f.start.Seconds()))
	metric("pulse_oldest_awaiting_seconds", "How long the task that waits longest for a person has waited.")
	fmt.Fprintf(&b, "pulse_oldest_awaiting_seconds %d\n", int64(f.look.Seconds()))
	metric("pulse_starts_24h", "Starts of workers within the last 24 hours.")
	fmt.Fprintf(&b, "pulse_starts_24h{kind=\"ask\"} %d\n", f.asks)
	fmt.Fprintf(&b, "pulse_starts_24h{kind=\"effect\"} %d\n", f.effects)
	return b.Bytes()
}

// target is where an answer of stats goes: a file, or stdout for "" and "-".
type target struct {
	flag, name, example string
	mode                fs.FileMode
}

// private is the mode in which os.CreateTemp makes a file.
const private fs.FileMode = 0o600

func (t *target) stdout() bool { return t.name == "" || t.name == "-" }

// confine gives up all but the queue and the directory of the file.
func (t *target) confine(c *cli.Context, s door.Store) error {
	p := cmdline.QueueProfile(c)
	if !t.stdout() {
		p.Write = append(p.Write, filepath.Dir(t.name))
	}
	_, err := door.ConfineTo(c, s, p)
	return err
}

// write writes an answer to stdout or, all at once, into the file: a reader sees the old one
// or the new one. Nothing is synced, because after a crash the next run of stats writes a
// newer one.
func (t *target) write(c *cli.Context, answer []byte) (err error) {
	name := t.name
	if t.stdout() {
		out := cmdline.Output(c)
		out.Write(answer)
		return out.Flush()
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fault.Usagef("name a file, such as "+t.example, "--%s: %s is a directory", t.flag, name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return fault.Usagef("ls -ld "+filepath.Dir(name), "--%s: %w", t.flag, err)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(answer)
	if t.mode != private {
		err = errors.Join(err, f.Chmod(t.mode))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
