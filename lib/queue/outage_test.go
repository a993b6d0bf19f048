package queue_test

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/queuetest"
	"pulse/lib/queue/store"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// outage lets an ask come when a provider stops to answer, and starts it in each minute in
// which it is due. exit is what the worker exits with while the outage lasts. It returns the
// task as it ended, and the number of starts.
func outage(t *testing.T, lasts time.Duration, exit func(start int) int) (end task.Task, starts int) {
	t.Helper()
	store := queuetest.NewMemory()
	do := func(op queuetest.Operation, at time.Duration) {
		t.Helper()
		if err := op.Do(store, now.Add(at)); err != nil {
			t.Fatal(op.Name, err)
		}
	}
	do(queuetest.Add(queuetest.Mails(1, 1)...), 0)
	for at := time.Duration(0); starts < 100; starts++ {
		do(queuetest.Start(""), at)
		code := 0
		if at < lasts {
			code = exit(starts)
		}
		do(queuetest.Finish(queue.End{Exit: code}), at)
		if end = only(t, store); end.State != task.Scheduled {
			return end, starts + 1
		}
		at = (end.NotBefore.Sub(now) + time.Minute - 1).Truncate(time.Minute)
	}
	return end, starts
}

// only returns the only task of a store.
func only(t *testing.T, s store.Store) (one task.Task) {
	t.Helper()
	err := s.View(func(v store.View) error {
		for _, st := range task.States {
			if first, found, err := queuetest.First(v, st); found || err != nil {
				one = first.Task
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// TestOutageFailsNothing: with the attempts of the default policy an ask survives an outage
// of any length up to a night, whether its worker says that it is one or not, or both by turns.
func TestOutageFailsNothing(t *testing.T) {
	if got, want := queuetest.Policy.Limits.MaxAttempts, policy.Default().Limits.MaxAttempts; got != want {
		t.Fatalf("these lives have %d attempts, want the default %d", got, want)
	}
	always := func(code int) func(int) int { return func(int) int { return code } }
	for name, c := range map[string]struct {
		exit   func(int) int
		added  time.Duration // how much later than the outage ends it is done, at most
		starts int           // at most
	}{
		"a worker that says so":               {always(75), time.Hour, 18},
		"a naive worker":                      {always(1), 12 * time.Hour, 3},
		"a worker that is killed":             {always(-1), 12 * time.Hour, 3},
		"one that says so, and fails at last": {func(n int) int { return 75 - 74*min(1, n/16) }, 12 * time.Hour, 19},
		"one that fails, and then says so":    {func(n int) int { return 1 + 74*min(1, n) }, time.Hour, 19},
	} {
		worst := time.Duration(0)
		for lasts := time.Duration(0); lasts <= 12*time.Hour; lasts += 7*time.Minute + 30*time.Second {
			end, starts := outage(t, lasts, c.exit)
			if end.State != task.Completed || starts > c.starts {
				t.Fatalf("%s, %s: %s (%s) after %d starts", name, lasts, end.State, end.Reason, starts)
			}
			worst = max(worst, end.Since.Sub(now.Add(lasts)))
		}
		if worst > c.added {
			t.Errorf("%s: done %s after the end of the outage, want at most %s", name, worst, c.added)
		}
		t.Logf("%s: at worst %s after the end of the outage", name, worst)
	}
}

// TestOutageIsShort: a worker that says so waits about as long as the outage lasted, at most.
func TestOutageIsShort(t *testing.T) {
	for lasts := time.Minute; lasts < 3*time.Hour; lasts += time.Minute {
		end, _ := outage(t, lasts, func(int) int { return 75 })
		if added := end.Since.Sub(now.Add(lasts)); end.State != task.Completed || added > min(time.Hour, lasts+time.Minute) {
			t.Errorf("%s: %s, %s after its end", lasts, end.State, added)
		}
	}
}

// TestPutOffForEver: a few mails that a worker puts off again and again, such as because its
// provider takes them for too large each time, don't use up the share of all external senders.
func TestPutOffForEver(t *testing.T) {
	store, p := queuetest.NewMemory(), policy.Default()
	p.AllowedExternal = []string{"eve@partner.example", "friend@partner.example"}
	add := func(at time.Duration, uid int, sender string) {
		t.Helper()
		mail := strings.NewReplacer("owner_verified_email", "external_verified", "me@example.com", sender)
		if err := queuetest.Add(mail.Replace(queuetest.Mail(uid, terms.Allow))).Do(store, now.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	for uid := range 4 {
		add(0, uid+1, "eve@partner.example")
	}
	const came = 72 * time.Hour
	started := false
	for at := time.Duration(0); at < came+time.Hour; at += 10 * time.Minute {
		if at == came {
			add(at, 9, "friend@partner.example")
		}
		run := queue.Run{Policy: p, Max: 10, Now: func() time.Time { return now.Add(at) }}
		for claimed := true; claimed; {
			err := queue.Update(store, func(tx *queue.Tx) error {
				c, _, err := run.Next(tx, func(string) error { return nil })
				if claimed = c != nil; err != nil || !claimed {
					return err
				}
				started = started || c.Identity.Sender == "friend@partner.example"
				_, err = queue.Finish(tx, c, queue.End{Exit: 75}, &p.Limits, run.Now())
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if !started {
		t.Error("an hour after the mail of another sender came, it was not started")
	}
}
