package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// chronicle is a queue whose clock is set by a test.
type chronicle struct{ *queuetest.Memory }

func (c chronicle) History(fn func(audit.Line) bool) error {
	return c.View(func(v queue.View) error { return v.Back(fn) })
}

// TestLeaps: a clock that went on for days in which nothing was done is told where silence has a line
// each day, until a person vouches for it; one that was wrong is in any case.
func TestLeaps(t *testing.T) {
	mail, brake := queuetest.Add(queuetest.Mails(1, 1)...), queuetest.Brake(audit.Released)
	const gap = "the log has no line for 12d, until 2026-11-20T07:00:00Z: nothing ran here, or the clock jumped ahead: by that clock, before it was believed, "
	for name, c := range map[string]struct {
		ago    []time.Duration // of lines, the first a mail
		mails  bool            // the last is one, too
		vouch  bool
		last   task.Event // besides
		change func(*Facts)
		want   string // "": nothing
	}{
		"no jump":             {ago: []time.Duration{50 * time.Hour, 4 * time.Hour}},
		"twelve days":         {ago: []time.Duration{13 * day, day}, want: gap + "nothing was done; timedatectl; if it is right: pulse-queue release --clock"},
		"and a mail":          {ago: []time.Duration{13 * day, day}, mails: true, want: gap + "1 added; "},
		"vouched for":         {ago: []time.Duration{13 * day, day}, vouch: true},
		"held":                {ago: []time.Duration{13 * day, day}, last: audit.Held},
		"a week ago":          {ago: []time.Duration{20 * day, 8 * day}},
		"silence is long":     {ago: []time.Duration{13 * day, day}, change: func(f *Facts) { f.MaxSilence = 14 * day }},
		"silence is not told": {ago: []time.Duration{13 * day, day}, change: func(f *Facts) { f.MaxSilence = 0 }},
		"for 40 days":         {ago: []time.Duration{41 * day, day}, change: func(f *Facts) { f.MaxSilence = 0 }, want: "the log has no line for 40d, "},
		"back":                {ago: []time.Duration{2 * day, 5 * day, 5*day - 2*time.Hour}, want: "the clock jumped 3d back, from "},
		"back, vouched for":   {ago: []time.Duration{day, 4 * day, 4*day - 2*time.Hour}, vouch: true, want: "the clock jumped 3d back, from "},
		"ahead, and right":    {ago: []time.Duration{3 * day, -5 * day, 2*day + 12*time.Hour}, want: "the clock jumped 8d ahead, from "},
	} {
		store := queuetest.NewMemory()
		do := func(op queuetest.Operation, at time.Time) {
			if err := op.Do(store, at); err != nil {
				t.Fatal(name, err)
			}
		}
		for i, ago := range c.ago {
			if op := brake; i == 0 {
				do(mail, now.Add(-ago))
			} else if c.mails && i == len(c.ago)-1 {
				do(queuetest.Add(queuetest.Mails(2, 1)...), now.Add(-ago))
			} else {
				do(op, now.Add(-ago))
			}
		}
		if c.last != "" {
			do(queuetest.Brake(c.last), now.Add(-time.Hour))
		}
		if c.vouch {
			do(queuetest.Confirm, now.Add(-time.Hour))
		}
		f := facts()
		if f.MaxRefused = 0; c.change != nil {
			c.change(f)
		}
		found, err := Look(chronicle{store}, f)
		if err != nil {
			t.Fatal(name, err)
		}
		i := slices.IndexFunc(found, func(x Finding) bool { return x.Code == codeJumped })
		if got := i >= 0 && c.want != "" && strings.HasPrefix(found[i].Line(), "clock_jumped: "+c.want); !got && (i >= 0 || c.want != "") {
			t.Errorf("%s: %+v, want %s", name, found, c.want)
		}
	}
}
