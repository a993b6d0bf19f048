package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/approval"
	"pulse/lib/shared/task"
)

// Yes returns a person's yes to the task that was shown, not signed yet.
func Yes(shown *Stored, by string, level approval.Level, now time.Time) approval.Approval {
	given := now.UTC().Truncate(time.Second) // a signed statement has whole seconds
	return approval.Approval{
		Task: shown.Task.ID, Digest: shown.Task.Digest, Action: shown.Decision.Action, Target: shown.Target(),
		Text: shown.OpensText(),
		By:   by, Level: level, Nonce: approval.Nonce(), Given: given, Expires: given.Add(approval.Lifetime),
	}
}

// Asked returns the yes that is asked for from elsewhere while a task waits for wait at
// most: its Statement is what a person signs to say yes, its Refusal to say no. It is made
// of the task and of when the task came to wait, so that it can be made again where the
// answer is taken, and a task that comes to wait again is asked about anew. A task that came to wait
// by a clock that was ahead has waited since that went back, and its question is good from then on.
// Level, Signer and Signature are for the answer.
func Asked(s *Stored, c *clock.Clock, wait time.Duration) approval.Approval {
	a := Yes(s, "", approval.Signature, s.Task.Since)
	a.Nonce = askedNonce(s)
	if at := c.Of(s.Task.Since); at.Before(s.Task.Since) && !at.Equal(c.Now) { // clocks may differ a little
		a.Given = at.UTC().Truncate(time.Second)
	}
	a.Expires = a.Given.Add(min(wait, approval.LongestWait).Truncate(time.Second))
	return a
}

// askedNonce returns the nonce of a question: another one for each task, for other bytes,
// and each time the task comes to wait.
func askedNonce(s *Stored) string {
	var b []byte
	for _, field := range []string{
		"pulse-approve", s.Task.ID, s.Task.Digest, strconv.FormatInt(s.Task.Since.UnixNano(), 10),
	} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(field))), field...)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Approve records a person's yes to the task that was shown.
func Approve(tx *Tx, shown *Stored, yes approval.Approval, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	change := s.Task.Change // with NotBefore: a task that a person put off stays so
	if s.OpensText() {
		// what its reader used up is not its worker's
		change.Attempts, change.Deferred, change.Restarts = 0, 0, 0
	}
	change.Since, change.Reason = now.UTC(), reasonApproved
	line := s.move(task.Approved, task.Scheduled, change)
	line.By, line.Level, line.Approval = yes.By, yes.Level, &yes
	return tx.Move(line)
}

// Deny records a person's no to the task that was shown.
func Deny(tx *Tx, shown *Stored, by string, level approval.Level, reason string, now time.Time) error {
	s, err := same(tx, shown)
	if err != nil {
		return err
	}
	change := s.Task.Change
	change.Since, change.NotBefore, change.Reason = now.UTC(), time.Time{}, reason
	line := s.move(task.Denied, task.Rejected, change)
	line.By, line.Level = by, level
	return tx.Move(line)
}

// same loads a task again, and fails if it is not what was shown any more.
func same(tx *Tx, shown *Stored) (Stored, error) {
	now, err := tx.Where(shown.Task.ID)
	if err != nil {
		return Stored{}, err
	}
	if now != shown.Task.State {
		return Stored{}, fmt.Errorf("%w: the task is %s now", store.ErrConflict, now)
	}
	s, err := Load(tx, now, shown.Task.ID)
	// It may have been answered and started, and wait again: then a person has to see it again.
	if err == nil && (s.Task.Digest != shown.Task.Digest || !s.Task.Since.Equal(shown.Task.Since)) {
		err = fmt.Errorf("%w: the task is not what was shown any more", store.ErrConflict)
	}
	return s, err
}
