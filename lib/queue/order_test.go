package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// at returns a mail at a position of a source.
func at(source string, validity, uid uint32) string {
	line := strings.Replace(queuetest.Mail(int(uid), terms.Allow), queuetest.Source, source, 1)
	return strings.Replace(line, `"uidvalidity":7`, fmt.Sprintf(`"uidvalidity":%d`, validity), 1)
}

// TestOrder: a record that lies before an earlier one of its source is an error, and whatever a
// filter can do without changing the order is none.
func TestOrder(t *testing.T) {
	const timed = audit.Timed
	printed := strings.TrimSuffix(at("s", 7, 1), "}") + `,"task":{"id":"` + strings.Repeat("a", 32) + `","kind":"ask"}}`
	for name, c := range map[string]struct {
		lines []string
		bad   bool
	}{
		"in order":                   {lines: []string{at("s", 7, 1), at("s", 7, 2), at("s", 7, 9)}},
		"backwards":                  {lines: []string{at("s", 7, 2), at("s", 7, 1)}, bad: true},
		"one late":                   {lines: []string{at("s", 7, 1), at("s", 7, 4), at("s", 7, 5), at("s", 7, 3)}, bad: true},
		"some left out":              {lines: []string{at("s", 7, 1), at("s", 7, 9)}},
		"twice":                      {lines: []string{at("s", 7, 2), at("s", 7, 2)}},
		"other sources between":      {lines: []string{at("s", 7, 2), at("r", 7, 1), at("s", 7, 3), at("r", 7, 2)}},
		"backwards, others between":  {lines: []string{at("s", 7, 2), at("r", 7, 3), at("s", 7, 1)}, bad: true},
		"another UIDVALIDITY":        {lines: []string{at("s", 7, 2), at("s", 8, 1)}},
		"backwards, another between": {lines: []string{at("s", 8, 9), at("s", 7, 5), at("s", 8, 1)}, bad: true},
		"without a UID":              {lines: []string{at("s", 7, 2), at("s", 7, 0), at("s", 7, 3)}},
		"a queue has printed it":     {lines: []string{at("s", 7, 2), printed}},
		"in time":                    {lines: []string{at("s", timed|5, 100), at("s", timed|4, 100), at("s", timed|3, 101)}},
		"back in time":               {lines: []string{at("s", timed|4, 101), at("s", timed|5, 100)}, bad: true},
		"time, then history":         {lines: []string{at("s", timed|4, 101), at("s", 0, 9)}},
		"history, then time":         {lines: []string{at("s", 0, 9), at("s", timed|4, 101)}, bad: true},
	} {
		b := newShelf(t).batch()
		var err error
		for _, line := range c.lines {
			if err != nil {
				t.Errorf("%s: %v before the last", name, err)
			}
			err = put(b, line)
		}
		if errors.Is(err, queue.ErrOrder) != c.bad || err != nil && !c.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPositionsWait: no position moves while the input may go on, whatever was committed, and
// at its end all of them do.
func TestPositionsWait(t *testing.T) {
	s := newShelf(t)
	b := s.batch(at("s", 7, 1), at("r", 7, 4))
	b.Open = true
	position := func(source string) (uid uint32) {
		s.view(func(v store.View) error {
			p, _, err := queue.PositionOf(v, source)
			uid = p.UID
			return err
		})
		return uid
	}
	if got := s.commit(b); len(got) != 2 || position("s") != 0 || position("r") != 0 {
		t.Errorf("%v, and the positions are %d and %d", got, position("s"), position("r"))
	}
	if err := put(b, at("s", 7, 3)); err != nil {
		t.Fatal(err)
	}
	s.commit(b.Take())
	if err := put(b, at("s", 7, 2)); !errors.Is(err, queue.ErrOrder) {
		t.Errorf("in another batch: %v", err)
	}
	if position("s") != 0 {
		t.Errorf("the position is %d", position("s"))
	}
	b.Take()
	b.Open = false
	if s.commit(b); position("s") != 3 || position("r") != 4 {
		t.Errorf("at the end the positions are %d and %d", position("s"), position("r"))
	}
	if events := s.events(); len(events) != 4 || events[3] != audit.Read || events[0] != task.Added {
		t.Errorf("%v", events)
	}
}
