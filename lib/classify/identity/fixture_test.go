package identity_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pulse/lib/classify/identity"
	"pulse/lib/fetch/message"
	"pulse/lib/shared/address"
	"pulse/lib/shared/envelope"
	"pulse/lib/shared/policy"
)

// TestFixtures classifies testdata/NN-name.eml under NN-name.policy, or else under
// policy.toml. NN-name.dkim, if it is there, is the message's dkim member.
// NN-name.want has lines "member value" that must hold, and NN-name.note says why.
// Each reason of the closed list has a fixture.
func TestFixtures(t *testing.T) {
	seen := map[identity.Reason]bool{}
	for _, path := range fixtures(t) {
		base := strings.TrimSuffix(path, ".eml")
		t.Run(filepath.Base(base), func(t *testing.T) {
			m := fixtureMessage(t, path)
			m.DKIM = fixtureDKIM(t, base)
			id := identity.Classify(m, fixturePolicy(t, base))
			compare(t, &id, string(read(t, base+".want")))
			if len(read(t, base+".note")) < 10 {
				t.Error("the note says nothing")
			}
			seen[id.Reason] = true
		})
	}
	for _, r := range identity.Reasons() {
		if !seen[r] && r != identity.LocalSubmit && r != identity.ApprovedSession && r != identity.NoLongerListed && !strings.HasPrefix(string(r), "platform_") && !strings.HasPrefix(string(r), "webhook_") {
			t.Errorf("no fixture has the reason %s", r)
		}
	}
}

// fixtures returns the paths of all messages.
func fixtures(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(paths) < 165 {
		t.Fatalf("%d fixtures, %v", len(paths), err)
	}
	return paths
}

func compare(t *testing.T, id *identity.Identity, want string) {
	t.Helper()
	got := map[string]string{
		"sender": id.Sender, "trust": string(id.Trust), "verified": fmt.Sprint(id.Verified),
		"stale": fmt.Sprint(id.Stale), "automatic": fmt.Sprint(id.Automatic), "reason": string(id.Reason),
		"unsigned": strings.Join(id.Unsigned.Names(), " "),
	}
	if got["unsigned"] != "" && !strings.Contains(want, "\nunsigned ") {
		t.Errorf("the fixture does not say that %s is unsigned", got["unsigned"])
	}
	for line := range strings.Lines(want) {
		member, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if g, ok := got[member]; !ok || g != value {
			t.Errorf("%s is %q, want %q (%s)", member, g, value, id.Why)
		}
	}
	for _, member := range []string{"trust ", "verified ", "reason "} {
		if !strings.Contains("\n"+want, "\n"+member) {
			t.Errorf("the fixture does not say %s", member)
		}
	}
}

// fixtureMessage is the message as if fetched on 21 November 2026, 07:00 UTC.
func fixtureMessage(t testing.TB, path string) *envelope.Message {
	t.Helper()
	m := message.Parse(message.Raw{Header: read(t, path)}, message.Options{Scope: envelope.Headers})
	m.Source = "imaps://me@imap.example.com/INBOX"
	m.Fetched = time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)
	m.Received = m.Fetched.Add(-time.Minute)
	return &m
}

// fixtureDKIM is message.dkim, or nil.
func fixtureDKIM(t testing.TB, base string) *envelope.DKIM {
	t.Helper()
	if _, err := os.Stat(base + ".dkim"); err != nil {
		return nil
	}
	return parseDKIM(t, string(read(t, base+".dkim")))
}

func fixturePolicy(t testing.TB, base string) *policy.Policy {
	t.Helper()
	path := base + ".policy"
	if _, err := os.Stat(path); err != nil {
		path = "testdata/policy.toml"
	}
	p, err := policy.Parse(path, read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFigures holds the two numbers that the fixtures are there for. No forged message
// is verified. At least 97 % of the shapes of legitimate mail that carry the pinned id,
// dkim and dmarc are.
//
// testdata/genuine.txt names the fixtures whose From tells who wrote them. A fixture
// that it does not name counts as forged, or as lacking the proof that its policy
// demands. So a forgery that was not marked still counts as one.
func TestFigures(t *testing.T) {
	kinds := genuine(t)
	var forged, fooled, shapes, proven, carry, verified int
	for _, path := range fixtures(t) {
		base := strings.TrimSuffix(path, ".eml")
		name := filepath.Base(base)
		m, p := fixtureMessage(t, path), fixturePolicy(t, base)
		m.DKIM = fixtureDKIM(t, base)
		id := identity.Classify(m, p)
		kind, truthful := kinds[name]
		delete(kinds, name)
		switch {
		case !truthful:
			forged++
			if id.Verified {
				fooled++
				t.Errorf("%s is forged, and verified as %s", name, id.Sender)
			}
			continue
		case kind == "uncounted":
			continue
		}
		shapes++
		proven += count(id.Verified)
		if carries(m, p) {
			carry++
			verified += count(id.Verified)
			if !id.Verified {
				t.Logf("%s carries everything and is not verified: %s", name, id.Reason)
			}
		}
	}
	for name := range kinds {
		t.Errorf("genuine.txt names %s, which does not exist", name)
	}
	t.Logf("%d forged, %d verified; %d legitimate shapes, %d verified; %d carry pin, dkim and dmarc, %d verified (%.1f %%)",
		forged, fooled, shapes, proven, carry, verified, 100*float64(verified)/float64(carry))
	if 100*verified < 97*carry || 3*shapes < forged+shapes {
		t.Error("too few")
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// genuine reads genuine.txt: name, and perhaps "uncounted".
func genuine(t *testing.T) map[string]string {
	t.Helper()
	kinds := map[string]string{}
	for line := range strings.Lines(string(read(t, "testdata/genuine.txt"))) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, twice := kinds[name]; twice || kind != "" && kind != "uncounted" && name != "#" {
			t.Errorf("genuine.txt: %q", line)
		}
		if name != "#" {
			kinds[name] = kind
		}
	}
	return kinds
}

// carries reports whether the first field of results names the pinned server, a DKIM
// pass for the domain of From or a part of it, and a DMARC pass about that domain. It
// reads as naively as possible, and must not share a line with the parser that it
// measures.
func carries(m *envelope.Message, p *policy.Policy) bool {
	var from, results string
	for name, value := range m.Fields {
		switch address.Fold(name) {
		case "from":
			from = address.Fold(value)
		case "authentication-results":
			if results == "" {
				results = squeeze(value)
			}
		}
	}
	r, _ := p.Receiver(m.Source)
	pin := strings.Join(r.AuthservIDs, "")
	domain := regexp.QuoteMeta(regexp.MustCompile(`[a-z0-9.-]*`).FindString(from[strings.LastIndex(from, "@")+1:]))
	for _, re := range []string{
		`^(\(.*?\))?` + regexp.QuoteMeta(pin) + `[;(1]`,
		`dkim(/1)?=pass.*header\.[di]=[a-z0-9.@-]*` + domain,
		`dmarc=pass.*header\.from=` + domain + `($|[^a-z0-9.-]|policy|arc_)`,
	} {
		if !regexp.MustCompile(re).MatchString(results) {
			return false
		}
	}
	return true
}

// squeeze drops blanks, folding and quotes, and lowers the case.
func squeeze(s string) string {
	return address.Fold(strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n\"", r) {
			return -1
		}
		return r
	}, s))
}

// TestNoStrayFixtureFiles finds a .want, .policy or .dkim that belongs to no .eml.
func TestNoStrayFixtureFiles(t *testing.T) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || e.Name() == "policy.toml" || e.Name() == "genuine.txt" || ext == ".eml" {
			continue
		}
		if !slices.Contains([]string{".want", ".note", ".policy", ".dkim"}, ext) {
			t.Errorf("%s belongs to nothing", e.Name())
		}
		read(t, filepath.Join("testdata", strings.TrimSuffix(e.Name(), ext)+".eml"))
	}
}
