package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/door"
	"pulse/lib/queue/report"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

func stats(c *cli.Context, s door.Store) error {
	if err := statsFlags(c); err != nil {
		return err
	}
	if c.Bool("html") {
		return statsPage(c, s)
	}
	to := target{"prometheus", c.String("prometheus"), "pulse.prom", 0o644}
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	if err := to.confine(c, s); err != nil {
		return err
	}
	most := p.Limits.MaxPerDay
	if c.String("policy") == "" {
		most = 0
	}
	f, broken := report.Count(c.Context, s, time.Now(), most)
	if f == nil {
		return broken
	}
	switch {
	case c.IsSet("prometheus"):
		err = to.write(c, f.Metrics())
	case c.Bool("json"):
		_, err = fmt.Fprintf(c.App.Writer, "%s\n", f.JSON())
	default:
		err = f.Table(c.App.Writer)
	}
	return errors.Join(err, broken)
}

// statsFlags refuses what does not go together.
func statsFlags(c *cli.Context) error {
	var forms []string
	for _, form := range []string{"json", "prometheus", "html"} {
		if c.IsSet(form) {
			forms = append(forms, "--"+form)
		}
	}
	if len(forms) > 1 {
		return fault.Usagef("", "%s exclude each other", strings.Join(forms, " and "))
	}
	if c.Bool("html") {
		return nil
	}
	for _, flag := range []string{"subjects", "accept"} {
		if c.IsSet(flag) {
			return fault.Usagef("pulse-queue stats --html", "--%s is for --html", flag)
		}
	}
	if c.Args().Present() {
		return fault.Usagef("pulse-queue stats --html FILE", "stray argument %s", c.Args().First())
	}
	return nil
}

// statsPage writes the page for people who look. It names senders, so that a file is for
// this account alone.
func statsPage(c *cli.Context, s door.Store) error {
	to := target{"html", c.Args().First(), "pulse.html", private}
	a, err := asked(c, s, time.Now())
	if err != nil {
		return err
	}
	if err := to.confine(c, s); err != nil {
		return err
	}
	p, broken := report.Month(c.Context, s, a)
	if p == nil {
		return broken
	}
	var lines []string
	for _, e := range exports(c) {
		lines = append(lines, e[1])
	}
	page, err := p.HTML(lines)
	if err == nil {
		err = to.write(c, page)
	}
	return errors.Join(err, broken)
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
