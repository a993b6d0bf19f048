package identity

import (
	"strconv"
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
	if e.m.Fetched.IsZero() || e.m.Received.IsZero() || apart(e.m.Fetched, e.m.Received) > limit {
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

// maxDate bounds the length of a Date without its comments, in bytes.
const maxDate = 64

// parseDate reads a Date field (RFC 5322 §3.3), also in its obsolete forms (§4.3): comments
// anywhere, years of two or three digits, zones by name. What a zone of letters stands for
// is known for a few of them. All others, also the military ones, count as UTC, as §4.3
// says, so the time may be half a day off.
func parseDate(v string) (time.Time, bool) {
	if t, ok := parseUsual(v); ok {
		return t, true
	}
	return parseOdd(v)
}

// parseUsual is parseDate for the form that most have: Mon, 2 Jan 2006 15:04:05 -0700. What
// it reads, parseOdd would read as the same time.
func parseUsual(v string) (time.Time, bool) {
	const form = "Mon, 02 Jan 2006 15:04:05 -0700"
	if len(v) == len(form)-1 {
		v = v[:5] + "0" + v[5:]
	}
	if len(v) != len(form) || v[3:5] != ", " || v[7] != ' ' || v[11] != ' ' || v[16] != ' ' ||
		v[19] != ':' || v[22] != ':' || v[25] != ' ' || v[26] != '+' && v[26] != '-' {
		return time.Time{}, false
	}
	weekday := strings.Index("SunMonTueWedThuFriSat", v[:3])
	month := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", v[8:11])
	day, century, year := two(v[5:]), two(v[12:]), two(v[14:])
	hour, minute, second := two(v[17:]), two(v[20:]), two(v[23:])
	east, more := two(v[27:]), two(v[29:])
	if weekday%3 != 0 || month%3 != 0 || min(day-1, century, year, hour, minute, second, east, more) < 0 ||
		max(hour, east) > 23 || max(minute, second, more) > 59 {
		return time.Time{}, false
	}
	zone := (east*60 + more) * 60
	if v[26] == '-' {
		zone = -zone
	}
	t := time.Date(century*100+year, time.Month(month/3+1), day, hour, minute, second, 0, time.FixedZone("", zone))
	return t, t.Day() == day
}

// two returns the number that two digits at the beginning of s stand for, else -1.
func two(s string) int {
	tens, ones := s[0]-'0', s[1]-'0'
	if tens > 9 || ones > 9 {
		return -1
	}
	return int(tens)*10 + int(ones)
}

// parseOdd is parseDate for every form.
func parseOdd(v string) (time.Time, bool) {
	v = strings.ReplaceAll(uncommented(v), "\r\n", "")
	if v = strings.Trim(v, " \t"); len(v) > maxDate {
		return time.Time{}, false
	}
	if day, rest, ok := strings.Cut(v, ","); ok {
		if _, err := time.Parse("Mon", strings.TrimRight(day, " \t")); err != nil {
			return time.Time{}, false
		}
		v = rest
	}
	f := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(f) != 5 {
		return time.Time{}, false
	}
	layout := "2 Jan 2006 15:04 -0700"
	if strings.Count(f[3], ":") > 1 {
		layout = "2 Jan 2006 15:04:05 -0700"
	}
	f[2], f[4] = fullYear(f[2]), offset(f[4])
	t, err := time.Parse(layout, strings.Join(f, " "))
	return t, err == nil
}

// fullYear returns a year of four digits: two digits stand for 1950 to 2049, and three for
// years since 1900.
func fullYear(s string) string {
	n, err := strconv.ParseUint(s, 10, 16)
	switch {
	case err != nil:
	case len(s) == 2 && n < 50:
		n += 2000
	case len(s) == 2 || len(s) == 3:
		n += 1900
	default:
		return s
	}
	return strconv.FormatUint(n, 10)
}

// zones has the zones to whose names RFC 5322 §4.3 gives a meaning, except those of one
// letter or of three that mean UTC.
var zones = map[string]string{
	"est": "-0500", "edt": "-0400", "cst": "-0600", "cdt": "-0500",
	"mst": "-0700", "mdt": "-0600", "pst": "-0800", "pdt": "-0700",
	"ut": "+0000",
}

// offset returns a zone in digits. It leaves alone what is neither a letter, J excepted,
// nor a word of three to five letters.
func offset(zone string) string {
	name := address.Fold(zone)
	if known := zones[name]; known != "" {
		return known
	}
	for i := range len(name) {
		if name[i] < 'a' || 'z' < name[i] {
			return zone
		}
	}
	if n := len(name); n == 1 && name != "j" || 3 <= n && n <= 5 {
		return "+0000"
	}
	return zone
}
