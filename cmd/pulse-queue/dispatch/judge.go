package dispatch

import (
	"slices"

	"pulse/lib/authorize/judge"
	"pulse/lib/authorize/wire"
	"pulse/lib/authorize/workspace"
	"pulse/lib/queue"
	"pulse/lib/queue/aside"
	"pulse/lib/queue/runner"
	"pulse/lib/queue/seen"
	"pulse/lib/shared/record"
)

// keep keeps the session of a worker's client that has ended well, if something of it waits, or
// forgets it. What ended otherwise is started once more with the session that it had.
func (s *seat) keep(name, id string, last *queue.End) {
	if last.Kept = false; s == nil || last.Exit != 0 || last.Ungated != "" {
		return
	}
	session := s.judge.Result().Keep
	if last.Proposals == nil || len(last.Proposals.List) == 0 || len(session) > aside.MaxKept {
		session = nil
	}
	err := aside.Keep(seen.Dir(), name, id, session)
	last.Kept = err == nil && len(session) > 0
}

// seat is the judge of what the tools of one worker do, and the socket by which the worker's
// client asks it. The worker inherits nothing of it but the socket's name.
type seat struct {
	judge  *judge.Judge
	server *wire.Server
}

// seat makes the judge of an ask. It returns nil for a worker whose proposals nobody takes.
func (sh *shift) seat(claim *queue.Claim, watch *watched) (*seat, error) {
	if !sh.c.Bool("proposals") || claim.Identity.Effect() {
		return nil, nil
	}
	limits := &sh.policy.Limits
	j := &judge.Judge{Policy: sh.policy, World: workspace.World{}, Task: claim.Task.ID, Identity: claim.Who(), Pins: sh.pins, Files: watch.files}
	j.Last = claim.Task.Continues >= limits.MaxContinues
	if claim.Task.Continues+claim.Task.Revisions > 0 {
		session, _ := aside.Kept(seen.Dir(), sh.queue, claim.Task.ID)
		j.Kept = record.Value(session)
	}
	server, err := wire.Listen(j, runner.Descends)
	if err != nil {
		return nil, err
	}
	return &seat{j, server}, nil
}

// env is what the worker is told.
func (s *seat) env() []string {
	if s == nil {
		return nil
	}
	return []string{"PULSE_JUDGE=" + s.server.Path()}
}

func (s *seat) close() {
	if s != nil {
		s.server.Close()
	}
}

// fill records what the tools of a worker that has ended did.
func (s *seat) fill(last *queue.End) (parked []byte) {
	if s == nil {
		return nil
	}
	s.server.Close()
	left := s.judge.Result()
	last.Judged, last.Unread = left.Judged, !left.Counted
	if !left.Greeted && last.Exit == 75 { // it got nothing, and it is for later
		return slices.Clip(left.Parked)
	}
	last.Ungated, last.Unasked = left.Ungated, left.Greeted && left.Ungated != ""
	return slices.Clip(left.Parked)
}
