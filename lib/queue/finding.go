package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"pulse/lib/shared/approval"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/record"
)

// FindingKey returns the key of what is wrong: its code, and what tells it from others of that code.
func FindingKey(code, about string) string {
	sum := sha256.Sum256([]byte(code + " " + about))
	return hex.EncodeToString(sum[:16])
}

// findingChange returns what a line changes in a finding. One that ended is gone.
func findingChange(f *audit.Finding) Change {
	c := Change{Shelf: Findings, Key: FindingKey(f.Code, f.About)}
	if f.What != audit.FindingClosed {
		c.Bytes = f.Append(nil)
	}
	return c
}

// FindingsOf returns what a person was told that is wrong and did not end, in the order in which
// it began.
func FindingsOf(v View) (list []audit.Finding, err error) {
	var keys []string
	err = v.Each(Findings, func(key string, _ time.Time) (bool, error) {
		keys = append(keys, key)
		return true, nil
	})
	if len(keys) == 0 || err != nil {
		return nil, err
	}
	if err := v.Look(keys, false); err != nil {
		return nil, err
	}
	err = all(v, Findings, audit.DecodeFinding, func(key string, _ approval.Holder, f audit.Finding) {
		if key == FindingKey(f.Code, f.About) {
			list = append(list, f)
		}
	})
	slices.SortFunc(list, func(a, b audit.Finding) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Code, b.Code), cmp.Compare(a.About, b.About))
	})
	return list, err
}

// FindingOf returns what a person was told of one finding; known is false if that is nothing, or
// can't be read.
func FindingOf(v View, code, about string) (f audit.Finding, known bool, err error) {
	_, known, err = get(v, Findings, FindingKey(code, about), func(val record.Value) (err error) {
		f, err = audit.DecodeFinding(val)
		return err
	})
	if errors.Is(err, ErrCorrupt) {
		known, err = false, nil
	}
	return f, known, err
}

// maxFinding bounds the text of a finding in the log, in bytes: a server may say a lot.
const maxFinding = 500

// Tell logs what a person is told of a finding.
func Tell(tx *Tx, f *audit.Finding, now time.Time) error {
	f.Told = now.UTC()
	return note(tx, f, now)
}

func note(tx *Tx, f *audit.Finding, now time.Time) error {
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
func Open(tx *Tx, f *audit.Finding, now time.Time) (told bool, err error) {
	was, known, err := FindingOf(tx, f.Code, f.About)
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
func Quiet(v View, code, about string, now time.Time) (bool, error) {
	was, known, err := FindingOf(v, code, about)
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
func Close(tx *Tx, code, about string, now time.Time) (f audit.Finding, told bool, err error) {
	f, known, err := FindingOf(tx, code, about)
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
func lastTold(v View, code, about string, now time.Time) (last time.Time, err error) {
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
