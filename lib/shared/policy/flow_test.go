package policy

import (
	"reflect"
	"strings"
	"testing"

	"pulse/lib/shared/label"
)

// TestFlow: however its tables are written, [flow] says the same, and each key has its line.
func TestFlow(t *testing.T) {
	want := map[label.Label]Flow{
		label.Private:   {Confirm: []string{"read_public", "mail.*"}, Deny: []string{"web.*"}},
		label.Untrusted: {Confirm: []string{"write_local"}},
	}
	for text, line := range map[string]int{
		"[flow]\nprivate = { confirm = [\"read_public\", \"mail.*\"], deny = [\"web.*\"] }\nuntrusted = { confirm = [\"write_local\"], deny = [] }": 2,
		"[flow.private]\nconfirm = [\"read_public\", \"mail.*\"]\ndeny = [\"web.*\"]\n[flow.untrusted]\nconfirm = [\"write_local\"]":                3,
		"[flow]\nprivate.confirm = [\"read_public\", \"mail.*\"]\nprivate.deny = [\"web.*\"]\nuntrusted.confirm = [\"write_local\"]":                3,
		"flow.private.confirm = [\"read_public\", \"mail.*\"]\n\nflow.private = {}\n":                                                               0,
	} {
		p, err := Parse("p", []byte(text))
		if line == 0 {
			if err == nil {
				t.Errorf("%s: no error", text)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(p.Flow, want) {
			t.Errorf("%s: %+v, %v", text, p, err)
			continue
		}
		if got := p.Line("flow.private.deny", 0); got != line {
			t.Errorf("%s: flow.private.deny is in line %d, want %d", text, got, line)
		}
	}
	for _, text := range []string{"", "[flow]", "[flow]\nprivate = {}", "[flow.untrusted]\nconfirm = []"} {
		if p, err := Parse("p", []byte(text)); err != nil || p.Flow != nil {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// TestFlowRefused: what is almost an action is not taken for a tool that nobody has.
func TestFlowRefused(t *testing.T) {
	for entry, want := range map[string]string{
		"read_privat":   "did you mean read_private?",
		"read-public":   "did you mean read_public?",
		"external_sned": "did you mean external_send?",
		"Write_Local":   "did you mean write_local?",
		"code":          "did you mean code_or_computer?",
		"WebFetch":      "want one of read_public, ",
		"":              "want one of read_public, ",
		"web fetch":     "want one of read_public, ",
	} {
		_, err := Parse("p", []byte("[flow]\n\nprivate = { deny = [\"web.*\",\n\""+entry+"\"] }"))
		if err == nil || !strings.HasPrefix(err.Error(), "p:4: flow.private.deny: "+entry) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", entry, err)
		}
	}
	for text, want := range map[string]string{
		"[flow]\nprivat = {}":                  "did you mean private?",
		"[flow]\nprivate = { confrim = [] }":   "did you mean confirm?",
		"[flow.private]\ndeny = \"web.fetch\"": "p:2: ",
		"[flow]\nprivate = [\"web.*\"]":        "p:2: ",
		"flow = 1":                             "p:1: ",
	} {
		_, err := Parse("p", []byte(text))
		if err == nil || !strings.Contains(err.Error()+Hint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, ok := range []string{"exec", "draft", "fs.read", "read_*", "*", "pay/now", "mcp:read_private", "browse"} {
		if _, err := Parse("p", []byte("flow.private.deny = [\""+ok+"\"]")); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
}
