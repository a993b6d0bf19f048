package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/finding"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/escape"
	"pulse/lib/shared/record"
)

// How long a person is told nothing of what they know. Remind is a little less than a day, so
// that a timer which is late once does not shift it.
const (
	remind = 24*time.Hour - 10*time.Minute
	batch  = 12 * time.Hour // between tasks of a code that a queue has more of each hour
)

// batched are the codes whose tasks come one after the other where all is well, too, and what
// anybody can bring about who forges a sender: they are told together, so that a busy day is not a
// mail an hour.
var batched = []Code{Waiting, codePutOff, codeFailing}

// foreseen are the codes whose end is no news: a person answered, or the limit lets go at the time
// that was told.
var foreseen = []Code{Waiting, codeLimited}

// News is one thing that a person is told of.
type News struct {
	Finding
	What  audit.Told
	Since time.Time
}

// Memory compares what is found with what a person was told before, and returns what they are to
// be told now: what began, what lasts and was told a day ago unless once is enough, and what ended.
// Nothing is told again before that. When something is told, so is all that began or ended meanwhile and could
// have waited.
func Memory(was []audit.Finding, found []Finding, now time.Time) (news []News) {
	known := map[string]*audit.Finding{}
	recent := map[string]bool{} // codes of which a person heard lately
	for i := range was {
		w := &was[i]
		known[store.FindingKey(w.Code, w.About)] = w
		recent[w.Code] = recent[w.Code] || !finding.Untold(w, batch, now)
	}
	var lasts []News
	due, urgent := false, false
	for _, f := range distinct(found) {
		key := store.FindingKey(string(f.Code), f.About)
		if w := known[key]; w != nil {
			since := w.Since
			if slices.Contains(foreseen, f.Code) && finding.Untold(w, remind+batch, now) {
				since = now.UTC() // it had ended: what lasts is told each day
			}
			lasts = append(lasts, News{f, audit.FindingTold, since})
			due = due || !f.once && finding.Untold(w, remind, now)
			delete(known, key)
			continue
		}
		news = append(news, News{f, audit.FindingOpened, now.UTC()})
		urgent = urgent || !f.with && !(slices.Contains(batched, f.Code) && recent[string(f.Code)])
	}
	if due {
		news = append(news, lasts...)
	}
	for i := range was {
		w := &was[i]
		if known[store.FindingKey(w.Code, w.About)] == nil {
			continue
		}
		f := Finding{Code: Code(w.Code), About: w.About, Text: w.Text}
		news = append(news, News{f, audit.FindingClosed, w.Since})
		urgent = urgent || !slices.Contains(foreseen, f.Code)
	}
	if !due && !urgent {
		return nil
	}
	return news
}

// distinct returns findings with keys that differ.
func distinct(found []Finding) []Finding {
	list, taken := slices.Clone(found), map[string]int{}
	for i := range list {
		f := &list[i]
		f.About = cmp.Or(f.About, f.Task)
		key := store.FindingKey(string(f.Code), f.About)
		if taken[key]++; taken[key] > 1 {
			f.About = fmt.Sprintf("%s#%d", f.About, taken[key])
		}
	}
	return list
}

// Line returns what a person is told as one line that is safe to show.
func (n *News) Line() string {
	if n.What == audit.FindingClosed {
		ended := Finding{Code: n.Code, Text: n.Text}
		return "ended: " + ended.Line()
	}
	return n.Finding.Line()
}

// Append appends what a person is told as an object.
func (n *News) Append(dst []byte) []byte {
	var o record.Object
	o.Str("what", string(n.What))
	n.members(&o)
	o.Time("since", n.Since)
	return append(dst, o.Bytes()...)
}

// Tell logs that a person was told.
func (n *News) Tell(tx *queue.Tx, now time.Time) error {
	f := audit.Finding{What: n.What, Code: string(n.Code), About: n.About, Text: n.Text, Since: n.Since}
	return finding.Tell(tx, &f, now)
}

// Stages returns the codes that stages note, as words.
func Stages() (list []string) {
	for _, code := range Noted {
		list = append(list, string(code))
	}
	return list
}

// remembered returns the findings that stages noted, which nothing but they can find again.
func remembered(v store.View) (list []Finding, err error) {
	all, err := queue.FindingsOf(v)
	for i := range all {
		w := &all[i]
		if code := Code(w.Code); slices.Contains(Noted, code) {
			do := fmt.Sprintf("pulse-queue finding close %s %s, if it is not fetched any more", code, escape.Shell(w.About))
			list = append(list, Finding{Code: code, About: w.About, Text: w.Text, Do: do})
		}
	}
	return list, err
}
