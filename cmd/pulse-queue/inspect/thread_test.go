package inspect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/hint"
	"pulse/lib/shared/task"
)

// logOf returns a store with these lines.
func logOf(t *testing.T, lines ...audit.Line) *queuetest.Memory {
	t.Helper()
	m := queuetest.NewMemory()
	for i := range lines {
		lines[i].Time = queuetest.Epoch
	}
	err := m.Update(func(store.View) (*store.Commit, error) { return &store.Commit{Lines: lines}, nil })
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// refused is a record of the nth id that was refused.
func refused(n int, l audit.Line) audit.Line {
	l.Event, l.Task, l.Kind = task.Refused, nth(n), task.Ask
	return l
}

func nth(n int) string { return fmt.Sprintf("%032x", n) }

func link(answers, thread int) audit.Line {
	return audit.Line{Link: task.Link{Answers: nth(answers), Thread: nth(thread)}}
}

// TestConversationIsBounded: of very much, the beginning and the end are told, and how much
// was left out between them.
func TestConversationIsBounded(t *testing.T) {
	lines := []audit.Line{refused(0, audit.Line{})}
	for i := range maxTold + 7 {
		lines = append(lines, audit.Line{Event: audit.Discarded, Task: nth(0), Count: 1 + i})
	}
	for i := range maxTurns + 20 {
		lines = append(lines, refused(1+i, link(i, 0)))
	}
	s := logOf(t, lines...)
	first, err := began(s, nth(maxTurns))
	if first != nth(0) || err != nil {
		t.Fatal(first, err)
	}
	talk := conversation{first: first, known: map[string]*turn{}}
	if err := talk.read(s); err != nil {
		t.Fatal(err)
	}
	if n := len(talk.turns); n != maxTurns || talk.left != 21 || talk.turns[0].task.ID != nth(0) ||
		talk.turns[1].task.ID != nth(22) || talk.turns[n-1].task.ID != nth(maxTurns+20) {
		t.Errorf("%d turns, %d left out, from %s", n, talk.left, talk.turns[1].task.ID)
	}
	told := strings.Join(talk.tell(0, hint.Where{}), "\n")
	for _, want := range []string{"\n  8 events are left out here: pulse-queue log --task " + nth(0), "57 proposals", ": 9 proposals"} {
		if !strings.Contains(told, want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	if strings.Contains(told, ": 8 proposals") {
		t.Error(told)
	}
	if told := strings.Join(talk.tell(1, hint.Where{}), "\n"); !strings.HasPrefix(told, "\n21 tasks are left out here\n\n") {
		t.Error(told)
	}
}

// TestTurnIsBounded: a target or a text is as long as its writer likes, and a conversation has
// many.
func TestTurnIsBounded(t *testing.T) {
	one := turn{}
	one.add(nil, &audit.Line{Target: []string{strings.Repeat("x", 400_000) + "@x.example"}})
	if n := len(one.target[0]); n > 4*maxNote {
		t.Errorf("a target of %d bytes", n)
	}
	if n := len(firstLine(strings.Repeat("é", 200_000))); n > 4*maxNote {
		t.Errorf("a subject of %d bytes", n)
	}
}

// TestConversationEnds: whatever the log says of where tasks come from, the search ends.
func TestConversationEnds(t *testing.T) {
	s := logOf(t,
		refused(1, audit.Line{Parent: nth(1)}),
		refused(2, link(3, 3)), refused(3, link(2, 2)),
		refused(4, audit.Line{Parent: nth(5)}),
		refused(6, audit.Line{Parent: "\x1b[2J"}),
		audit.Line{Event: audit.Noted, Task: nth(7)},
	)
	for from, want := range map[int]int{1: 1, 2: 3, 3: 2, 4: 4, 6: 6} {
		if got, err := began(s, nth(from)); got != nth(want) || err != nil {
			t.Errorf("%d: %s, %v", from, got, err)
		}
	}
	for _, unknown := range []int{5, 7, 8} {
		if got, err := began(s, nth(unknown)); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%d: %s, %v", unknown, got, err)
		}
	}
}
