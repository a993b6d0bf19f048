package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue/health"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// The bounds of what is told apart, whatever the log holds. All else counts as others.
const (
	maxPeople  = 10_000 // senders, or senders with an action
	maxWord    = 320    // bytes of a sender; an address is shorter
	maxRecent  = 5      // tasks with a yes that are remembered of each
	hoursOfDay = 24
)

// others is what stands for all senders that are not told apart. No address is like it.
const others = "(others)"

// people is what the log says about what people asked for, and how they were answered.
type people struct {
	answers map[wish]*answered
	starts  bySender        // of asks and effects, within a day
	later   [hoursOfDay]int // attempts that ended with 75, by the hours since
	proofs  health.Proofs   // of the mail of a week
}

// wish is what was asked for, and in whose name.
type wish struct {
	sender string
	action terms.Action
}

// answered is how people answered, and what became of that.
type answered struct {
	yes, no, expired, stopped int

	rows   int        // of yes: to asks that the row of a proven sender left to a person
	newest []store.ID // of these
}

func newPeople() people {
	return people{
		answers: map[wish]*answered{},
		starts:  bySender{of: "kind", as: "external", kinds: []string{"ask", "effect"}, most: maxPeople},
	}
}

// slot returns what is counted under a key, or under rest if so many keys are told apart.
func slot[K comparable, V any](m map[K]*V, most int, key, rest K) *V {
	if m[key] == nil && len(m) >= most {
		key = rest
	}
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

// cut returns a sender to be kept, at most maxWord of it.
func cut(sender string) string { return strings.Clone(sender[:min(len(sender), maxWord)]) }

// count counts a line of the log by its age.
func (p *people) count(l *audit.Line, age time.Duration) {
	if l.End != nil && l.End.Exit == int(fault.Temporary) && age < day {
		p.later[max(0, int(age.Hours()))]++
	}
	switch l.Event {
	case task.Started:
		if age < store.Window {
			who := asker{l.Sender, strconv.FormatBool(l.Trust == terms.ExternalVerified)}
			p.starts.add(who, slices.Index(p.starts.kinds, string(l.Kind)), 1)
		}
	case task.Approved, task.Denied, task.Expired, task.Cancelled:
		slot(p.answers, maxPeople, wish{cut(l.Sender), l.Action}, wish{sender: others}).count(l)
	}
	p.proofs.Add(l, age)
}

func (a *answered) count(l *audit.Line) {
	switch l.Event {
	case task.Denied:
		a.no++
	case task.Expired:
		a.expired++
	case task.Cancelled:
		a.stopped++
	case task.Approved:
		a.yes++
		proven := l.Trust == terms.OwnerVerifiedEmail || l.Trust == terms.ExternalVerified
		waits := l.Outcome == terms.Confirm || l.Outcome == terms.Review
		if !proven || !waits || l.Kind != task.Ask || !strings.HasPrefix(l.Rule, "matrix.") {
			return
		}
		if a.rows++; len(a.newest) < maxRecent {
			a.newest = append(a.newest, store.IDOf(l.Task))
		}
	}
}

// answersBySender returns the answers by sender.
func (p *people) answersBySender() *bySender {
	b := &bySender{of: "answer", kinds: []string{"yes", "no", "expired"}, most: maxPeople}
	for k, a := range p.answers {
		for i, n := range []int{a.yes, a.no, a.expired} {
			b.add(asker{sender: k.sender}, i, n)
		}
	}
	return b
}

// bySender counts things of a few kinds by sender.
type bySender struct {
	of     string // what the kinds are kinds of
	as     string // what else tells senders apart; empty: nothing
	kinds  []string
	most   int // senders that are told apart
	counts map[asker]*[3]int
}

type asker struct{ sender, as string }

// sent is what was counted of a sender.
type sent struct {
	asker
	n [3]int // of each kind
}

func (s *sent) all() int { return s.n[0] + s.n[1] + s.n[2] }

// external reports whether a sender of starts counts against the half of the caps that external senders share.
func (s *sent) external() bool { return s.as == "true" }

// add counts n of a kind; below 0 it is of none.
func (b *bySender) add(who asker, kind, n int) {
	if kind < 0 || n == 0 {
		return
	}
	if b.counts == nil {
		b.counts = map[asker]*[3]int{}
	}
	if b.counts[who] == nil {
		who = asker{cut(who.sender), strings.Clone(who.as)}
	}
	slot(b.counts, b.most, who, asker{others, who.as})[kind] += n
}

// all returns how many there are of all senders.
func (b *bySender) all() (n int) {
	for _, counts := range b.counts {
		n += counts[0] + counts[1] + counts[2]
	}
	return n
}

// top returns the n senders with the most, and all others as one or, where something else tells senders
// apart, as one of each.
func (b *bySender) top(n int) (list []sent) {
	for who, counts := range b.counts {
		list = append(list, sent{who, *counts})
	}
	last := func(s *sent) int { return strings.Count(s.sender, others) }
	slices.SortFunc(list, func(x, y sent) int {
		return cmp.Or(last(&x)-last(&y), y.all()-x.all(), cmp.Compare(x.sender, y.sender), cmp.Compare(x.as, y.as))
	})
	list, left := list[:min(n, len(list))], list[min(n, len(list)):]
	rest := map[string][3]int{}
	for _, s := range left {
		sum := rest[s.as]
		for i := range s.n {
			sum[i] += s.n[i]
		}
		rest[s.as] = sum
	}
	for _, as := range slices.Sorted(maps.Keys(rest)) {
		list = append(list, sent{asker{others, as}, rest[as]})
	}
	return list
}
