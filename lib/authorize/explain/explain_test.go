package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"pulse/lib/authorize/decision"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
)

// others are policies under which every record is explained besides its own. {own} stands
// for its own.
var others = []string{
	"{own}",
	"max_age = \"1m\"\n{own}",
	"recipients = [\"agent@example.com\", \"robot@example.net\"]\n{own}",
	"default_action = \"external_send\"\n{own}\n[matrix.owner_verified_email]\nqueue_for_review = [\"external_send\"]\n",
	"default_action = \"destructive\"\nowners = [\"me@example.com\"]\nallowed_external = [\"@example.org\"]\nauthserv_id = \"mx.google.com\"\n",
	"evidence = \"dkim\"\nowners = [\"me@example.com\"]\n[matrix.\"@example.com\"]\nallow = [\"write_local\"]\n",
	"evidence = \"both\"\ndkim_alignment = \"relaxed\"\nowners = [\"me@example.com\"]\nauthserv_id = \"*.example.net\"\nverdict = \"set\"\n",
}

// each calls fn for each record of the corpus under each policy that is valid for it.
func each(t *testing.T, fn func(t *testing.T, name string, e *entry, text string, p *policy.Policy)) {
	t.Helper()
	n := 0
	list := corpus(t)
	for i := range list {
		e := &list[i]
		for j, text := range others {
			text = strings.ReplaceAll(text, "{own}", e.policy)
			p, err := policy.Parse("policy.toml", []byte(text))
			if err != nil { // the key is there twice
				continue
			}
			n++
			fn(t, fmt.Sprintf("%s under %d", e.name, j), e, text, p)
		}
	}
	if n < 1500 {
		t.Errorf("%d records explained", n)
	}
}

// piped returns the record as pulse-classify and pulse-authorize write it, and the decision.
func piped(t *testing.T, rec *record.Record, p *policy.Policy) (classified, decided *record.Record, d decision.Decision) {
	t.Helper()
	s, err := Read(rec, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := identity.Classify(s.Message, p)
	classified = parsed(t, rec.AppendReplaced(nil, identity.Member, id.Append(nil)))
	d = decision.Decide(decision.Input{Identity: &id, Policy: p, Source: s.Message.Source, Recipients: identity.Recipients(s.Message)})
	return classified, parsed(t, classified.AppendReplaced(nil, decision.Member, d.Append(nil))), d
}

// TestCorpus: explain says of every record what pulse-authorize decides, whatever stage the
// record comes from, and names the check that decided. Every change that it names decides
// otherwise.
func TestCorpus(t *testing.T) {
	seen := map[string]int{}
	each(t, func(t *testing.T, name string, e *entry, text string, p *policy.Policy) {
		classified, decided, want := piped(t, e.rec, p)
		for stage, rec := range map[string]*record.Record{"fetched": e.rec, "classified": classified, "decided": decided} {
			s, err := Read(rec, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if a := s.decide(nil); !reflect.DeepEqual(a.d.Decision, want) {
				t.Errorf("%s, %s: %+v, want %+v", name, stage, a.d.Decision, want)
			}
			if stage != "decided" {
				continue
			}
			x := helps(t, name, s, text, seen)
			if got := x.Steps[x.Decided]; !reflect.DeepEqual(x.Decision.Decision, want) || got.Result != string(want.Outcome) {
				t.Errorf("%s: %s decided with %s, want %s", name, got.Check, got.Result, want.Outcome)
			}
			looksRight(t, name, x)
		}
	})
	t.Log(seen)
	for _, key := range []string{"authserv_id", "verdict", "dkim_alignment", "recipients", "evidence", "allowed_external", "owners", "max_age",
		"accept_unsigned", "accept_automatic", "matrix.X.allow", "matrix.X.require_owner_confirmation", "mail"} {
		if seen[key] == 0 {
			t.Errorf("no advice changes %s", key)
		}
	}
}

// looksRight checks the two forms of an explanation.
func looksRight(t *testing.T, name string, x *Explanation) {
	t.Helper()
	for _, l := range append(x.Lines(), x.Brief()...) {
		if strings.ContainsFunc(l, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
			t.Errorf("%s: %q", name, l)
		}
	}
	b := x.Append(nil)
	if !json.Valid(b) || bytes.ContainsAny(b, "\n\x1b") {
		t.Errorf("%s: %s", name, b)
	}
}

// helps checks each change that the explanation of a subject names.
func helps(t *testing.T, name string, s Subject, text string, seen map[string]int) *Explanation {
	t.Helper()
	x := Of(s)
	if len(x.OfPolicy) > mostPolicy || len(x.OfMail) > mostMail {
		t.Errorf("%s: %d and %d changes", name, len(x.OfPolicy), len(x.OfMail))
	}
	for _, c := range append(x.OfPolicy, x.OfMail...) {
		changed := s
		c.apply(&changed)
		made := changed.decide(nil)
		if made.d.Outcome != c.Outcome || made.d.Outcome == x.Decision.Outcome {
			t.Errorf("%s: %+v: %s, was %s", name, c.Edits, made.d.Outcome, x.Decision.Outcome)
		}
		further := rank(c.Outcome) < rank(x.Decision.Outcome)
		if further && slices.ContainsFunc(c.Edits, func(e Edit) bool { return e.Table == "matrix.unknown" || e.Table == "matrix.owner_claim_unverified" }) {
			t.Errorf("%s: %+v lets senders ask whom nothing proves", name, c.Edits)
		}
		if len(c.Edits) > 0 {
			changed.Policy = parse(t, written(t, text, s.Policy, c.Edits))
		}
		file := changed.decide(nil)
		file.d.Policy = made.d.Policy
		if !reflect.DeepEqual(file.d.Decision, made.d.Decision) || !slices.Equal(file.d.Say(), made.d.Say()) {
			t.Errorf("%s: %+v: written into the file %+v, want %+v", name, c.Edits, file.d, made.d)
		}
		count(&c, seen)
	}
	return x
}

func count(c *Change, seen map[string]int) {
	for _, e := range c.Edits {
		key := e.Key
		switch {
		case strings.HasPrefix(e.Table, "matrix."):
			key = "matrix.X." + key
		case strings.HasPrefix(e.Table, "tools.level"):
			key = "tools.level"
		case e.Table != "":
			key = e.Table + "." + key
		}
		seen[key]++
	}
	if c.What != "" {
		seen["mail"]++
	}
}

// written returns the text of a policy with the edits made.
func written(t *testing.T, text string, p *policy.Policy, edits []Edit) string {
	t.Helper()
	tree := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	added := map[string]map[string]any{} // the new table of a list
	for _, e := range edits {
		var value map[string]any
		if err := toml.Unmarshal([]byte("x = "+e.Value), &value); err != nil {
			t.Fatalf("%s: %v", e.Value, err)
		}
		table := tree
		switch {
		case e.multiple():
			table = nth(tree, &e, added)
		case e.Table != "":
			for _, part := range parts(e.Table) {
				table = inner(table, part)
			}
		}
		keys := parts(e.Key)
		for _, part := range keys[:len(keys)-1] {
			table = inner(table, part)
		}
		table[keys[len(keys)-1]] = value["x"]
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(tree); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// nth returns one of several tables, or a new one.
func nth(tree map[string]any, e *Edit, added map[string]map[string]any) map[string]any {
	parent, key := tree, e.Table
	if e.Table == "platform.chat" {
		parent, key = tree["platform"].([]any)[e.In].(map[string]any), "chat"
	}
	if e.Table == "exec.allow" {
		parent, key = inner(tree, "exec"), "allow"
	}
	list, _ := parent[key].([]any)
	if e.Nth != New {
		return list[e.Nth].(map[string]any)
	}
	if added[e.Table] == nil {
		added[e.Table] = map[string]any{}
		parent[key] = append(list, added[e.Table])
	}
	return added[e.Table]
}

func inner(table map[string]any, key string) map[string]any {
	if table[key] == nil {
		table[key] = map[string]any{}
	}
	return table[key].(map[string]any)
}

// parts splits a key at its dots, except those in quotes.
func parts(key string) (list []string) {
	for key != "" {
		if key[0] == '"' {
			part, rest, _ := strings.Cut(key[1:], `"`)
			list, key = append(list, part), strings.TrimPrefix(rest, ".")
			continue
		}
		part, rest, _ := strings.Cut(key, ".")
		list, key = append(list, part), rest
	}
	return list
}
