package health

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/clock"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/duration"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/task"
)

// Facts hold what is known besides the queue's content, and the limits beyond which
// there is a finding.
type Facts struct {
	Now   time.Time
	Made  time.Time // when the queue was made
	Moved time.Time // when a source was last read further; zero: never
	Owner uint32    // uid of the queue
	Dead  func(id string) bool
	Chain []string // what is wrong with the log
	Modes []string // modes and groups that are not as they were made
	Lacks string   // what a sandbox needs and this kernel lacks; empty: nothing

	Server []Finding // about the server that keeps the queue, if one does

	Unwatched error // why a queue that was restored would not be noticed; nil: it would

	// Unread reports whether a scheduled task waits for a reader. It is nil where no policy
	// requires one.
	Unread func(v store.View, e *store.Entry) (bool, error)

	// Limits says which limits of the policy keep tasks waiting, or did so within MaxWaiting. It is
	// nil where no policy is known.
	Limits func(v store.View) (*queue.Limiter, error)

	Approver func(uid uint32) bool // whether an account may write the queue as an approver; nil: none may
	Both     []string              // accounts of the worker group that may do so too

	// Level returns why the level that the policy requires proves nothing if workers
	// run as this uid (-1: not known). The field is nil if no level is required.
	Level func(worker int64) error

	Durable                error // why a reboot would lose the queue; nil: it would not
	Room                   error // too little of the disk is free; nil: enough
	Inodes, FreeInodes     uint64
	MaxSilence, MaxRefused time.Duration // 0: no limit
	MaxWaiting, MaxPutOff  time.Duration // MaxPutOff 0: no limit

	clock clock.Clock // what the queue makes of Now
}

// The bounds that need not be chosen.
const (
	maxAhead   = 5 * time.Minute    // how far the log may be ahead of the clock
	maxOrphan  = 10 * time.Minute   // a run every few minutes finds an abandoned task before that
	maxUnread  = time.Hour          // a run of readers every few minutes reads an ask before that
	maxUntaken = time.Hour          // the line of the crontab takes proposals every few minutes
	separation = 7 * 24 * time.Hour // how far back starts tell the accounts of workers
	day        = 24 * time.Hour
	maxLimited = time.Hour     // that a cap keeps a task waiting,
	maxShared  = 4 * time.Hour // and a sender's share of an hour, of which some is free again soon
	named      = 10            // findings of one code that name a task
	maxLines   = 10_000        // of a week, that are looked at whole
)

// Queue is the queue that is looked at. Its log may be long, and its lines never change.
// So History is read outside of a View, and keeps no other command waiting.
type Queue interface {
	View(fn func(store.View) error) error
	// History reads the log newest line first. If events are named, fn may be told no more than the time
	// and the event of lines of others.
	History(fn func(audit.Line) (more bool), events ...task.Event) error
}

// Look examines a queue.
func Look(q Queue, f *Facts) ([]Finding, error) {
	var err error
	if f.clock, err = store.Read(q, func(v store.View) (clock.Clock, error) { return queue.ClockOf(v, f.Now) }); err != nil {
		return nil, err
	}
	p, history, err := f.history(q)
	if err != nil {
		return nil, err
	}
	var list []Finding
	var later []store.Entry
	err = q.View(func(v store.View) (err error) {
		list, err = f.stopped(v)
		if err != nil {
			return err
		}
		brakes := brakes{Facts: f, past: p, stopped: len(list) > 0}
		if !brakes.stopped { // otherwise a person knows why nothing ran
			history = append(history, p.idle...)
		}
		list = slices.Concat(f.machine(), list, f.ahead(p, history), history)
		open, putOff, err := brakes.open(v)
		if err != nil {
			return err
		}
		untaken, err := f.untaken(v)
		if err != nil {
			return err
		}
		noted, err := remembered(v)
		if err != nil {
			return err
		}
		list, later = slices.Concat(list, open, untaken, noted), putOff
		for _, st := range []task.State{task.Failed, task.Corrupt} {
			ended, err := p.poison(v, st)
			if err != nil {
				return err
			}
			list = append(list, ended...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	putOff, err := f.putOff(q, later)
	return append(list, putOff...), err
}

// since returns how long ago something was that has a time in the log.
func (f *Facts) since(t time.Time) time.Duration { return f.Now.Sub(f.clock.Of(t)) }

// stopped returns the findings because of which nothing starts.
func (f *Facts) stopped(v store.View) (list []Finding, err error) {
	if text, err := queue.Held(v); err != nil {
		return nil, err
	} else if text != "" {
		list = append(list, Finding{Code: codeHeld, Text: "the queue is " + text, Do: "pulse-queue release"})
	}
	lost, err := v.Lost()
	if lost != "" {
		list = append(list, Finding{
			Code: Restored, Text: "nothing starts: " + lost,
			Do: "pulse-queue release --restored, after BACKUP AND RESTORE in man 5 pulse-queue",
		})
	}
	return list, err
}

// Broken returns the findings that do not need the queue's log, for a queue whose log
// can't be read.
func Broken(f *Facts) []Finding { return f.machine() }

// proven finds the accounts that could say yes in a person's name.
func (f *Facts) proven(p *past) []Finding {
	list := f.separated(p)
	worker := int64(-1)
	if a := cmp.Or(p.accounts[task.Ask], p.accounts[task.Effect]); a != nil && list == nil {
		if uid, ok := UIDOf(a.Account); ok {
			worker = int64(uid)
		}
	}
	for _, name := range f.Both {
		text := name + " is in the worker group and in the approver group: " +
			"a worker could write the queue and answer for a person"
		list = append(list, Finding{Code: codeNotSeparated, About: name, Text: text, Do: "gpasswd -d " + name + " APPROVERS"})
	}
	if f.Level == nil {
		return list
	}
	if err := f.Level(worker); err != nil {
		list = append(list, Finding{Code: codeForgeable, Text: err.Error(), Do: cmp.Or(fault.HintOf(err), "man 5 pulse-policy")})
	}
	return list
}

func (f *Facts) approver(uid uint32) bool { return f.Approver != nil && f.Approver(uid) }

// machine returns the findings that do not depend on the queue's content.
func (f *Facts) machine() (list []Finding) {
	list = append(list, f.Server...)
	if n := len(f.Chain); n > 0 {
		text := f.Chain[0]
		if n > 1 {
			text = fmt.Sprintf("%s (and %d more)", text, n-1)
		}
		list = append(list, Finding{Code: codeChainBroken, Text: text, Do: "pulse-queue verify"})
	}
	if n := len(f.Modes); n > 0 {
		text := f.Modes[0]
		if n > 1 {
			text = fmt.Sprintf("%s (and %d more)", text, n-1)
		}
		list = append(list, Finding{Code: Modes, Text: text, Do: "chmod and chgrp it back: man 5 pulse-queue"})
	}
	if f.Unwatched != nil {
		text := "a queue restored from a copy would not be noticed: " + f.Unwatched.Error()
		list = append(list, Finding{Code: codeUnwatched, Text: text, Do: "man 5 pulse-queue, BACKUP AND RESTORE"})
	}
	if f.Lacks != "" {
		text := f.Lacks + ": what reads mail keeps all rights of its account"
		list = append(list, Finding{Code: codeNoSandbox, Text: text, Do: "man 7 pulse"})
	}
	if f.Durable != nil {
		list = append(list, Finding{Code: codeNotDurable, Text: f.Durable.Error(), Do: fault.HintOf(f.Durable)})
	}
	if f.Room != nil {
		list = append(list, Finding{Code: DiskLow, Text: f.Room.Error(), Do: "pulse-queue prune --older-than 30d"})
	}
	if f.FreeInodes < f.Inodes/100 {
		text := fmt.Sprintf("%d of %d inodes are free", f.FreeInodes, f.Inodes)
		list = append(list, Finding{Code: codeInodesLow, Text: text, Do: "pulse-queue prune --older-than 30d"})
	}
	return list
}

// past holds what the latest lines of the log say.
type past struct {
	last     time.Time                 // time of the last line; zero: there is none
	mail     time.Time                 // when a message was last accepted or refused
	taken    time.Time                 // when a message was last accepted
	refusal  string                    // why a message was last refused
	added    bool                      // a task was added, however it came
	released time.Time                 // when the queue was last released; zero: not lately
	accounts map[task.Kind]*audit.Line // the newest start of each kind

	ends    ends
	streaks []streak  // those that are told
	idle    []Finding // times without a line
	jump    string    // what a finding of the last jump is about; empty: there is none
	proofs  Proofs
}

// history reads the log: all lines of a week, if they are not too many, and back from there only
// those that may say what is not known yet.
func (f *Facts) history(q Queue) (p *past, list []Finding, err error) {
	p = &past{mail: f.clock.Of(f.Moved), accounts: map[task.Kind]*audit.Line{}}
	oldest, lines, ages := f.Now, 0, f.clock.Ages(false)
	err = q.History(func(l audit.Line) bool {
		if lines++; lines == 1 {
			p.last = l.Time
		}
		l.Time = ages.Of(&l)
		oldest = l.Time
		f.line(p, &l)
		p.ends.add(&l)
		p.proofs.Add(&l, f.Now.Sub(l.Time))
		return lines < maxLines && f.Now.Sub(l.Time) < proven
	})
	if err == nil && f.wants(p, oldest) {
		ages = f.clock.Ages(false)
		err = q.History(func(l audit.Line) bool {
			l.Time = ages.Of(&l)
			f.line(p, &l)
			return f.wants(p, l.Time)
		}, p.lacks()...)
	}
	if err != nil {
		return nil, nil, err
	}
	leaps, err := f.leaps(q, p)
	p.streaks = f.provider(&p.ends)
	for i := range p.streaks {
		list = append(list, provider(&p.streaks[i]))
	}
	return p, slices.Concat(list, leaps, f.silence(p), f.refused(p), p.proofs.failing(), f.proven(p)), err
}

// line notes what a line says.
func (f *Facts) line(p *past, l *audit.Line) {
	if (l.Event == task.Added || l.Event == task.Refused) && l.Source != "" && l.Time.After(p.mail) {
		p.mail = l.Time
	}
	p.message(l)
	if (l.Event == audit.Released || l.Event == audit.Resumed) && p.released.IsZero() {
		p.released = l.Time
	}
	p.added = p.added || l.Event == task.Added
	recent := f.Now.Sub(l.Time) < separation
	if l.Event == task.Started && l.Account != "" && recent && p.accounts[l.Kind] == nil {
		started := *l
		p.accounts[l.Kind] = &started
	}
}

// lacks returns the events of lines that may say what is not known yet.
func (p *past) lacks() []task.Event {
	list := []task.Event{audit.ClockJumped, audit.Released, audit.Resumed}
	if len(p.accounts) < 2 {
		list = append(list, task.Started)
	}
	if p.mail.IsZero() || p.taken.IsZero() || !p.added {
		list = append(list, task.Added, task.Refused)
	}
	return list
}

// ahead finds that the log is ahead of the clock, unless the clock that wrote its last line is told of.
func (f *Facts) ahead(p *past, told []Finding) []Finding {
	jump := func(x Finding) bool { return x.Code == codeJumped && x.About == p.jump }
	if p.last.Sub(f.Now) <= maxAhead || f.clock.New && slices.ContainsFunc(told, jump) {
		return nil
	}
	text := fmt.Sprintf("the last line of the log is of %s, and now is %s",
		p.last.Format(time.RFC3339), f.Now.UTC().Format(time.RFC3339))
	return []Finding{{Code: Clock, Text: text, Do: "timedatectl"}}
}

// wants reports whether lines older than t may say more.
func (f *Facts) wants(p *past, t time.Time) bool {
	age := f.Now.Sub(t)
	if age < min(f.MaxWaiting, day) && p.released.IsZero() {
		return true
	}
	if age < separation && len(p.accounts) < 2 {
		return true
	}
	if f.MaxRefused > 0 && (p.mail.IsZero() || age <= f.MaxRefused && p.taken.IsZero()) {
		return true
	}
	return f.MaxSilence > 0 && (p.mail.IsZero() || age <= f.MaxSilence && p.mail.Before(t))
}

// silence finds that no mail comes in. Before the first mail it counts from the making
// of the queue, unless the queue gets its tasks in other ways.
func (f *Facts) silence(p *past) []Finding {
	since, text := p.mail, "no mail came in for"
	if since.IsZero() {
		if p.added {
			return nil
		}
		since, text = f.Made, "no mail ever came in, and the queue was made before"
	}
	if f.MaxSilence == 0 || f.Now.Sub(since) <= f.MaxSilence {
		return nil
	}
	return []Finding{{Code: Silent, Text: text + " " + duration.Span(f.Now.Sub(since)), Do: "crontab -l"}}
}

// separated finds workers that run as root, as the queue's owner or as an approver. They
// could write the queue, and answer for a person.
func (f *Facts) separated(p *past) []Finding {
	for _, k := range []task.Kind{task.Ask, task.Effect} {
		l := p.accounts[k]
		if l == nil {
			continue
		}
		uid, ok := UIDOf(l.Account)
		if !ok || uid != f.Owner && uid != 0 && !f.approver(uid) {
			continue
		}
		text := fmt.Sprintf("task %s was started as %s, who can write the queue and answer for a person", l.Task, l.Account)
		do := "pulse-queue run --as USER -- CMD"
		if k == task.Effect {
			do = fmt.Sprintf("pulse-queue run --effect %s --as USER -- CMD", l.Action)
		}
		return []Finding{{Code: codeNotSeparated, Text: text, Do: do}}
	}
	return nil
}

// UIDOf returns the uid of an account as the log names it: "me (uid 1000)".
func UIDOf(account string) (uint32, bool) {
	i := strings.LastIndex(account, "uid ")
	if i < 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(account[i+len("uid "):], ")"), 10, 32)
	return uint32(n), err == nil
}
