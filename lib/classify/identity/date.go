package identity

import (
	"strings"
	"time"

	"pulse/lib/shared/address"
)

// stale reports whether the message is too old to be acted on unseen. It is if it has
// no date, or was received or dated more than max_age from when it was fetched. A Date
// that far in the future counts too, because it would keep a replay fresh for as long.
func (e *evidence) stale() bool {
	limit := e.p.MaxAge
	if limit == 0 {
		return false
	}
	if apart(e.m.Fetched, e.m.Received) > limit {
		return true
	}
	date, ok := e.date()
	return !ok || apart(e.m.Fetched, date) > limit
}

// date returns when the message says that it was written; ok is false unless exactly
// one well-formed Date field says so.
func (e *evidence) date() (time.Time, bool) {
	if e.header.count[slotDate] != 1 {
		return time.Time{}, false
	}
	return parseDate(e.header.value[slotDate])
}

func apart(a, b time.Time) time.Duration { return a.Sub(b).Abs() }

// maxDate bounds the length of a Date without its comment, in bytes.
const maxDate = 64

// parseDate reads a Date field (RFC 5322 §3.3) as programs write it. It accepts a
// comment at the end. The only obsolete zones it knows are those for UTC, because the
// others were never used consistently (§4.3).
func parseDate(v string) (time.Time, bool) {
	v, _, _ = strings.Cut(v, "(")
	if len(v) > maxDate {
		return time.Time{}, false
	}
	v = strings.Trim(strings.ReplaceAll(v, "\r\n", ""), " \t")
	if i := strings.LastIndexByte(v, ' '); i >= 0 {
		switch address.Fold(v[i+1:]) {
		case "gmt", "utc", "ut", "z":
			v = v[:i] + " +0000"
		}
	}
	layout := "2 Jan 2006 15:04"
	if strings.IndexByte(v, ',') >= 0 {
		layout = "Mon, 2 Jan 2006 15:04"
	}
	if strings.Count(v, ":") > 1 {
		layout += ":05"
	}
	t, err := time.Parse(layout+" -0700", v)
	return t, err == nil
}
