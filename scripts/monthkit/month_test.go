// Package monthkit plays a year of a gate in a few minutes: cron, mail, a person, and what goes
// wrong in a year. It is scripts/month.
//
// Invariant: what is played are the lines of scripts/crontab, by the commands as they are, except
// that their clock is set; what must come of it is known to the model alone, which shares no code
// with them. Caveat: a year has a few hundred of its half million minutes. A job is started where
// something can have changed for it, and in each of its minutes only where an incident says so.
package monthkit

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"
)

var (
	seed = flag.Uint64("seed", 28, "of all that happens by chance")
	days = flag.Int("days", 0, "how many days; 0: those of a part, which the seed names, or in short tests a few")
	part = flag.String("part", "", "play these incidents alone: outages, floods, people, storms, clocks or moves")
	tell = flag.Bool("tell", false, "tell what happens")
	bin  = flag.String("bin", "", "a directory with the commands, built for a clock of their own; empty: they are built")
)

// TestMonth plays as many days as -days says.
func TestMonth(t *testing.T) {
	dir := *bin
	if dir == "" {
		dir = t.TempDir()
		buildSkewed(t, dir)
	}
	n := *days
	switch {
	case n > 0 || *part != "":
	case testing.Short():
		n = 3
	default:
		*part = parts[*seed%uint64(len(parts))].name
	}
	adopt(t)
	start := time.Date(2027, 2, 28, 22, 0, 0, 0, time.UTC)
	w := newWorld(t, *seed, dir, start)
	first := w.local(start.AddDate(0, 0, 1), 0, 0)
	n = w.plan(first, n)
	for i := range n {
		w.ordinary(first.AddDate(0, 0, i))
	}
	end := first.AddDate(0, 0, n)
	w.live(end)
	w.reckon(end)
	w.report(n)
	which := fmt.Sprint("--days ", n)
	if *part != "" {
		which = "--part " + *part
	}
	for _, text := range alike(w.model.wrong) {
		t.Errorf("%s (scripts/month --seed %d %s -v)", text, *seed, which)
	}
}

// parts are the groups of incidents of a year.
var parts = []struct {
	name string
	days int
	plan func(*world, time.Time)
}{
	{"outages", 21, (*world).outages}, {"floods", 20, (*world).floods}, {"people", 52, (*world).people},
	{"storms", 20, (*world).storms}, {"clocks", 19, (*world).clocks}, {"moves", 32, (*world).moves},
}

// plan plans the incidents of so many days from d on, or only those of -part and its days.
func (w *world) plan(d time.Time, n int) int {
	if n < 20 && *part == "" {
		w.few(d)
		return n
	}
	begin := 2
	for _, p := range parts {
		switch {
		case *part == p.name:
			p.plan(w, d.AddDate(0, 0, 1))
			return p.days + 1
		case *part == "" && begin+p.days <= n:
			p.plan(w, d.AddDate(0, 0, begin))
		}
		begin += p.days
	}
	return n
}

// few plans the incidents of a few days.
func (w *world) few(d time.Time) {
	w.during(&incident{name: "a hold of ninety minutes", named: isHeld, stops: true},
		w.local(d.AddDate(0, 0, 1), 9, 0), 90*time.Minute,
		func() { w.must("pulse-queue hold") }, func() { w.must("pulse-queue release") })
	w.during(&incident{name: "UIDVALIDITY changes", quiet: true},
		w.local(d.AddDate(0, 0, 1), 20, 0), hour, w.renewed, nothing)
	w.blackout(w.local(d.AddDate(0, 0, 2), 9, w.rng.IntN(50)))
}

func (w *world) logf(format string, args ...any) {
	if *tell {
		fmt.Printf("%s %s\n", w.now.Format("2006-01-02 15:04"), strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n\t"))
	}
}
