package queue

import (
	"testing"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

var now = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)

func TestDue(t *testing.T) {
	ask := store.Entry{Kind: task.Ask, Action: terms.ReadPublic, Message: true, Sender: store.KeyOf("me@example.com"), Since: now}
	later := func(since, notBefore time.Duration) store.Entry {
		e := ask
		e.Since, e.NotBefore = now.Add(since), now.Add(notBefore)
		return e
	}
	putOff := later(time.Second, time.Hour)
	putOff.PutOff = true
	external, effect := ask, store.Entry{Kind: task.Effect, Action: terms.ExternalSend, Since: now}
	external.External = true
	theirs := effect
	theirs.External = true
	full := usage{hour: map[store.Key]int{ask.Sender: 20}}
	half := usage{externalDay: 50}
	for _, c := range []struct {
		name  string
		run   Run
		entry store.Entry
		used  usage
		want  bool
	}{
		{"an ask", Run{}, ask, usage{}, true},
		{"an effect for asks", Run{}, effect, usage{}, false},
		{"an ask for effects", Run{Effect: terms.ExternalSend}, ask, usage{}, false},
		{"an effect", Run{Effect: terms.ExternalSend}, effect, usage{}, true},
		{"another effect", Run{Effect: terms.Destructive}, effect, usage{}, false},
		{"after a failure", Run{}, later(-time.Second, time.Minute), usage{}, false},
		{"waited", Run{}, later(-time.Minute, 0), usage{}, true},
		{"the clock went back after a failure", Run{}, later(time.Hour, 2*time.Hour), usage{}, true},
		{"the clock went back after submit --at", Run{}, putOff, usage{}, false},
		{"the sender had his share", Run{}, ask, full, false},
		{"effects have no share", Run{Effect: terms.ExternalSend}, effect, full, true},
		{"an effect for an external", Run{Effect: terms.ExternalSend}, theirs, half, false},
		{"externals had half of the day", Run{}, external, half, false},
		{"they had, this is the owner", Run{}, ask, half, true},
		{"externals had half of the run", Run{Max: 4, external: 2}, external, usage{}, false},
		{"the owner after that", Run{Max: 4, external: 2}, ask, usage{}, true},
	} {
		c.run.Policy = policy.Default()
		if c.run.Max == 0 {
			c.run.Max = 10
		}
		if got := c.run.due(&c.entry, &c.used, now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
