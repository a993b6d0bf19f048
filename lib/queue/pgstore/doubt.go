package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/fault"
)

// ErrDoubt means that it is not known whether a commit happened. It did or it did not, whole;
// the next command finds it as it is.
var ErrDoubt = errors.New("it is not known whether this was committed")

// errUndone means that a commit did not happen.
var errUndone = fmt.Errorf("nothing was changed: %w", queue.ErrAway)

// untilInterrupted returns the context of a commit, which ends only a grace after the command
// was told to end.
func (s *Store) untilInterrupted() (context.Context, context.CancelFunc) {
	return s.patient(1 << 62)
}

// decide finds out what became of a commit whose answer did not come, or came with a notice.
// It asks whoever is the primary now. A commit that is still undecided there holds the lock,
// so the log shows what became of it. The answer is committed itself, which covers what it
// saw: after a failover that may not have been at the standby yet.
func (s *Store) decide(end tail, cause error) error {
	ctx, cancel := s.patient(patience)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		s.drop()
		there, err := s.isEnd(ctx, end)
		switch {
		case err == nil && there:
			return nil
		case errors.Is(err, errNoStandby):
			return s.noStandby(ErrDoubt)
		case err == nil:
			return fault.Temporaryf("run it again", "%s: %w: %w", s.name, errUndone, s.why(cause))
		}
		select {
		case <-ctx.Done():
			return fault.Temporaryf("run it again", "%s: %w: %v", s.name, ErrDoubt, s.why(errors.Join(cause, err)))
		case <-time.After(wait):
		}
	}
}

// why returns what is known of the cause of a doubt.
func (s *Store) why(err error) error {
	if err == nil {
		return errors.New("the server gave a notice as it committed")
	}
	return err
}

// isEnd reports whether the log has the line that a commit would have ended with. What it
// reports is durable.
func (s *Store) isEnd(ctx context.Context, end tail) (bool, error) {
	if err := s.connect(ctx); err != nil {
		return false, err
	}
	look := append(beginUpdate[:len(beginUpdate):len(beginUpdate)], say("SELECT line FROM pulse.audit WHERE seq = $1 AND (who = session_user OR $2 = 0)", end.seq, end.lines))
	all, err := s.ask(ctx, look...)
	if alone(all) {
		return false, errNoStandby
	}
	if err != nil {
		return false, err
	}
	line := all[len(all)-1]
	there := end.seq == 0 || len(line) == 1 && audit.Hash(line[0][0]) == end.head
	s.notices = nil
	if _, err := s.ask(ctx, say("SELECT pulse.touch()"), say("COMMIT")); err != nil {
		return false, err
	}
	if len(s.notices) > 0 {
		return false, errors.New(s.notices[0])
	}
	return there, nil
}
