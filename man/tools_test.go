package man

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/terms"
)

// The policies about tools are valid, and say what the page says of them.
func TestToolPolicies(t *testing.T) {
	p, err := policy.Parse("pulse-agents.7", []byte(read(t, "pulse-agents.7").marked(t, "policy: agent")))
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{"fs.read": true, "fs.write": true, "web.search": true, "web.fetch": false, "exec": false} {
		if ok, rule := tools.Visible(p, tool); ok != want {
			t.Errorf("%s: %v (%s)", tool, ok, rule)
		}
	}
	p, err = policy.Parse("pulse-agents.7", []byte(read(t, "pulse-agents.7").marked(t, "policy: agent notes")))
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]terms.Action{"notes.search": terms.ReadPrivate, "notes.add": terms.WriteLocal, "notes.delete": terms.CodeOrComputer} {
		if ok, rule := tools.Visible(p, tool); !ok || tools.Action(p, tool) != want {
			t.Errorf("%s: %v (%s), %s", tool, ok, rule, tools.Action(p, tool))
		}
	}
	p, err = policy.Parse("pulse-policy.5", []byte(read(t, "pulse-policy.5").marked(t, "policy: tools")))
	if err != nil {
		t.Fatal(err)
	}
	if owner, person := tools.Level(p, "fs.write"); !owner || person || len(p.Exec.Allow) != 1 {
		t.Errorf("%+v", p)
	}
}

// pulse-policy(5) lists what each profile has more than the one before.
func TestProfiles(t *testing.T) {
	got := read(t, "pulse-policy.5").explained("profiles")
	if len(got) != len(tools.Profiles) {
		t.Fatalf("the page has %d profiles", len(got))
	}
	before := 0
	for i, p := range tools.Profiles {
		if p.Name == "full" {
			before = 0
		}
		name, text, _ := strings.Cut(got[i], ":")
		text = strings.TrimPrefix(strings.TrimSpace(text), "those, and ")
		if want := strings.Join(p.Tools[before:], " "); name != p.Name || text != want {
			t.Errorf("the page says\n%s: %s\nthe code\n%s: %s", name, text, p.Name, want)
		}
		before = len(p.Tools)
	}
}

// pulse-policy(5) lists what the tools do that no policy changes.
func TestToolActions(t *testing.T) {
	var want []string
	for _, b := range tools.Bindings {
		line := b.Tool + ": " + string(b.Action)
		if b.Only {
			line += " only"
		}
		want = append(want, line)
	}
	if got := read(t, "pulse-policy.5").explained("tool actions"); !slices.Equal(got, want) {
		t.Errorf("the page says\n%s\nthe code\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
