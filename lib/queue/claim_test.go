package queue

import (
	"testing"
	"time"

	"pulse/lib/policy"
	"pulse/lib/task"
	"pulse/lib/terms"
)

func TestDue(t *testing.T) {
	ask := Entry{Kind: task.Ask, Action: terms.ReadPublic, Message: true, Sender: KeyOf("me@example.com"), Since: now}
	later := func(since, notBefore time.Duration) Entry {
		e := ask
		e.Since, e.NotBefore = now.Add(since), now.Add(notBefore)
		return e
	}
	putOff := later(time.Second, time.Hour)
	putOff.PutOff = true
	external, effect := ask, Entry{Kind: task.Effect, Action: terms.ExternalSend, Since: now}
	external.External = true
	theirs := effect
	theirs.External = true
	full := spent{hour: map[Key]int{ask.Sender: 20}}
	half := spent{externalDay: 50}
	for _, c := range []struct {
		name  string
		run   Run
		entry Entry
		spent spent
		want  bool
	}{
		{"an ask", Run{}, ask, spent{}, true},
		{"an effect for asks", Run{}, effect, spent{}, false},
		{"an ask for effects", Run{Effect: terms.ExternalSend}, ask, spent{}, false},
		{"an effect", Run{Effect: terms.ExternalSend}, effect, spent{}, true},
		{"another effect", Run{Effect: terms.Destructive}, effect, spent{}, false},
		{"after a failure", Run{}, later(-time.Second, time.Minute), spent{}, false},
		{"waited", Run{}, later(-time.Minute, 0), spent{}, true},
		{"the clock went back after a failure", Run{}, later(time.Hour, 2*time.Hour), spent{}, true},
		{"the clock went back after submit --at", Run{}, putOff, spent{}, false},
		{"the sender had his share", Run{}, ask, full, false},
		{"effects have no share", Run{Effect: terms.ExternalSend}, effect, full, true},
		{"an effect for an external", Run{Effect: terms.ExternalSend}, theirs, half, false},
		{"externals had half of the day", Run{}, external, half, false},
		{"they had, this is the owner", Run{}, ask, half, true},
		{"externals had half of the run", Run{Max: 4, external: 2}, external, spent{}, false},
		{"the owner after that", Run{Max: 4, external: 2}, ask, spent{}, true},
	} {
		c.run.Policy = policy.Default()
		if c.run.Max == 0 {
			c.run.Max = 10
		}
		if got := c.run.due(&c.entry, &c.spent, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
