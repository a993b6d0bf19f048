package approval

import (
	"strings"
	"testing"
	"time"

	"pulse/lib/shared/address"
	"pulse/lib/shared/record"
)

const id = "0011223344556677"

func signedGrant() Grant {
	return Grant{
		ID: id, Target: "bob@partner.example", Task: strings.Repeat("a", 32), By: "me", Level: Signature,
		Given: now, Expires: now.Add(time.Hour), Signer: "me@example.com", Signature: "armor",
	}
}

// TestAheadStatements holds the bytes that are signed. No part of them can change under
// a signature, and no kind of yes passes for another kind.
func TestAheadStatements(t *testing.T) {
	g, s := signedGrant(), opened()
	s.ID = id
	unbound := Grant{ID: id, Given: now, Expires: now.Add(time.Hour)}
	for got, want := range map[string]string{
		string(g.Statement()): `{"pulse-grant":1,"id":"0011223344556677","any":false,"target":"bob@partner.example","task":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",` +
			`"not_before":"2026-11-21T07:00:00Z","expires":"2026-11-21T08:00:00Z"}` + "\n",
		string(unbound.Statement()): `{"pulse-grant":1,"id":"0011223344556677","any":true,"task":null,"not_before":"2026-11-21T07:00:00Z","expires":"2026-11-21T08:00:00Z"}` + "\n",
		string(s.Statement()): `{"pulse-session":1,"id":"0011223344556677","sender":"Me@example.com","max":3,"not_before":"2026-11-21T07:00:00Z",` +
			`"expires":"2026-11-21T08:00:00Z"}` + "\n",
	} {
		if got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	for name, change := range map[string]func(*Grant){
		"id": func(g *Grant) { g.ID = "1011223344556677" }, "target": func(g *Grant) { g.Target = "eve@partner.example" },
		"case of the target": func(g *Grant) { g.Target = "Bob@partner.example" }, "any": func(g *Grant) { g.Target = "" },
		"task": func(g *Grant) { g.Task = strings.Repeat("b", 32) }, "no task": func(g *Grant) { g.Task = "" },
		"null for a task": func(g *Grant) { g.Task = "null" },
		"given":           func(g *Grant) { g.Given = now.Add(time.Second) }, "expires": func(g *Grant) { g.Expires = now.Add(2 * time.Hour) },
	} {
		other := signedGrant()
		change(&other)
		if string(other.Statement()) == string(g.Statement()) {
			t.Errorf("grant: another %s is signed by the same", name)
		}
	}
	for name, change := range map[string]func(*Session){
		"id": func(s *Session) { s.ID = "1011223344556677" }, "sender": func(s *Session) { s.Sender = "it@example.com" },
		"max": func(s *Session) { s.Max = 4 }, "opened": func(s *Session) { s.Opened = now.Add(time.Second) },
		"expires": func(s *Session) { s.Expires = now.Add(2 * time.Hour) },
	} {
		other := s
		change(&other)
		if string(other.Statement()) == string(s.Statement()) {
			t.Errorf("session: another %s is signed by the same", name)
		}
	}
	used := s
	used.Left = 0
	if string(used.Statement()) != string(s.Statement()) {
		t.Error("a use of a session changes what was signed")
	}
}

func TestAheadSound(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Grant)
		at     time.Duration
		want   bool
	}{
		"as it is":       {func(*Grant) {}, 0, true},
		"last moment":    {func(*Grant) {}, time.Hour - 1, true},
		"expired":        {func(*Grant) {}, time.Hour, false},
		"too early":      {func(*Grant) {}, -1, false},
		"unsigned":       {func(g *Grant) { g.Signature = "" }, 0, false},
		"no signer":      {func(g *Grant) { g.Signer = "" }, 0, false},
		"level terminal": {func(g *Grant) { g.Level = Terminal }, 0, false},
		"no nonce":       {func(g *Grant) { g.ID = "0" }, 0, false},
		"another nonce":  {func(g *Grant) { g.ID = strings.ToUpper("aa11223344556677") }, 0, false},
		"fractions":      {func(g *Grant) { g.Expires = g.Expires.Add(1) }, 0, false},
	} {
		g := signedGrant()
		c.change(&g)
		if err := g.Sound(now.Add(c.at)); (err == nil) != c.want {
			t.Errorf("grant, %s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		change func(*Session)
		at     time.Duration
		want   bool
	}{
		"as it is":             {func(*Session) {}, 0, true},
		"used up":              {func(s *Session) { s.Left = 0 }, 0, true},
		"expired and kept":     {func(*Session) {}, time.Hour + Kept - 1, true},
		"kept long enough":     {func(*Session) {}, time.Hour + Kept, false},
		"too early":            {func(*Session) {}, -1, false},
		"unsigned":             {func(s *Session) { s.Signature = "" }, 0, false},
		"many uses":            {func(s *Session) { s.Max = MostUses + 1 }, 0, false},
		"fractions":            {func(s *Session) { s.Opened = s.Opened.Add(1) }, time.Second, false},
		"fractions at the end": {func(s *Session) { s.Expires = s.Expires.Add(1) }, time.Second, false},
	} {
		s := opened()
		s.ID, s.Level, s.Signer, s.Signature = id, Signature, "me@example.com", "armor"
		c.change(&s)
		if err := s.Sound(now.Add(c.at)); (err == nil) != c.want {
			t.Errorf("session, %s: %v", name, err)
		}
	}
	a := Approval{Level: Signature, Nonce: id, Given: now, Expires: now.Add(LongestWait + time.Second), Signer: "me", Signature: "armor"}
	if a.Sound(now) == nil {
		t.Error("an approval may be good for longer than the ledger needs to remember others")
	}
	a.Grants = []Grant{signedGrant(), {}}
	if a.Sound(now) == nil {
		t.Error("an approval is made of a grant without a signature")
	}
	if a.Grants = a.Grants[:1]; a.Sound(now) != nil {
		t.Error("an approval that is made of grants needs a signature of its own")
	}
}

// TestProofs: the ledger spends the one nonce of a grant, or one of a session's nonces,
// of which there are as many as uses. No nonce of one kind passes for the other.
func TestProofs(t *testing.T) {
	g, s := signedGrant(), opened()
	s.ID, s.Max = id, MostUses
	p := s.Proof("task", 3)
	seen := map[string]bool{g.Proof("").Nonces[0]: true}
	for _, n := range p.Nonces {
		if seen[n] || strings.Trim(n, "0123456789abcdef") != "" {
			t.Errorf("nonce %s", n)
		}
		seen[n] = true
	}
	if len(p.Nonces) != MostUses || p.Task != "task" || p.Again != 3 || !p.Expires.Equal(s.Expires.Add(Kept)) || !p.Given.IsZero() {
		t.Errorf("%+v", p)
	}
	a := Approval{Task: "t", Nonce: "n", Given: now, Expires: now.Add(time.Hour)}
	if all := a.Proofs(); len(all) != 1 || all[0].Nonces[0] != "n" || !all[0].Given.Equal(now) || all[0].Again != 0 {
		t.Errorf("%+v", all)
	}
	a.Grants = []Grant{g, signedGrant()}
	if all := a.Proofs(); len(all) != 2 || all[1].Nonces[0] != id || all[1].Task != "t" {
		t.Errorf("%+v", all)
	}
}

// TestAheadRoundTrip: signatures are read back, and so are the grants of an approval.
func TestAheadRoundTrip(t *testing.T) {
	g, s := signedGrant(), opened()
	s.Signer, s.Signature = "me@example.com", "a\nb\n"
	if got, err := DecodeGrant(record.Value(g.Append(nil))); err != nil || got != g {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := DecodeSession(record.Value(s.Append(nil))); err != nil || got != s {
		t.Errorf("%+v, %v", got, err)
	}
	a := Approval{Task: "t", Target: []string{"x"}, Given: now, Expires: now, Grants: []Grant{g, {ID: "h", Given: now, Expires: now}}}
	got, err := Decode(record.Value(a.Append(nil)))
	if err != nil || len(got.Grants) != 2 || got.Grants[0] != g || got.Grants[1].Target != "" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`{"grants":{}}`, `{"grants":[{}]}`, `{"grants":[1]}`, `{"grants":[{"any":true,"target":"x"}]}`} {
		if got, err := Decode(record.Value(bad)); err == nil {
			t.Errorf("%s: %+v", bad, got)
		}
	}
}

// TestMatchSeveralTasks: an effect's own id takes precedence over that of the ask it
// began with, and the target takes precedence over both.
func TestMatchSeveralTasks(t *testing.T) {
	all := []Grant{grant("6", "", ""), grant("5", "", "root"), grant("4", "", "own"), grant("3", "x@x.example", ""), grant("2", "x@x.example", "root"), grant("1", "x@x.example", "own")}
	for n := len(all); n > 0; n-- {
		g, ok := Match(all[:n], "x@x.example", address.Equal, now, "own", "root")
		if want := all[n-1].ID; !ok || g.ID != want {
			t.Errorf("%s, want %s", g.ID, want)
		}
	}
	if g, ok := Match([]Grant{grant("5", "", "root")}, "x@x.example", address.Equal, now, "own"); ok {
		t.Errorf("%+v is bound to another task", g)
	}
}
