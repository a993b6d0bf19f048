package monthkit

import (
	"regexp"
	"slices"
	"time"
)

// incident is something that goes wrong for a while.
type incident struct {
	name   string
	before string         // mails, as they were counted before findings had a memory
	named  *regexp.Regexp // what has to be printed within an hour; nil: it need not be named
	within time.Duration  // if it can be known only later than an hour
	from   time.Time
	to     time.Time
	after  time.Duration // how long it is told after its end
	stops  bool          // the gate can't do its work meanwhile

	quiet bool // a day with it is a good day: nothing is printed

	starts, wrong, asked, letters int // when it began; then, during it
}

const hour, day = time.Hour, 24 * time.Hour

// during makes an incident: begin, and end after a while.
func (w *world) during(i *incident, from time.Time, lasts time.Duration, begin, end func()) {
	i.from, i.to = from, from.Add(lasts)
	w.incidents = append(w.incidents, i)
	w.on(i.from, func() {
		w.logf("-- %s", i.name)
		i.starts, i.wrong, i.asked = w.model.began, len(w.model.wrong), w.questions()
		begin()
	})
	w.on(i.to, func() {
		end()
		w.fetched = -1
		w.soon(every...)
		w.logf("-- end of: %s", i.name)
	})
	for t := i.from.Truncate(hour); !i.quiet && t.Before(i.to.Add(2*hour)); t = t.Add(hour) {
		if t.Sub(i.from) < 26*hour || i.to.Sub(t) < 3*hour { // a long one is told at any hour of a day
			w.ask(t.Add(10 * time.Minute))
		}
	}
	// The time of its own ends where nothing of it can be printed any more.
	w.on(i.to.Add(2*hour), func() {
		i.starts, i.wrong, i.asked = w.model.began-i.starts, len(w.model.wrong)-i.wrong, w.questions()-i.asked
	})
}

func (w *world) questions() (n int) {
	for _, k := range w.model.asked {
		n += k
	}
	return n
}

// each plays jobs in each minute in which cron starts them.
func (w *world) each(from time.Time, lasts, step time.Duration, words ...string) {
	for t := from; t.Before(from.Add(lasts)); t = t.Add(step) {
		w.on(t, func() { w.minute(words...) })
	}
}

// reckon holds what was printed against what may be.
func (w *world) reckon(until time.Time) {
	for _, i := range w.incidents {
		if i.to.Before(until) {
			w.told(i)
		}
	}
	days := map[string][]*letter{}
	for _, l := range w.letters {
		d := l.at.Format(time.DateOnly)
		days[d] = append(days[d], l)
	}
	for d, list := range days {
		at, most := list[0].at, 2
		if !slices.ContainsFunc(w.incidents, func(i *incident) bool { return !i.quiet && i.on(at) }) {
			most = 0
			w.noisy++
		}
		w.worst = max(w.worst, len(list))
		if len(list) > most {
			w.model.wrong = append(w.model.wrong, d+": cron mails "+count(list))
		}
	}
	slices.Sort(w.model.wrong)
}

// on reports whether the day of a time has something of the incident, or of its end.
func (i *incident) on(at time.Time) bool {
	first := time.Date(i.from.Year(), i.from.Month(), i.from.Day(), 0, 0, 0, 0, at.Location())
	return !at.Before(first) && at.Before(i.to.Add(day+i.after))
}

// told looks for the letter that names an incident.
func (w *world) told(i *incident) {
	within := max(i.within, 70*time.Minute)
	found := false
	for _, l := range w.letters {
		if !l.at.Before(i.from) && l.at.Before(i.to.Add(2*hour)) {
			i.letters++
		}
		soon := !l.at.Before(i.from) && l.at.Sub(i.from) <= within
		found = found || i.named != nil && soon && i.named.MatchString(l.text)
	}
	if i.named != nil && !found {
		w.model.wrong = append(w.model.wrong, i.from.Format("2006-01-02 15:04 ")+"nothing names within an hour: "+i.name)
		i.wrong++
	}
}
