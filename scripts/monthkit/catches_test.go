package monthkit

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// story is a world without a machine: what its log and its workers would say is told to the model.
type story struct{ *world }

func newStory(t *testing.T) *story {
	return &story{&world{t: t, model: newModel(), now: time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC)}}
}

func (s *story) later(d time.Duration) { s.now = s.now.Add(d) }

// mail lets a mail come, and become a task.
func (s *story) mail(id, from string, p proof) {
	s.model.mails[id] = &mail{id: id, from: from, proof: p, came: s.now}
	s.tell(line{Event: "added", Task: "t" + id, Kind: "ask", To: "scheduled", Sender: from, Trust: trust(from),
		MessageID: id, Source: "imaps:"})
}

func trust(from string) string {
	if from == owner {
		return "owner_verified_email"
	}
	return "external_verified"
}

func (s *story) tell(l line) { s.fold(&l) }

// start starts a task once, and its worker notes it so many times.
func (s *story) start(id string, seen int) {
	s.tell(line{Event: "started", Task: id, From: "scheduled", To: "running"})
	for range seen {
		s.worked("ask", id)
	}
	s.tell(line{Event: "finished", Task: id, From: "running", To: "completed"})
}

// asks lets mail come and be worked on, one each minute.
func (s *story) asks(from string, n int) {
	for range n {
		s.sent++
		id := fmt.Sprintf("%d@%s", s.sent, from)
		s.mail(id, from, genuine)
		s.later(4 * time.Minute)
		s.start("t"+id, 1)
	}
}

// effect makes one that waits for the person.
func (s *story) effect() {
	s.tell(line{Event: "added", Task: "e", Kind: "effect", To: "awaiting_review"})
}

func (s *story) prints(at time.Time, texts ...string) {
	for _, text := range texts {
		s.letters = append(s.letters, &letter{at, "health", text})
	}
}

// TestModelCatches: each thing that must not be is found, and nothing is found where all is well.
func TestModelCatches(t *testing.T) {
	for name, c := range map[string]struct {
		want string // "": nothing
		tell func(*story)
	}{
		"all is well": {"", func(s *story) {
			s.asks(owner, 14)
			s.asks(externals[1], 14)
			s.effect()
			s.model.yes["e"] = 1
			s.tell(line{Event: "approved", Task: "e", From: "awaiting_review", To: "scheduled"})
			s.tell(line{Event: "started", Task: "e", From: "scheduled", To: "running", Action: "external_send"})
			s.worked("sent", "e")
		}},
		"a mail is two tasks": {"is two tasks", func(s *story) {
			s.mail("1", owner, genuine)
			s.tell(line{Event: "added", Task: "other", To: "scheduled", MessageID: "1", Source: "imaps:"})
		}},
		"a task comes twice": {"was added twice", func(s *story) { s.mail("1", owner, genuine); s.mail("1", owner, genuine) }},
		"a forged mail":      {"forged mail", func(s *story) { s.mail("1", owner, forged) }},
		"an unknown mail":    {"never sent", func(s *story) { s.tell(line{Event: "refused", MessageID: "x", Source: "imaps:"}) }},
		"a genuine one refused": {"genuine mail", func(s *story) {
			s.model.mails["1"] = &mail{id: "1", proof: genuine}
			s.tell(line{Event: "refused", MessageID: "1", Source: "imaps:"})
		}},
		"a worker started twice": {"started 2 times", func(s *story) { s.mail("1", owner, genuine); s.start("t1", 2) }},
		"a start without a log":  {"not in the log", func(s *story) { s.worked("ask", "t1") }},
		"a cap":                  {"31 starts", func(s *story) { s.asks(owner, 31) }},
		"the cap of others":      {"16 of them for others", func(s *story) { s.asks(externals[1], 16) }},
		"an hour's limit": {"starts in an hour", func(s *story) {
			for i := range 21 {
				s.mail(fmt.Sprint(i), owner, genuine)
				s.start(fmt.Sprint("t", i), 1)
			}
		}},
		"no turns": {"2. start of that sender", func(s *story) {
			s.mail("1", externals[0], genuine)
			s.mail("2", externals[0], genuine)
			s.mail("3", externals[1], genuine)
			s.later(time.Minute)
			s.start("t1", 1)
			s.start("t2", 1)
		}},
		"turns": {"", func(s *story) {
			s.mail("1", externals[0], genuine)
			s.mail("2", externals[0], genuine)
			s.mail("3", externals[1], genuine)
			s.later(time.Minute)
			s.start("t1", 1)
			s.start("t3", 1)
			s.start("t2", 1)
		}},
		"an approval by nobody": {"nobody said yes", func(s *story) {
			s.effect()
			s.tell(line{Event: "approved", Task: "e", From: "awaiting_review", To: "scheduled"})
		}},
		"two starts for one yes": {"without a yes of its own", func(s *story) {
			s.effect()
			s.model.yes["e"] = 1
			s.tell(line{Event: "approved", Task: "e", From: "awaiting_review", To: "scheduled"})
			for range 2 {
				s.tell(line{Event: "started", Task: "e", From: "scheduled", To: "running", Action: "external_send"})
				s.model.tasks["e"].state = "scheduled"
			}
		}},
		"it expires untold": {"expires, and was told", func(s *story) {
			s.effect()
			s.later(340 * time.Hour)
			s.tell(line{Event: "expired", Task: "e", From: "awaiting_review", To: "rejected"})
		}},
		"it expires too soon": {"expires after 80h", func(s *story) {
			s.effect()
			s.later(40 * time.Hour)
			s.model.tasks["e"].told = s.now
			s.later(40 * time.Hour)
			s.tell(line{Event: "expired", Task: "e", From: "awaiting_review", To: "rejected"})
		}},
		"pruned too soon": {"is pruned", func(s *story) {
			s.asks(owner, 1)
			s.later(time.Hour)
			s.tell(line{Event: "pruned", Task: "t1@" + owner, From: "completed"})
		}},
		"a state that it was not in": {`but it was "completed"`, func(s *story) {
			s.asks(owner, 1)
			s.tell(line{Event: "started", Task: "t1@" + owner, From: "scheduled", To: "running"})
		}},
		"nothing becomes of a mail": {"nothing became", func(s *story) {
			s.model.order = []*mail{{id: "1", proof: genuine, came: s.now}}
			s.later(day)
			s.overdue()
		}},
		"a mail on a good day": {"cron mails 1 of health", func(s *story) { s.prints(s.now, "x"); s.reckon(s.now) }},
		"three on a bad one": {"cron mails 3 of health", func(s *story) {
			s.incidents = []*incident{{from: s.now, to: s.now.Add(hour), named: regexp.MustCompile("bad")}}
			s.prints(s.now, "bad", "bad", "bad")
			s.reckon(s.now.Add(day))
		}},
		"nothing names it": {"nothing names", func(s *story) {
			s.incidents = []*incident{{name: "x", from: s.now, to: s.now.Add(3 * hour), named: regexp.MustCompile("bad")}}
			s.prints(s.now.Add(2*hour), "bad")
			s.reckon(s.now.Add(day))
		}},
		"named, and told twice": {"", func(s *story) {
			s.incidents = []*incident{{from: s.now, to: s.now.Add(hour), named: regexp.MustCompile("bad")}}
			s.prints(s.now, "bad", "it ended")
			s.reckon(s.now.Add(day))
		}},
	} {
		s := newStory(t)
		c.tell(s)
		all := strings.Join(s.model.wrong, "\n")
		if c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: want %q in: %s", name, c.want, all)
		}
	}
}
