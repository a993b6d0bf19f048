package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pulse/lib/authorize/compare"
	"pulse/lib/authorize/layout"
	"pulse/lib/authorize/replay"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// noise changes the policy that init prints in other ways: caps, a narrower row and list.
var noise = strings.NewReplacer("max_per_day = 100", "max_per_day = 900", `max_age = "48h"`, `max_age = "96h"`,
	`", "agent+write@example.com"]`, `"]`, "require_owner_confirmation = [\"external_send\", ", "require_owner_confirmation = [")

// TestSeededAllowIsFirst: whatever is allowed that was rejected, the first line says so,
// and by which key, also among other changes of the policy.
func TestSeededAllowIsFirst(t *testing.T) {
	text := initial()
	seeded := map[string]string{
		"owners":           strings.Replace(text, `owners = ["me@example.com"]`, `owners = ["me@example.com", "you@example.com"]`, 1),
		"allowed_external": strings.Replace(text, "allowed_external = []", `allowed_external = ["@partner.example"]`, 1),
		"accept_automatic": "accept_automatic = [\"me@example.com\"]\n" + text,
		"authserv_id":      strings.Replace(text, `authserv_id = "mx.google.com"`, `authserv_id = ["mx.google.com", "mx.example.com"]`, 1),
		"verdict":          "verdict = \"set\"\n" + text,
		"evidence":         "evidence = \"either\"\n" + text,
		"dkim_alignment":   "dkim_alignment = \"relaxed\"\n" + text,
		"outbound.allow":   strings.Replace(text, "[outbound]\nallow = []", "[outbound]\nallow = [\"@example.com\"]", 1),
		"exec.workspace":   text + "[exec]\nworkspace = \"/srv/agent\"\n",
		"tools.allow":      text + "[tools]\nallow = [\"pay\"]\naction.pay = \"read_public\"\n",
		"platform":         text + "[[platform]]\nsource = \"telegram\"\nowner_ids = [5]\n",
	}
	p := parsed(t, "init", text)
	for _, trust := range terms.TrustLevels {
		for _, a := range terms.Actions {
			if p.Matrix[trust].Outcome(a) == terms.Reject {
				seeded[fmt.Sprintf("matrix.%s.allow", trust)+" "+string(a)] = allowing(text, p.Matrix[trust], trust, a)
			}
		}
	}
	if len(seeded) < 20 {
		t.Fatalf("only %d", len(seeded))
	}
	for key, wider := range seeded {
		key, _, _ := strings.Cut(key, " ")
		first(t, key, text, wider)
		first(t, key, text, noise.Replace(wider))
	}
}

// allowing returns the policy with one more action allowed in a row.
func allowing(text string, row policy.Row, trust terms.Trust, a terms.Action) string {
	if trust == terms.OwnerVerifiedEmail {
		return strings.Replace(text, `= ["read_public", "write_local"]`, fmt.Sprintf(`= ["read_public", "write_local", %q]`, a), 1)
	}
	var lists = map[terms.Outcome]string{terms.Allow: fmt.Sprintf("%q", a)}
	for other, o := range row {
		lists[o] += strings.TrimPrefix(fmt.Sprintf(", %q", other), strings.Repeat(", ", 1-min(1, len(lists[o]))))
	}
	text += fmt.Sprintf("[matrix.%s]\n", trust)
	for o, key := range map[terms.Outcome]string{terms.Allow: "allow", terms.Confirm: "require_owner_confirmation", terms.Review: "queue_for_review"} {
		text += fmt.Sprintf("%s = [%s]\n", key, lists[o])
	}
	return text
}

func initial() string {
	text := layout.Policy("me@example.com", []string{"agent@example.com", "agent+write@example.com"}, nil)
	return strings.Replace(text, `# authserv_id = "mx.example.com"`, `authserv_id = "mx.google.com"`, 1)
}

func parsed(t *testing.T, name, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse(name, []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return p
}

// first checks the first line about two policies.
func first(t *testing.T, key, old, new string) {
	t.Helper()
	list := compare.Policies(parsed(t, "old", old), parsed(t, "new", new), nil)
	if len(list) == 0 {
		t.Errorf("%s: nothing", key)
		return
	}
	d := list[0]
	if d.Direction != compare.Wider || d.Old.Value != string(terms.Reject) || d.New.Value != string(terms.Allow) || !strings.Contains(d.Key, key) {
		t.Errorf("%s: %s", key, d.String())
	}
}

// TestWitnessShows: a witness shows a difference again, and a wider one if diff says wider, unless
// it names paths or a program, which would have to be there.
func TestWitnessShows(t *testing.T) {
	const rows = "owners = [\"me@example.com\"]\nallowed_external = [\"friend@partner.example\"]\nrecipients = [\"agent@example.net\"]\nauthserv_id = \"mx.example.net\"\n"
	n := 0
	for _, more := range []string{
		"max_age = \"96h\"\n", "evidence = \"either\"\n", "dkim_alignment = \"any\"\n", "accept_unsigned = [\"Date\", \"To\"]\n",
		"default_action = \"read_private\"\n", "verdict = \"set\"\n", "accept_automatic = [\"me@example.com\"]\n",
		"[matrix.external_verified]\nallow = [\"write_local\"]\n", "[tools]\ndeny = [\"web.*\"]\n", "[outbound]\nallow = []\n",
		"[extract]\nschema = \"request\"\nrequire = [\"external_verified\"]\n", "[flow]\nprivate = { confirm = [\"external_send\"] }\n",
		"[[platform]]\nsource = \"telegram\"\nowner_ids = [5]\n", "[tools.action]\n\"web.*\" = \"read_private\"\n",
	} {
		changed := more + rows
		if strings.HasPrefix(more, "[") {
			changed = rows + more
		}
		old, new := parsed(t, "old", rows), parsed(t, "new", changed)
		for _, d := range compare.Policies(old, new, nil) {
			if d.Witness == nil || strings.Contains(string(d.Witness), `"args":`) {
				continue
			}
			n++
			way := again(t, d.Witness, old, new)
			if way == "" || d.Direction == compare.Wider && way != compare.Wider {
				t.Errorf("%s\nits witness is %q: %s", d.String(), way, d.Witness)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d witnesses", n)
	}
}

// again returns which way a record goes, as diff --records sees it; empty: neither.
func again(t *testing.T, line []byte, old, new *policy.Policy) compare.Direction {
	t.Helper()
	rec, err := record.Parse(line, replay.Members...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := replay.Read(rec)
	if err != nil {
		t.Fatal(err)
	}
	d := replay.Difference{Old: c.Decide(old, nil), New: c.Decide(new, nil)}
	if differs, err := d.Compare(compare.NewFollower(old, new)); !differs || err != nil {
		return ""
	}
	return d.Direction
}

// TestDiffEnds: a signal, which cancels the context, does not wait for the comparison.
func TestDiffEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	old, new := parsed(t, "old", initial()), parsed(t, "new", initial()+"[tools]\nprofile = \"coding\"\n")
	if _, err := compared(ctx, old, new); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
