package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/access"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/queue/report"
	"pulse/lib/queue/store"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/sandbox"
)

// checkHealth prints what needs somebody, and is silent when nothing does.
func checkHealth(c *cli.Context, s door.Store) error {
	accepted, err := acceptedCodes(c)
	if err != nil {
		return err
	}
	var f health.Facts
	if err := patiences(c, &f, accepted); err != nil {
		return err
	}
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	m, disk := memoryOf(c, "health"), memoryOf(c, "disk")
	defer m.Close()
	defer disk.Close()
	if err := s.Writable(); err != nil { // a copy has no workers, and no sources
		return err
	}
	if names := lacks(s); len(names) > 0 && !slices.Contains(accepted, health.Modes) { // the rest can't be read
		text := "the queue has no directory " + strings.Join(names, ", ")
		do := cmdline.Where(c).Command("pulse-queue init")
		return tell(c, []health.Finding{{Code: health.Modes, Text: text, Do: do}})
	}
	if err := survey(c, &f, s, p); err != nil {
		return err
	}
	if _, err := door.Confine(c, s); err != nil {
		return err
	}
	list, err := report.Examine(s, &f)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(x health.Finding) bool { return slices.Contains(accepted, x.Code) })
	if c.Bool("all") {
		return tell(c, list)
	}
	return tellNews(s, m, disk, list, accepted, f.Now)
}

// survey finds out what the queue's content does not say. A confined command could not.
func survey(c *cli.Context, f *health.Facts, s door.Store, p *policy.Policy) error {
	f.Dead = s.Runs().Seen()
	if err := gather(f, s, c.String("queue"), p.Limits.DiskReserve); err != nil {
		return err
	}
	if c.String("policy") != "" { // without one the limits of those who run are not known
		f.Limits = func(v store.View) (*queue.Limiter, error) {
			return queue.LimiterOf(v, p, f.MaxWaiting, f.Now)
		}
	}
	f.Lacks = sandbox.Lacks(p.Evidence != policy.ByAuthRes)
	if err := readers(f, p); err != nil {
		return err
	}
	return separation(f, s, p)
}

// lacks returns the directories that the queue lacks, if it is one.
func lacks(s door.Store) []string {
	if q := s.Keeper().Dir; q != nil {
		return q.Lacks()
	}
	return nil
}

// readers finds out which tasks wait for a reader.
func readers(f *health.Facts, p *policy.Policy) error {
	x, err := cmdline.Schema(p)
	if x != nil {
		f.Unread = (&queue.Run{Policy: p, Schema: x}).Unread
	}
	return err
}

func acceptedCodes(c *cli.Context) (list []health.Code, err error) {
	if !c.IsSet("accept") {
		return nil, nil
	}
	for word := range strings.SplitSeq(c.String("accept"), ",") {
		if !slices.Contains(health.Codes, health.Code(word)) {
			return nil, fault.Usagef("man pulse-queue", "--accept: there is no finding %s", word)
		}
		list = append(list, health.Code(word))
	}
	return list, nil
}

// patient says how long the findings wait that do, unless --max says it.
const patient = "silent=24h,refused=7d,waiting=2h,putoff=24h"

// patiences reads --max. A command that does not have it has its defaults. Where silence is
// accepted, it is not told.
func patiences(c *cli.Context, f *health.Facts, accepted []health.Code) error {
	waits := map[string]*time.Duration{
		"silent": &f.MaxSilence, "refused": &f.MaxRefused, "waiting": &f.MaxWaiting, "putoff": &f.MaxPutOff,
	}
	for _, word := range append(strings.Split(patient, ","), c.StringSlice("max")...) {
		code, text, _ := strings.Cut(word, "=")
		d := waits[code]
		if d == nil {
			return fault.Usagef("by default "+patient, "--max: no finding %q waits", code)
		}
		v, err := duration.Parse(text)
		if err == nil && v < 0 {
			err = fmt.Errorf("%s is negative", text)
		}
		if err != nil {
			return fault.Usagef("a duration is written 90m, 36h or 7d", "--max %s: %w", code, err)
		}
		*d = v
	}
	if slices.Contains(accepted, health.Silent) {
		f.MaxSilence = 0
	}
	return nil
}

// gather finds out what the queue's content does not say: its age, its disk, its owner.
func gather(f *health.Facts, s door.Store, dir string, reserve int64) (err error) {
	f.Now = time.Now()
	if f.Made, err = s.Made(); err != nil {
		return err
	}
	if f.Moved, err = store.Read(s, queue.LastRead); err != nil {
		return err
	}
	f.Room, f.Unwatched = s.Room(reserve), s.Forgetful()
	k := s.Keeper()
	if k.Dir == nil {
		f.Server, err = conditions(s, k.Server, f.Now)
		return err
	}
	f.Owner, f.Durable = uint32(k.Dir.Owner()), access.Durable(dir)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	f.Inodes, f.FreeInodes = fs.Files, fs.Ffree
	return nil
}
