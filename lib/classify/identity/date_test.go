package identity

import (
	"net/mail"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/envelope"
)

func TestStale(t *testing.T) {
	hours := func(n int) time.Time { return fetched.Add(time.Duration(n) * time.Hour) }
	for _, c := range []struct {
		name           string
		received, date time.Time
		limit          time.Duration
		want           bool
	}{
		{"fresh", hours(-1), hours(-2), 48 * time.Hour, false},
		{"just fresh", hours(-48), hours(-48), 48 * time.Hour, false},
		{"received long ago", hours(-49), hours(-1), 48 * time.Hour, true},
		{"written long ago", hours(-1), hours(-49), 48 * time.Hour, true},
		{"a clock that is ahead", hours(-1), hours(3), 48 * time.Hour, false},
		{"far in the future", hours(-1), hours(49), 48 * time.Hour, true},
		{"never received", time.Time{}, hours(-1), 48 * time.Hour, true},
		{"switched off", hours(-1000), hours(-1000), 0, false},
	} {
		m, p := ownersMail(), testPolicy()
		m.Received, p.MaxAge = c.received, c.limit
		m.Headers[5].Value = c.date.Format(time.RFC1123Z)
		if id := Classify(m, p); id.Stale != c.want || !id.Verified {
			t.Errorf("%s: stale is %v, verified %v", c.name, id.Stale, id.Verified)
		}
	}
}

func TestDateMustStandOnce(t *testing.T) {
	for _, dates := range [][]string{{}, {""}, {"yesterday"}, {fetched.Format(time.RFC1123Z), fetched.Format(time.RFC1123Z)}} {
		m := ownersMail()
		m.Headers = m.Headers[:5]
		for _, d := range dates {
			m.Headers = append(m.Headers, envelope.Field{Name: "Date", Value: d})
		}
		if id := Classify(m, testPolicy()); !id.Stale {
			t.Errorf("%q is not stale", dates)
		}
	}
}

// dates has Date fields and what they say in RFC 3339, or nothing if they say nothing.
var dates = []struct{ in, want string }{
	{"Sat, 21 Nov 2026 06:55:00 +0000", "2026-11-21T06:55:00Z"},
	{"Sat, 21 Nov 2026 06:55:00 -0800 (PST)", "2026-11-21T14:55:00Z"},
	{"21 Nov 2026 06:55 +0130", "2026-11-21T05:25:00Z"},
	{"Sat,  1 Nov 2026 06:55:00 GMT", "2026-11-01T06:55:00Z"},
	{"1 Nov 2026 06:55:00 UT", "2026-11-01T06:55:00Z"},
	{"Sat,\r\n 21 Nov 2026 06:55:00 +0000", "2026-11-21T06:55:00Z"},
	{" Sat, 21 Nov 2026 06:55:00 +0000\t", "2026-11-21T06:55:00Z"},
	{"Sun,22 Nov 2026 06:55:00 +0000", "2026-11-22T06:55:00Z"},
	{"Sun,22\tNov\t2026\t06:55:00\t+0000", "2026-11-22T06:55:00Z"},
	{"sun , 22 NOV 2026 06:55:00 z", "2026-11-22T06:55:00Z"},
	{"Sat, 21 Nov 26 06:55:00 +0000", "2026-11-21T06:55:00Z"},
	{"Fri, 21 Nov 97 09:55:06 -0600", "1997-11-21T15:55:06Z"},
	{"21 Nov 49 06:55 +0000", "2049-11-21T06:55:00Z"},
	{"21 Nov 50 06:55 +0000", "1950-11-21T06:55:00Z"},
	{"21 Nov 126 06:55 +0000", "2026-11-21T06:55:00Z"},
	{"Sat, 21 Nov 2026 06:55:00 EST", "2026-11-21T11:55:00Z"},
	{"Sat, 21 Nov 2026 06:55:00 pdt", "2026-11-21T13:55:00Z"},
	{"Sat, 21 Nov 2026 06:55:00 A", "2026-11-21T06:55:00Z"},
	{"Sat, 21 Nov 2026 06:55:00 CEST", "2026-11-21T06:55:00Z"},
	{"Sat (x), 21 (a (b \\) c)) Nov\r\n (,:) 2026 06:55(:00) +0000", "2026-11-21T06:55:00Z"},
	{"(" + strings.Repeat("x", 100) + ")21 Nov 2026 06:55 +0000", "2026-11-21T06:55:00Z"},
	{"", ""},
	{"Sat, 21 Nov 2026", ""},
	{"Sat, 31 Feb 2026 06:55:00 +0000", ""},
	{"Sat, 21 Nov 2026 25:55:00 +0000", ""},
	{"Sat, 21 Nov 2026 06:55:00 J", ""},
	{"Sat, 21 Nov 2026 06:55:00 PM", ""},
	{"Sat, 21 Nov 2026 06:55:00 Europe", ""},
	{"Sat, 21 Nov 2026 06:55:00", ""},
	{"Sat, 21 Nov 2026 06:55:00 +0000 now", ""},
	{"Sat, Sat, 21 Nov 2026 06:55:00 +0000", ""},
	{"Caturday, 21 Nov 2026 06:55:00 +0000", ""},
	{"21 Nov 2 06:55 +0000", ""},
	{"21 Nov +26 06:55 +0000", ""},
	{"21 Nov 20260 06:55 +0000", ""},
	{"Sat, 21 Nov 2026 06:55:00 (+0000", ""},
	{"2026-11-21T06:55:00Z", ""},
	{strings.Repeat("0", 100) + "21 Nov 2026 06:55 +0000", ""},
}

func TestParseDate(t *testing.T) {
	for _, c := range dates {
		got := ""
		if at, ok := parseDate(c.in); ok {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != c.want {
			t.Errorf("parseDate(%q) = %s, want %s", c.in, got, c.want)
		}
	}
}

// otherwise has the dates that python3 reads otherwise, or not at all, and why.
var otherwise = map[string]string{
	"sun , 22 NOV 2026 06:55:00 z":                                 "no blank before the comma",
	"21 Nov 50 06:55 +0000":                                        "69 divides the centuries, and not 50",
	"21 Nov 126 06:55 +0000":                                       "a year of three digits is one of antiquity",
	"Sat (x), 21 (a (b \\) c)) Nov\r\n (,:) 2026 06:55(:00) +0000": "no comments, except at the end",
	"(" + strings.Repeat("x", 100) + ")21 Nov 2026 06:55 +0000":    "no comments, except at the end",
}

// TestPythonDates: python3 reads the same time in each date that is read here.
func TestPythonDates(t *testing.T) {
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3, which scripts/test installs: dates were not compared with how it reads them")
	}
	args := []string{"-I", "-c", `
import email.utils, sys
for date in sys.argv[1:]:
    t = email.utils.parsedate_tz(date)
    try: print(email.utils.mktime_tz(t[:9] + (t[9] or 0,)))
    except Exception: print("none")
`}
	for _, c := range dates {
		args = append(args, c.in)
	}
	out, err := exec.Command(path, args...).Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) != len(dates)+1 {
		t.Fatalf("%d answers to %d dates: %v", len(lines), len(dates), err)
	}
	for i, c := range dates {
		if c.want == "" {
			continue
		}
		want, err := time.Parse(time.RFC3339, c.want)
		same := err == nil && lines[i] == strconv.FormatInt(want.Unix(), 10)
		if why := otherwise[c.in]; same == (why != "") {
			t.Errorf("%q is %s, python3 says %s %s", c.in, c.want, lines[i], why)
		}
	}
}

// TestUsualDate: the short way takes the usual form, and no day that a month does not have.
func TestUsualDate(t *testing.T) {
	for v, want := range map[string]bool{
		"Sat, 21 Nov 2026 06:55:00 +0000": true,
		"Wed, 1 Jul 2026 23:59:59 -0730":  true,
		"Sat, 29 Feb 2020 00:00:00 +0545": true,
		"Mon, 31 Dec 1899 00:00:00 +2359": true,
		"Sun, 29 Feb 2026 00:00:00 +0000": false,
		"Sat, 31 Nov 2026 00:00:00 +0000": false,
		"unM, 21 Nov 2026 06:55:00 +0000": false,
		"Sat, 21 anF 2026 06:55:00 +0000": false,
		"Sat, 00 Nov 2026 06:55:00 +0000": false,
		"Sat, 21 Nov 2026 24:00:00 +0000": false,
		"Sat, 21 Nov 2026 06:55:60 +0000": false,
		"Sat, 21 Nov 2026 06:55:00 +0060": false,
		"Sat, 21 Nov 2026 06:55:00 0+000": false,
	} {
		got, ok := parseUsual(v)
		odd, same := parseOdd(v)
		if ok != want || ok && (!same || odd.Format(time.RFC3339Nano) != got.Format(time.RFC3339Nano)) {
			t.Errorf("%q: %v, %v; in every form %v, %v", v, got, ok, odd, same)
		}
	}
}

// FuzzDate: if the standard library reads a time too, it reads the same one.
func FuzzDate(f *testing.F) {
	for _, c := range dates {
		f.Add(c.in)
	}
	plain := regexp.MustCompile(`[a-z] \d{4} [\d:]+ [+-]\d{4}$`) // net/mail reads obsolete years and zones otherwise
	f.Fuzz(func(t *testing.T, v string) {
		got, ok := parseDate(v)
		if odd, same := parseOdd(v); same != ok || !odd.Equal(got) || odd.Format(time.RFC3339Nano) != got.Format(time.RFC3339Nano) {
			t.Fatalf("%q: %v, %v; in every form %v, %v", v, got, ok, odd, same)
		}
		if !ok {
			return
		}
		if other, err := mail.ParseDate(v); err == nil && plain.MatchString(v) && !other.Equal(got) {
			t.Fatalf("%q: %v, net/mail %v", v, got, other)
		}
	})
}

func TestAutomatic(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"Auto-Submitted", "no", false},
		{"auto-submitted", " NO ; x=y", false},
		{"Auto-Submitted", "no (written by hand)", false},
		{"Auto-Submitted", "auto-generated", true},
		{"Auto-Submitted", "auto-replied; owner-email=me@example.com", true},
		{"Auto-Submitted", "", true},
		{"Auto-Submitted", "no-really", true},
		{"Auto-Submitted ", "auto-replied", true},
		{"Precedence", "bulk", true},
		{"Precedence", "Junk", true},
		{"Precedence", "list (of friends)", true},
		{"Precedence", "first-class", false},
		{"List-Id", "<news.example.com>", true},
		{"List-ID", "", true},
		{"List-Unsubscribe", "<https://example.com>", false},
		{"Return-Path", "<>", true},
		{"Return-Path", " < >", true},
		{"Return-Path", "<me@example.com>", false},
		{"Return-Path", "<> (x)", true},
		{"Return-Path", "(x) <>", true},
		{"Return-Path", "<(bounce (to) \\) nobody)>", true},
		{"Return-Path", "(<>) <me@example.com>", false},
		{"Auto-Submitted", "(by hand) no", false},
		{"Auto-Submitted", "(no) auto-replied", true},
		{"Auto-Submitted", "(no", true},
		{"Precedence", "auto_reply", true},
		{"Precedence", "(list) Auto_Reply", true},
		{"X-Autoreply", "yes", true},
		{"X-Autoreply", "No", false},
		{"x-autorespond", "Re: News", true},
		{"X-Autorespond", "", false},
		{"X-Autoreply", "false", false},
		{"Content-Type", "multipart/report; report-type=delivery-status; boundary=b", true},
		{"Content-Type", "Multipart / (x)\r\n Report", true},
		{"Content-Type", "multipart/mixed; boundary=\"multipart/report\"", false},
		{"Content-Type", "text/plain; charset=utf-8", false},
		{"Return-Path", "", false},
	} {
		m := ownersMail()
		m.Headers = append(m.Headers, envelope.Field{Name: c.name, Value: c.value})
		if id := Classify(m, testPolicy()); id.Automatic != c.want || !id.Verified {
			t.Errorf("%s: %s: automatic is %v, verified %v", c.name, c.value, id.Automatic, id.Verified)
		}
	}
}
