package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue"
	"pulse/lib/queue/door"
	"pulse/lib/shared/policy"
)

// keeping is what a policy says about the records that it rejects (limits.keep_refused).
type keeping struct {
	store     door.Store
	limits    *policy.Limits
	named     bool // a policy was named: without one nothing is kept, and nothing removed
	there     bool // the queue has a directory for them
	forgotten time.Time
}

// newKeeping makes the directory for what is kept, if an older pulse made the queue. A
// confined command could not.
func newKeeping(c *cli.Context, s door.Store, p *policy.Policy) (*keeping, error) {
	k := &keeping{store: s, limits: &p.Limits, named: c.String("policy") != ""}
	if p.Limits.KeepRefused == 0 {
		return k, nil
	}
	k.there = true
	var err error
	if q := s.Keeper().Dir; q != nil {
		k.there, err = q.Supply()
	}
	return k, err
}

// ask tells a batch what to keep. Nothing is kept that would leave less than twice
// limits.disk_reserve free, so that refused mail never stops what is accepted.
func (k *keeping) ask(b *queue.Batch) {
	b.Keep, b.Spare = k.limits.KeepRefused, k.store.Spare(k.limits.DiskReserve)
	if !k.there {
		b.Unkept = queue.NotKeptNowhere
	}
}

// forget removes what was kept long enough: when a command begins, and every hour.
func (k *keeping) forget(now time.Time) error {
	if !k.named || !k.forgotten.IsZero() && now.Sub(k.forgotten) < time.Hour {
		return nil
	}
	k.forgotten = now
	_, err := queue.Forget(k.store, k.limits.KeepRefused, "", now)
	return err
}
