package tools

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/terms"
)

// A proposal can name any action with any tool; what carries it out may go by the tool.
func TestToolWithAnotherAction(t *testing.T) {
	p := parse(t, "[tools]\nprofile = \"full\"\n[tools.action]\n\"pay.*\" = \"external_send\"\n\"pay.list\" = \"read_private\"\n"+
		"\"note\" = \"write_local\"\n\"fs.read\" = \"read_public\"\n\"mail.*\" = \"read_public\"\n[exec]\nmode = \"full\"\nworkspace = \"/ws\"")
	for tool, actions := range map[string][]terms.Action{
		"mail.send":    {terms.ExternalSend},
		"mail.draft":   {terms.WriteLocal},
		"mail.read":    terms.Actions[1:], // what is built in stays
		"fs.read":      terms.Actions[1:],
		"fs.write":     terms.Actions[2:],
		"fs.edit":      terms.Actions[2:],
		"fs.delete":    {terms.CodeOrComputer}, // nobody says what these do
		"pay":          {terms.CodeOrComputer},
		"mail.forward": terms.Actions, // the policy says so
		"note":         terms.Actions[2:],
		"pay.now":      terms.Actions[3:],
		"pay.list":     terms.Actions[3:], // of two that match, the stronger
		"web.fetch":    terms.Actions,
		"task.note":    terms.Actions[2:],
	} {
		for _, action := range terms.Actions {
			want := Reason("")
			if !slices.Contains(actions, action) {
				want = NotAllowed
			}
			if v := Judge(p, wish(t, action, tool, `{"path":"ok"}`), terms.System, &world{}); v.Reason != want {
				t.Errorf("%s with %s: %+v, want %q", tool, action, v, want)
			}
		}
	}
}

// Every tool of a profile but the patterns has a binding.
func TestProfilesAreBound(t *testing.T) {
	for _, p := range Profiles {
		for _, tool := range p.Tools {
			if builtinAction(tool) == nil && !strings.Contains(tool, "*") {
				t.Errorf("%s of %s", tool, p.Name)
			}
		}
	}
}

// A start of a program is judged as one, or not at all, whatever tool it names.
func TestArgvOfAnotherTool(t *testing.T) {
	for _, mode := range []string{"deny", "allowlist", "full"} {
		p := parse(t, "[tools]\nprofile = \"full\"\n[exec]\nmode = \""+mode+"\"\nworkspace = \"/ws\"")
		r := wish(t, terms.CodeOrComputer, "web.search", `{"argv":["/bin/sh","-c","id"],"dir":"/"}`)
		if v := Judge(p, r, terms.System, &world{}); v.Reason != BadArguments {
			t.Errorf("%s: %+v", mode, v)
		}
	}
}

// All paths are looked at while the queue is locked.
func TestManyPaths(t *testing.T) {
	p := parse(t, "[exec]\nworkspace = \"/ws\"")
	for n, want := range map[int]Reason{maxPaths: "", maxPaths + 1: BadArguments} {
		paths := strings.TrimSuffix(strings.Repeat(`"ok",`, n), ",")
		if v := Judge(p, wish(t, terms.WriteLocal, "fs.write", `{"path":[`+paths+`]}`), terms.System, &world{}); v.Reason != want {
			t.Errorf("%d paths: %+v, want %q", n, v, want)
		}
	}
}
