package monthkit

import (
	"fmt"
	"slices"
	"time"
)

// model knows what came, what was asked and answered, and what follows from that.
type model struct {
	mails map[string]*mail // by Message-ID
	order []*mail
	tasks map[string]*ticket
	gone  map[string]*ticket // what a restore took back
	yes   map[string]int     // how often the person said yes to a task
	asked map[string]int     // how often the person was asked about it

	starts  []start
	began   int               // starts of workers and senders
	ahead   map[[2]string]int // starts of the second sender since the first one's task waits
	wrong   []string          // disagreements
	expects expects
}

// expects says what an incident changes in what must happen.
type expects struct {
	refusals bool // genuine mail may be refused: its sender can't be proven, or is not listed
	parked   bool // the policy was changed, so tasks may be parked or dropped
}

// ticket is a task as its log tells it.
type ticket struct {
	id, kind, state, sender, mail string
	external                      bool
	came, since, due              time.Time // true times, and when it may start
	started, observed, lost       int       // starts by the log, by the workers, and before a restore
	good                          int       // yeses that no start has used
	told                          time.Time
	late                          bool // its worker asked for later, or failed: it has been looked at
}

// start is the start of a worker, at the true time.
type start struct {
	at           time.Time
	kind, sender string
	external     bool
}

func newModel() *model {
	return &model{
		mails: map[string]*mail{}, tasks: map[string]*ticket{}, gone: map[string]*ticket{},
		yes: map[string]int{}, asked: map[string]int{}, ahead: map[[2]string]int{},
	}
}

// disagree notes that something is not as the model has it.
func (w *world) disagree(format string, args ...any) {
	text := w.now.Format("2006-01-02 15:04 ") + fmt.Sprintf(format, args...)
	w.model.wrong = append(w.model.wrong, text)
	w.logf("DISAGREES %s", text)
}

// fold takes a line of the log.
func (w *world) fold(l *line) {
	m, at := w.model, w.now
	if w.replays {
		at = l.Time
	}
	if !w.replays && l.Source != "" && (l.Event == "added" || l.Event == "refused") {
		w.received(l)
	}
	if l.Task == "" || l.From == "" && l.To == "" && l.Event != "resurfaced" {
		return
	}
	t := m.tasks[l.Task]
	if t == nil {
		if l.Event != "added" {
			w.disagree("task %s: %s before it was added", l.Task, l.Event)
		}
		t = &ticket{id: l.Task, kind: l.Kind, sender: l.Sender, mail: l.MessageID, came: at}
		t.external = l.Trust == "external_verified"
		if was := m.gone[l.Task]; was != nil {
			t.observed, t.lost = was.observed, was.started
		}
		m.tasks[l.Task] = t
	} else if l.Event == "added" {
		w.disagree("task %s was added twice", t.id)
	}
	if l.From != t.state && l.Event != "resurfaced" {
		w.disagree("task %s: %s from %q, but it was %q", t.id, l.Event, l.From, t.state)
	}
	w.judge(t, l)
	if l.Event == "resurfaced" {
		t.told = at
		return
	}
	if t.state != l.To {
		t.since = at
	}
	if l.To != "awaiting_review" {
		t.told = time.Time{}
	}
	t.state, t.due = l.To, l.NotBefore
}

// received takes what the log says of a mail.
func (w *world) received(l *line) {
	m := w.model.mails[l.MessageID]
	switch {
	case m == nil:
		w.disagree("a mail %s that was never sent was %s", l.MessageID, l.Event)
	case l.Event == "refused":
		m.refused++
		if l.Reason == "sender_quota" {
			if !m.quota {
				w.disagree("mail %s was refused: %s", m.id, l.Reason)
			}
		} else if m.wanted() && m.added == 0 && !w.model.expects.refusals {
			w.disagree("genuine mail %s of %s was refused: %s", m.id, m.from, l.Reason)
		}
	case !m.wanted():
		w.disagree("%s mail %s is task %s", m.proof, m.id, l.Task)
	default:
		if m.added++; m.added > 1 && !m.lost {
			w.disagree("mail %s is two tasks: %s and %s", m.id, m.task, l.Task)
		}
		m.task = l.Task
	}
}

// judge holds a line against what must be.
func (w *world) judge(t *ticket, l *line) {
	age := w.now.Sub(t.since)
	if w.replays && l.Event != "started" {
		return
	}
	switch l.Event {
	case "started":
		t.started++
		if t.good--; l.Action == "external_send" && t.good < 0 && !w.replays {
			w.disagree("effect %s is started without a yes of its own", t.id)
		}
	case "retried", "restored", "restarted":
		t.late = true
		t.good++
	case "approved":
		t.good = 1
		if w.model.yes[t.id]--; w.model.yes[t.id] < 0 {
			w.disagree("task %s was approved, and nobody said yes", t.id)
		}
	case "denied":
		if w.model.asked[t.id] == 0 {
			w.disagree("task %s was refused, and nobody was asked", t.id)
		}
	case "resurfaced":
		if t.state == "awaiting_review" && age < 72*time.Hour-patience {
			w.disagree("task %s is told of again after %s", t.id, age)
		}
	case "expired":
		if t.told.IsZero() || w.now.Sub(t.told) < 24*time.Hour-patience {
			w.disagree("task %s expires, and was told of again at %s", t.id, t.told)
		}
		if age < 336*time.Hour-patience {
			w.disagree("task %s expires after %s", t.id, age)
		}
	case "pruned":
		if age < 90*24*time.Hour-time.Hour {
			w.disagree("task %s is pruned %s after its end", t.id, age)
		}
	case "dropped", "parked":
		if !w.model.expects.parked {
			w.disagree("task %s is %s: %s", t.id, l.Event, l.Reason)
		}
	case "broke", "cancelled", "closed":
		w.disagree("task %s is %s: %s", t.id, l.Event, l.Reason)
	}
}

// worked takes the note of a worker or a sender, made where nothing of pulse could write it.
func (w *world) worked(what, id string) {
	t := w.model.tasks[id]
	if t == nil {
		w.disagree("%s: a worker of task %s, which is not in the log", what, id)
		return
	}
	if t.observed++; t.observed > t.started+t.lost {
		w.disagree("task %s was started %d times, and the log has %d starts", id, t.observed, t.started+t.lost)
	}
	if (what == "sent") != (t.kind == "effect") {
		w.disagree("task %s, of kind %s: %s", id, t.kind, what)
	}
	w.model.began++
	w.capped(start{w.now, t.kind, t.sender, t.external})
	w.turns(t)
}

// window is a day as the caps count it, less what real time has moved meanwhile.
const window = 24*time.Hour - patience

// capped counts a start against the caps in any true 24 hours.
func (w *world) capped(s start) {
	m := w.model
	m.starts = append(slices.DeleteFunc(m.starts, func(o start) bool { return w.now.Sub(o.at) >= window }), s)
	all, external, hour := 0, 0, 0
	for _, o := range m.starts {
		if o.kind != s.kind {
			continue
		}
		all++
		if o.external {
			external++
		}
		if o.sender == s.sender && w.now.Sub(o.at) < time.Hour-patience {
			hour++
		}
	}
	if all > perDay || s.external && external > perDay/2 {
		w.disagree("%d starts of %ss in 24 hours, %d of them for others", all, s.kind, external)
	}
	if s.kind == "ask" && hour > 20 {
		w.disagree("%d starts in an hour for %s", hour, s.sender)
	}
}

// waits reports whether an ask of a stranger could start now, and was never started.
func (t *ticket) waits(now time.Time) bool {
	return t.kind == "ask" && t.external && t.state == "scheduled" && !t.late && !now.Before(t.due)
}

// turns holds a start against the promise that one sender's batch delays the first task of
// another by at most one start.
func (w *world) turns(t *ticket) {
	m := w.model
	if t.kind != "ask" || !t.external {
		return
	}
	waiting := map[string]bool{}
	for _, o := range m.tasks {
		if o.sender != t.sender && o.waits(w.now) && o.came.Before(w.now) {
			waiting[o.sender] = true
		}
	}
	for _, other := range externals {
		pair := [2]string{other, t.sender}
		if !waiting[other] || other == t.sender {
			delete(m.ahead, pair)
			continue
		}
		if m.ahead[pair]++; m.ahead[pair] > 1 {
			w.disagree("task %s of %s is the %d. start of that sender while one of %s waits", t.id, t.sender, m.ahead[pair], other)
		}
	}
	for _, other := range externals {
		delete(m.ahead, [2]string{t.sender, other}) // its turn has come
	}
}
