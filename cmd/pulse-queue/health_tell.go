package main

import (
	"bufio"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/queue/health"
	"pulse/lib/queue/journal"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// tell prints all that is wrong.
func tell(c *cli.Context, list []health.Finding) error {
	return printed(c, list, func(f *health.Finding) { f.Do = cmdline.Told(c, f.Do) }, len(list))
}

// printed prints what a person is told, and fails if so many things are wrong.
func printed[T any, P interface {
	*T
	Line() string
	Append(dst []byte) []byte
}](c *cli.Context, list []T, whole func(P), wrong int) error {
	out := bufio.NewWriter(c.App.Writer)
	for i := range list {
		one := P(&list[i])
		if whole(one); c.Bool("json") {
			out.Write(append(one.Append(nil), '\n'))
		} else {
			out.WriteString(one.Line() + "\n")
		}
	}
	if err := out.Flush(); err != nil || wrong == 0 {
		return err
	}
	// The lines say it: in a mail from cron a summary would be one line more.
	return cmdline.Standing(c, fault.Failedf("", "%s", cmdline.Count(wrong, "finding")))
}

// tellNews prints what a person was not told, or was told a day ago, and notes that. What the queue
// has no room to note, m remembers: the same once a day. An account that can't write the queue is told
// everything, because it can note nothing.
func tellNews(s door.Store, m, disk memory, list []health.Finding, accepted []health.Code, now time.Time) error {
	c := m.c
	news, err := newsOf(s, list, accepted, now)
	switch {
	case err == nil:
		m.Ends(now)
	case errors.Is(err, journal.ErrBroken), errors.Is(err, fs.ErrPermission), fault.KindOf(err) == fault.Usage, fault.KindOf(err) == fault.Refused:
		return tell(c, list)
	case fault.KindOf(err) == fault.Temporary && !m.Begins(keyOf(news), err.Error(), now):
		news = nil
	case fault.KindOf(err) == fault.Temporary:
		cmdline.Warn(c, "this will be told again because it could not be noted: %v", err)
		if i := slices.IndexFunc(news, func(n health.News) bool { return n.Code == health.DiskLow }); i >= 0 {
			disk.Begins("", news[i].Text, now) // which add need not tell, too
		}
	default:
		return err
	}
	silent := len(list)
	for i := range news {
		if news[i].What != audit.FindingClosed {
			silent--
		}
	}
	if silent > 0 {
		cmdline.Progress(c, "%s told of before; pulse-queue health --all", cmdline.Count(silent, "finding"))
	}
	return printed(c, news, func(n *health.News) { n.Do = cmdline.Told(c, n.Do) }, len(list))
}

// keyOf returns what tells news from other news.
func keyOf(news []health.News) string {
	text := ""
	for i := range news {
		text += string(news[i].What) + store.FindingKey(string(news[i].Code), news[i].About)
	}
	return store.FindingKey("news", text)
}

// noteRoom is how much of the disk has to be free before a finding is noted, in bytes. Where a
// line has room and what it changes has not, every command would fail until there is room.
const noteRoom = 256 << 10

func roomToNote(s door.Store) error {
	if s.Room(noteRoom) != nil {
		return fault.Temporaryf("make room", "less than %d KiB of the disk are free", noteRoom>>10)
	}
	return nil
}

// newsOf returns what a person is told, and notes it. If that fails, it returns both.
func newsOf(s door.Store, list []health.Finding, accepted []health.Code, now time.Time) (news []health.News, err error) {
	compare := func(v store.View) error {
		was, err := queue.FindingsOf(v)
		was = slices.DeleteFunc(was, func(f audit.Finding) bool { return slices.Contains(accepted, health.Code(f.Code)) })
		news = health.Memory(was, list, now)
		return err
	}
	if err := s.View(compare); err != nil {
		return health.Memory(nil, list, now), err // nobody knows what was told
	}
	if len(news) == 0 { // as on most days
		return nil, nil
	}
	if err := roomToNote(s); err != nil {
		return news, err
	}
	return news, queue.Update(s, func(tx *queue.Tx) error {
		if err := compare(tx); err != nil {
			return err
		}
		for i := range news {
			if err := news[i].Tell(tx, now); err != nil {
				return err
			}
		}
		return nil
	})
}
