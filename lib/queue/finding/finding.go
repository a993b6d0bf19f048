// Package finding says when a person is told that something is wrong, and when that it ended: once
// while it lasts, and not each time it comes and goes. A queue remembers what was told, by its log.
package finding

import (
	"time"

	"pulse/lib/queue"
	"pulse/lib/queue/store"
	"pulse/lib/shared/audit"
)

// maxFinding bounds the text of a finding in the log, in bytes: a server may say a lot.
const maxFinding = 500

// Tell logs what a person is told of a finding.
func Tell(tx *queue.Tx, f *audit.Finding, now time.Time) error {
	f.Told = now.UTC()
	return note(tx, f, now)
}

func note(tx *queue.Tx, f *audit.Finding, now time.Time) error {
	line := *f // the caller's may be another one next time
	line.Text = audit.Clip(f.Text, maxFinding)
	return tx.Log(audit.Line{Time: now.UTC(), Event: audit.Found, Finding: &line})
}

// Untold reports whether so long a time has gone by since a person was told of a finding. One
// that began untold, because they had heard of it lately, is untold once it lasts. A clock that
// was ahead must not keep it silent.
func Untold(f *audit.Finding, d time.Duration, now time.Time) bool {
	age := now.Sub(f.Told)
	return age >= d || age < -time.Hour || f.Told.Before(f.Since) && now.Sub(f.Since) >= lasting
}

// How long a person is told nothing of what a stage notes. Health, which looks at all findings,
// reminds of them earlier, in one mail.
const (
	remind  = 25 * time.Hour // as long as it lasts
	flaps   = 12 * time.Hour // if it ends and begins again and again,
	lasting = time.Hour      // unless it lasts so long
)

// maxBack is how many lines of the log are looked through for when it began and ended before.
const maxBack = 2000

// Open notes that a stage found something wrong: f has its code, what it is about and its text.
// told reports whether a person is to be told of it now.
func Open(tx *queue.Tx, f *audit.Finding, now time.Time) (told bool, err error) {
	was, known, err := queue.FindingOf(tx, f.Code, f.About)
	if err == nil && !known {
		was.Told, err = lastTold(tx, f.Code, f.About, now)
		was.What = audit.FindingClosed
	}
	if err != nil {
		return false, err
	}
	changed, told := Heard(f, &was, now)
	if changed {
		err = note(tx, f, now)
	}
	return told, err
}

// Quiet reports whether Open would neither tell nor note a finding, for a command that could not.
func Quiet(v store.View, code, about string, now time.Time) (bool, error) {
	was, known, err := queue.FindingOf(v, code, about)
	return known && !Untold(&was, remind, now), err
}

// Heard makes f, which is wrong now, what a person was told of it. was is what they were told
// before, if they were. changed reports whether that has to be noted, and told whether they are to
// be told now.
func Heard(f, was *audit.Finding, now time.Time) (changed, told bool) {
	now = now.UTC()
	switch was.What {
	case audit.FindingOpened, audit.FindingTold:
		if !Untold(was, remind, now) {
			return false, false
		}
		f.What, f.Since, f.Told = audit.FindingTold, was.Since, now
		return true, true
	}
	f.What, f.Since, f.Told = audit.FindingOpened, now, now
	if was.What == audit.FindingClosed && now.Sub(was.Told) < flaps {
		f.Told = was.Told
		return true, false
	}
	return true, true
}

// Close notes that something is wrong no longer. told reports whether a person is to be told that,
// which they are if they were told of it.
func Close(tx *queue.Tx, code, about string, now time.Time) (f audit.Finding, told bool, err error) {
	f, known, err := queue.FindingOf(tx, code, about)
	if !known || err != nil {
		return f, false, err
	}
	told = Over(&f, now)
	return f, told, note(tx, &f, now)
}

// Over makes f one that ended. told reports whether a person is to be told that.
func Over(f *audit.Finding, now time.Time) (told bool) {
	f.What = audit.FindingClosed
	if told = !f.Told.Before(f.Since); told {
		f.Told = now.UTC()
	}
	return told
}

// lastTold returns when a person was told that this ended, if that was lately.
func lastTold(v store.View, code, about string, now time.Time) (last time.Time, err error) {
	n := 0
	err = v.Back(func(l audit.Line) bool {
		n++
		if f := l.Finding; f != nil && f.Code == code && f.About == about {
			if f.What == audit.FindingClosed && now.Sub(f.Told) < flaps {
				last = f.Told
			}
			return false
		}
		return n < maxBack && now.Sub(l.Time) < flaps
	})
	return last, err
}
