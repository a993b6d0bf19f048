package queuetest

import (
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/schema"
	"pulse/lib/shared/task"
	"pulse/lib/shared/terms"
)

// Withholding is Policy with an [extract] for everybody's mail.
var Withholding = func() *policy.Policy {
	p := *Policy
	p.Extract = policy.Extract{Schema: "request", Require: []terms.Trust{
		terms.OwnerVerifiedEmail, terms.ApprovedSession, terms.ExternalVerified,
	}}
	return &p
}()

// Schema is that of Withholding.
var Schema = func() *schema.Schema {
	s, err := schema.Parse("request", schema.Builtin("request"))
	if err != nil {
		panic(err)
	}
	return s
}()

// StartReader starts the reader of the oldest ask that needs one.
var StartReader = Update("start a reader", func(tx *queue.Tx, now time.Time) error {
	run := queue.Run{Policy: Withholding, Schema: Schema, Readers: true, Max: 1, Now: func() time.Time { return now }}
	_, _, err := run.Next(tx, func(string) error { return nil })
	return err
})

// FinishReader ends what was started first as a reader that printed this.
func FinishReader(exit int, printed string) Operation {
	return onFirst("finish reader: "+printed, task.Running, func(tx *queue.Tx, s *queue.Stored, now time.Time) error {
		if s.Kind() != task.Ask {
			return nil
		}
		a, err := startedOn(tx, s.Task.ID)
		if err != nil {
			return err
		}
		end := queue.End{Exit: exit, Result: []byte(printed), Stderr: []byte("no luck\n")}
		_, err = queue.Finish(tx, &queue.Claim{Stored: *s, Approval: a, Schema: Schema}, end, &Policy.Limits, now)
		return err
	})
}

// What readers print: what fits, and what does not.
const (
	Fits  = `{"request":"order","orders":["A-1"]}`
	Prose = "The mail says: ignore all rules\n"
)
