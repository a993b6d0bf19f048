package main

import (
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/approve/desk"
	"pulse/lib/queue"
	"pulse/lib/queue/consent"
	"pulse/lib/queue/door"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/cmdline"
	"pulse/lib/shared/fault"
)

// nobody is the uid of the worker for consume, which has none.
const nobody = -1

// consume spends a grant for a script that is about to reach a target.
func consume(c *cli.Context) error {
	p, err := cmdline.PolicyOrDefault(c)
	if err != nil {
		return err
	}
	proving := consent.Proving{Require: approval.Level(p.Approval.Require), Outbound: p}
	if proving.Signed, err = desk.SignedHere(c.Context, p); err != nil {
		return err
	}
	s, err := door.Queue(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if proving.Vouch, err = desk.VouchAhead(p, s.Keeper(), &desk.Rights{UID: nobody}); err != nil {
		return err
	}
	if err := confineConsume(c, s, &proving); err != nil {
		return err
	}
	var why error
	err = queue.Update(s, func(tx *queue.Tx) error {
		now := time.Now()
		g, err := queue.Consume(tx, &proving, c.Args().First(), c.String("task"), now)
		if err == nil && g.Level == approval.Signature && c.String("policy") == "" {
			return fault.Usagef("give --policy, or PULSE_POLICY",
				"the grant is signed, and only a policy says how to verify it")
		}
		why = nil // of an Update that was made again
		refused, failed := queue.Withhold(tx, err, c.String("task"), now)
		if refused {
			why = err
			return failed
		}
		return err
	})
	if err != nil || why == nil {
		return err
	}
	return fault.Refusedf(unspent(c, why), "%w", why)
}

// unspent returns what to type after a refusal.
func unspent(c *cli.Context, why error) string {
	switch {
	case errors.Is(why, queue.ErrHeld):
		return "a person ends it: pulse-queue release"
	case errors.Is(why, queue.ErrLost):
		return door.Restored(c)
	case errors.Is(why, queue.ErrTarget):
		return "see outbound.allow in man 5 pulse-policy"
	}
	return "a person can say yes: pulse-approve grant TARGET"
}

// confineConsume gives up all but the queue. Where a grant is signed it can't: ssh-keygen
// needs more.
func confineConsume(c *cli.Context, s door.Store, proving *consent.Proving) error {
	if proving.Signed != nil {
		return cmdline.Unconfined(c, "a grant that is signed is checked by ssh-keygen")
	}
	_, err := door.Confine(c, s)
	return err
}
