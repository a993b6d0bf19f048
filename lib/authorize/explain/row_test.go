package explain

import (
	"fmt"
	"strings"
	"testing"

	"pulse/lib/authorize/replay"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

const rowPolicy = "owners = [\"me@example.com\"]\nallowed_external = [\"bob@colleague.example\", \"@colleague.example\"]\n"

// settled returns a task in the queue as run decides on it: an ask of bob for write_local, with
// some members of its identity replaced.
func settled(t *testing.T, text string, action terms.Action, changes ...string) Subject {
	t.Helper()
	who := `"sender":"bob@colleague.example","trust":"external_verified","reason":"authenticated_external","stale":false,"automatic":false,"verified":true`
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(who, changes[i]) {
			t.Fatalf("%s is not in %s", changes[i], who)
		}
		who = strings.Replace(who, changes[i], changes[i+1], 1)
	}
	id, err := identity.Read(parsed(t, fmt.Appendf(nil, `{"identity":{%s}}`, who)))
	if err != nil {
		t.Fatal(err)
	}
	return Subject{
		Case:   replay.Case{Origin: identity.Origin{Given: &id}, Request: &request.Request{Action: action}},
		Policy: parse(t, text), Settled: action,
	}
}

// TestRow: the lines, put into the file, allow the very record, and leave all else as the row has
// it today.
func TestRow(t *testing.T) {
	const review = "queue_for_review = [\"read_private\", \"external_send\", \"destructive\", \"code_or_computer\"]"
	const own = "[matrix.\"bob@colleague.example\"]"
	for _, c := range []struct {
		name, policy string
		want         []string
		whole        bool
	}{
		{"no row in the file", "", []string{own, `allow = ["read_public", "write_local"]`, review}, true},
		{"a row of the level", "[matrix.external_verified]\nallow = [\"read_private\"]\nrequire_owner_confirmation = [\"write_local\"]\n",
			[]string{own, `allow = ["read_private", "write_local"]`}, true},
		{"a row of the domain", "[matrix.\"@colleague.example\"]\nqueue_for_review = [\"write_local\", \"destructive\"]\ntools.allow = [\"web.*\"]\n",
			[]string{own, `allow = ["write_local"]`, `queue_for_review = ["destructive"]`, `tools.allow = ["web.*"]`}, true},
		{"a row of the domain that narrows tools to none", "[matrix.\"@colleague.example\"]\nqueue_for_review = [\"write_local\"]\ntools.allow = []\n",
			[]string{own, `allow = ["write_local"]`, `tools.allow = []`}, true},
		{"a row of the address", own + "\nallow = [\"read_public\"]\nqueue_for_review = [\"write_local\", \"destructive\"]\n",
			[]string{`policy.toml:4: allow = ["read_public", "write_local"]`, `policy.toml:5: queue_for_review = ["destructive"]`}, false},
		{"a row of the address in capitals", "[matrix.\"BOB@colleague.example\"]\nrequire_owner_confirmation = [\"write_local\"]\n",
			[]string{`policy.toml:3, in [matrix."BOB@colleague.example"]: allow = ["write_local"]`, `policy.toml:4: require_owner_confirmation = []`}, false},
	} {
		s := settled(t, rowPolicy+c.policy, terms.WriteLocal)
		got, whole := Row([]Subject{s, s})
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") || whole != c.whole {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, whole, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if !whole {
			continue
		}
		before := s.Policy
		s.Policy = parse(t, rowPolicy+c.policy+strings.Join(got, "\n")+"\n")
		if a := s.decide(nil); a.d.Outcome != terms.Allow {
			t.Errorf("%s: with the lines it is %s", c.name, a.d.Outcome)
		}
		only(t, c.name, before, s.Policy)
	}
}

// only checks that write_local of bob is all that two policies differ in.
func only(t *testing.T, name string, before, after *policy.Policy) {
	t.Helper()
	for _, sender := range []string{"bob@colleague.example", "eve@colleague.example"} {
		was, _ := before.Row(terms.ExternalVerified, sender)
		is, _ := after.Row(terms.ExternalVerified, sender)
		for _, a := range terms.Actions {
			if was.Outcome(a) != is.Outcome(a) && !(a == terms.WriteLocal && sender[0] == 'b') {
				t.Errorf("%s: %s of %s: %s, was %s", name, a, sender, is.Outcome(a), was.Outcome(a))
			}
		}
	}
	was, is := before.Sender("bob@colleague.example"), after.Sender("bob@colleague.example")
	if was != nil && fmt.Sprint(was.Tools == nil, was.Tools) != fmt.Sprint(is.Tools == nil, is.Tools) {
		t.Errorf("%s: the tools are %q, were %q", name, is.Tools, was.Tools)
	}
}

// TestNoRow: each reason for which nothing is proposed, beside the same ask for which there is.
func TestNoRow(t *testing.T) {
	helped := 0
	for name, s := range map[string]Subject{
		"what reaches the outside":        settled(t, rowPolicy, terms.ExternalSend),
		"what destroys":                   settled(t, rowPolicy, terms.Destructive),
		"what runs programs":              settled(t, rowPolicy, terms.CodeOrComputer),
		"what is a risk on a mail's word": settled(t, rowPolicy, terms.ReadPrivate),
		"what is allowed":                 settled(t, rowPolicy, terms.ReadPublic),
		"what is rejected":                settled(t, rowPolicy+"[matrix.external_verified]\nallow = [\"read_public\"]\n", terms.WriteLocal),
		"a sender who is on no list":      settled(t, "owners = [\"me@example.com\"]\n", terms.WriteLocal),
		"a sender who is not proven":      settled(t, rowPolicy, terms.WriteLocal, `"verified":true`, `"verified":false`),
		"a sender who was not checked":    settled(t, rowPolicy, terms.WriteLocal, `external_verified`, `unknown`, `"verified":true`, `"verified":false`, `authenticated_external`, `signature_temperror`),
		"a sender in a session":           settled(t, rowPolicy, terms.Destructive, `bob@colleague`, `me@`, `external_verified`, `approved_session`),
		"a chat":                          settled(t, rowPolicy+"[[platform]]\nsource = \"telegram\"\nallowed_ids = [7]\n", terms.WriteLocal, `bob@colleague.example`, `telegram:7`),
		"an old mail":                     settled(t, rowPolicy, terms.WriteLocal, `"stale":false`, `"stale":true`),
		"a program":                       settled(t, rowPolicy, terms.WriteLocal, `"automatic":false`, `"automatic":true`),
		"a field that is not signed":      settled(t, "recipients = [\"agent@example.com\"]\n"+rowPolicy, terms.WriteLocal, `"stale":false`, `"stale":false,"unsigned":["To"]`),
		"a text that is not proven":       settled(t, rowPolicy, terms.WriteLocal, `"stale":false`, `"stale":false,"unsigned":["Content-Type"]`),
		"an effect":                       settled(t, rowPolicy, terms.WriteLocal, `"stale":false`, `"stale":false,"via":"agent","parent":"p"`),
		"an effect that a label caused": settled(t, rowPolicy+"[flow]\nuntrusted = { confirm = [\"write_local\"] }\n[matrix.external_verified]\nallow = [\"write_local\"]\n",
			terms.WriteLocal, `"stale":false`, `"stale":false,"via":"agent","parent":"p","labels":["untrusted"]`),
	} {
		good := settled(t, rowPolicy, terms.WriteLocal)
		if good.Policy = s.Policy; hasRow(good) {
			helped++
		}
		for _, list := range [][]Subject{{s}, {s, good}, {good, s}} {
			if hasRow(list...) {
				t.Errorf("%s: it has a row", name)
			}
		}
	}
	if hasRow() || helped < 12 {
		t.Errorf("of nothing: %v; the same ask has a row %d times", hasRow(), helped)
	}
}

func hasRow(list ...Subject) bool {
	lines, _ := Row(list)
	return lines != nil
}
