package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulse/lib/queue/store"
	"pulse/lib/shared/fault"
)

// ErrDoubt means that it is not known whether a commit happened. It did or it did not, whole;
// the next command finds it as it is.
var ErrDoubt = errors.New("it is not known whether this was committed")

// errUndone means that a commit did not happen.
var errUndone = fmt.Errorf("nothing was changed: %w", store.ErrAway)

// untilInterrupted returns the context of a commit, which ends only a grace after the command
// was told to end.
func (s *Store) untilInterrupted() (context.Context, context.CancelFunc) {
	return s.patient(1 << 62)
}

// decide finds out what became of a commit of n lines after seq, whose answer did not come, or
// came with a notice, and returns its lines. It asks whoever is the primary now. A commit that is
// still undecided there holds the lock, so the log shows what became of it: the mark is at no
// other commit's last line. The answer is committed itself, which covers what it saw: after a
// failover that may not have been at the standby yet.
func (s *Store) decide(seq int64, n int, mark int64, cause error) ([]row, error) {
	ctx, cancel := s.patient(patience)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		s.drop()
		lines, there, err := s.marked(ctx, seq, n, mark)
		switch {
		case err == nil && there:
			return lines, nil
		case errors.Is(err, errNoStandby):
			return nil, s.noStandby(ErrDoubt)
		case err == nil:
			return nil, fault.Temporaryf("run it again", "%s: %w: %w", s.name, errUndone, s.why(cause))
		}
		select {
		case <-ctx.Done():
			return nil, fault.Temporaryf("run it again", "%s: %w: %v", s.name, ErrDoubt, s.why(errors.Join(cause, err)))
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

// marked returns n lines after seq, and whether the last of them has a mark. Nothing is known of
// a commit without lines, and nothing depends on it. What marked reports is durable.
func (s *Store) marked(ctx context.Context, seq int64, n int, mark int64) (lines []row, there bool, err error) {
	if err := s.connect(ctx); err != nil {
		return nil, false, err
	}
	look := append(beginUpdate[:len(beginUpdate):len(beginUpdate)], say("SELECT line FROM pulse.audit WHERE seq > $1 ORDER BY seq LIMIT $2", seq, int64(n)), say("SELECT FROM pulse.audit WHERE seq = $1 AND mark = $2", seq+int64(n), mark))
	all, err := s.ask(ctx, look...)
	if alone(all) {
		return nil, false, errNoStandby
	}
	if err != nil {
		return nil, false, err
	}
	s.notices = nil
	if _, err := s.ask(ctx, say("SELECT pulse.touch()"), say("COMMIT")); err != nil {
		return nil, false, err
	}
	if len(s.notices) > 0 {
		return nil, false, errors.New(s.notices[0])
	}
	return all[len(look)-2], n == 0 || len(all[len(look)-1]) == 1, nil
}
