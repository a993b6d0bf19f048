package approval

import (
	"testing"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

func opened() Session {
	return Session{
		ID: "s", Sender: "Me@example.com", Max: 3, Left: 2, By: "me", Level: Terminal,
		Opened: now, Expires: now.Add(time.Hour),
	}
}

func TestCovers(t *testing.T) {
	const tick = time.Nanosecond
	open, expiry := now, now.Add(time.Hour)
	inside := now.Add(time.Minute)
	for name, c := range map[string]struct {
		sender                  string
		date, received, fetched time.Time
		want                    bool
	}{
		"inside":                 {"me@example.com", inside, inside, inside.Add(time.Second), true},
		"folded":                 {"ME@EXAMPLE.COM", inside, inside, inside, true},
		"at the opening":         {"me@example.com", open, open, open, true},
		"at expiry":              {"me@example.com", expiry, expiry, expiry, true},
		"fetched after expiry":   {"me@example.com", inside, inside, expiry.Add(time.Hour), true},
		"in another zone":        {"me@example.com", inside.In(time.FixedZone("", 7200)), inside, inside, true},
		"another sender":         {"it@example.com", inside, inside, inside, false},
		"a similar address":      {"me@example.com.evil.example", inside, inside, inside, false},
		"Kelvin":                 {"me@e\u212aample.com", inside, inside, inside, false},
		"no sender":              {"", inside, inside, inside, false},
		"dated before":           {"me@example.com", open.Add(-tick), inside, inside, false},
		"received before":        {"me@example.com", inside, open.Add(-tick), inside, false},
		"dated after":            {"me@example.com", expiry.Add(tick), inside, expiry.Add(time.Hour), false},
		"received after":         {"me@example.com", inside, expiry.Add(tick), expiry.Add(time.Hour), false},
		"dated after the fetch":  {"me@example.com", inside.Add(tick), inside, inside, false},
		"received after that":    {"me@example.com", inside, inside.Add(tick), inside, false},
		"without a Date":         {"me@example.com", time.Time{}, inside, inside, false},
		"nor when received":      {"me@example.com", inside, time.Time{}, inside, false},
		"nor when fetched":       {"me@example.com", inside, inside, time.Time{}, false},
		"long before":            {"me@example.com", open.Add(-48 * time.Hour), open.Add(-48 * time.Hour), inside, false},
		"a date of the far past": {"me@example.com", time.Unix(0, 0), inside, inside, false},
	} {
		s := opened()
		if got := s.Covers(c.sender, c.date, c.received, c.fetched); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if s.Left = 0; s.Covers(c.sender, c.date, c.received, c.fetched) {
			t.Errorf("%s: covered by a session that is used up", name)
		}
	}
}

func TestLive(t *testing.T) {
	for _, c := range []struct {
		left int
		at   time.Time
		want bool
	}{
		{1, now, true}, {3, now.Add(time.Hour - 1), true}, {0, now, false}, {-1, now, false},
		{1, now.Add(-1), false}, {1, now.Add(time.Hour), false}, {1, now.Add(48 * time.Hour), false}, {1, time.Time{}, false},
	} {
		s := opened()
		s.Left = c.left
		if got := s.Live(c.at); got != c.want {
			t.Errorf("%d left at %s: %v", c.left, c.at, got)
		}
	}
}

func TestDecodeSessionRefuses(t *testing.T) {
	good := opened()
	for name, change := range map[string]func(*Session){
		"no id":            func(s *Session) { s.ID = "" },
		"no sender":        func(s *Session) { s.Sender = "" },
		"for ever":         func(s *Session) { s.Expires = time.Time{} },
		"always":           func(s *Session) { s.Opened = time.Time{} },
		"over at once":     func(s *Session) { s.Expires = s.Opened },
		"backwards":        func(s *Session) { s.Expires = s.Opened.Add(-1) },
		"no use":           func(s *Session) { s.Max, s.Left = 0, 0 },
		"many uses":        func(s *Session) { s.Max = MostUses + 1 },
		"more than it had": func(s *Session) { s.Left = s.Max + 1 },
		"less than none":   func(s *Session) { s.Left = -1 },
	} {
		s := good
		change(&s)
		if got, err := DecodeSession(record.Value(s.Append(nil))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"max":"3"}`, `{"left":1.0}`, `{"opened":1}`} {
		if s, err := DecodeSession(record.Value(bad)); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}

// FuzzDecodeSession: no panic; a session that was read has bounds, and is written and
// read back equal.
func FuzzDecodeSession(f *testing.F) {
	good := opened()
	f.Add(string(good.Append(nil)))
	f.Add(`{"id":"s","sender":"\u202e\"\n","max":100,"left":0,"by":"","level":"x","opened":"2026-11-21T07:00:00.5+01:00","expires":"9999-12-31T23:59:59Z","more":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := record.Parse([]byte(text))
		if err != nil {
			return
		}
		s, err := DecodeSession(rec.Value())
		if err != nil {
			return
		}
		if s.ID == "" || s.Sender == "" || s.Left > s.Max || s.Max > MostUses || !s.Opened.Before(s.Expires) {
			t.Errorf("%+v", s)
		}
		again, err := DecodeSession(record.Value(s.Append(nil)))
		if err != nil || again != s {
			t.Errorf("%v\n%+v\n%+v", err, s, again)
		}
	})
}

func TestMissing(t *testing.T) {
	expired, bound := grant("e", "bob@x.example", ""), grant("b", "", "t")
	expired.Expires = now
	for _, c := range []struct {
		grants       []Grant
		target, task string
		want         string
	}{
		{nil, "bob@x.example", "", ""},
		{[]Grant{expired}, "eve@x.example", "", ""},
		{[]Grant{expired}, "BOB@x.example", "t", " any more: it expired"},
		{[]Grant{bound}, "bob@x.example", "", ": one is bound to another task"},
		{[]Grant{bound}, "bob@x.example", "u", ": one is bound to another task"},
		{[]Grant{expired, bound}, "bob@x.example", "u", " any more: it expired"},
		{[]Grant{bound, expired}, "bob@x.example", "u", " any more: it expired"},
	} {
		if _, ok := Match(c.grants, c.target, address.Equal, now, c.task); ok {
			t.Errorf("%+v: there is one", c)
		}
		if got := Missing(c.grants, c.target, address.Equal, c.task, now); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestSuffices(t *testing.T) {
	for _, c := range []struct {
		level, require Level
		want           bool
	}{
		{Terminal, Terminal, true}, {Signature, Terminal, true}, {User, User, true}, {Signature, Signature, true},
		{Terminal, User, false}, {User, Signature, false}, {"", Terminal, false}, {"root", Terminal, false},
		{Terminal, "", false}, {Signature, "retina", false},
	} {
		s := opened()
		s.Level = c.level
		if got := s.Suffices(c.require); got != c.want {
			t.Errorf("%s for %s: %v", c.level, c.require, got)
		}
	}
}
