package layout

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/classify/receivers"
	"pulse/lib/classify/suggest"
	"pulse/lib/shared/policy"
)

const anySource = "imaps://me@imap.example.com/INBOX"

func printed(t *testing.T, r *receivers.Receiver) (string, *policy.Policy) {
	t.Helper()
	lines := suggest.Preset("me@example.com", r)
	p, err := policy.Parse(r.Name, []byte(strings.NewReplacer("@OWNER@", "me@example.com", "@PIN@", lines, "@AGENTS@", `["agent@example.com"]`).Replace(template)))
	if err != nil {
		t.Fatal(err)
	}
	return lines, p
}

// Whatever is known of a receiver, the policy that init prints is valid and does what
// the preset says.
func TestPresets(t *testing.T) {
	for _, r := range receivers.All() {
		lines, p := printed(t, &r)
		wantIDs, wantEvidence := r.IDs, r.Evidence
		if r.Probed {
			wantEvidence = policy.ByDKIM
		}
		own, _ := p.Receiver(anySource)
		if !slices.Equal(own.AuthservIDs, wantIDs) || p.Evidence != wantEvidence {
			t.Errorf("%s: believes %v, evidence %s; want %v, %s", r.Name, own.AuthservIDs, p.Evidence, wantIDs, wantEvidence)
		}
		if named := r.Verdict == policy.BySet; named != (p.Verdict == policy.BySet) || p.Verdict == policy.ByMicrosoft {
			t.Errorf("%s: verdict %s", r.Name, p.Verdict)
		}
		for _, text := range []string{r.Measured, r.Documented, r.Risk, r.Do, "scripts/probe-receiver mail --receiver " + r.Name, "scripts/probe-receiver submit --receiver " + r.Name} {
			if !strings.Contains(strings.ReplaceAll(lines, "\n# ", " "), text) {
				t.Errorf("%s: it does not say %q", r.Name, text)
			}
		}
		if strings.Contains(lines, "unchecked") || strings.Contains(lines, "\n\n") || strings.HasSuffix(lines, "\n") {
			t.Errorf("%s:\n%s", r.Name, lines)
		}
	}
}

// What is commented out for a person to choose is right, too.
func TestMicrosoftSwitchedOn(t *testing.T) {
	r, _ := receivers.ByName("microsoft")
	lines, _ := printed(t, &r)
	on := strings.Replace(lines, "\nevidence = \"dkim\"", "", 1)
	for _, line := range []string{`verdict = "microsoft"`, `evidence = "either"`, `accept_unsigned = ["To", "Cc"]`} {
		if !strings.Contains(on, "\n# "+line) {
			t.Fatalf("no line %s in\n%s", line, lines)
		}
		on = strings.Replace(on, "\n# "+line, "\n"+line, 1)
	}
	p, err := policy.Parse("on", []byte(on))
	if err != nil {
		t.Fatal(err)
	}
	if own, ok := p.Receiver(anySource); !ok || own.Verdict != policy.ByMicrosoft || p.Evidence != policy.ByEither || len(p.AcceptUnsigned) != 2 {
		t.Errorf("%+v", p)
	}
}
