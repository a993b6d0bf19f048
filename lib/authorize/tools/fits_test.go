package tools

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// Judge is Trace without a log.
func Judge(p *policy.Policy, r *request.Request, by Asker, world World) Verdict {
	return Trace(nil, p, r, by, world)
}

// A proposal can name any action with any tool, and the worker may go by the tool.
func TestToolWithAnotherAction(t *testing.T) {
	p := parse(t, "[tools]\nprofile = \"full\"\n[tools.action]\n\"pay.*\" = \"external_send\"\n\"pay.list\" = \"read_private\"\n"+
		"\"note\" = \"write_local\"\n\"fs.read\" = \"read_public\"\n\"mail.*\" = \"read_public\"\n[exec]\nmode = \"full\"\nworkspace = \"/ws\"")
	for tool, actions := range map[string][]terms.Action{
		"mail.send":    {terms.ExternalSend},
		"mail.draft":   {terms.WriteLocal},
		"mail.read":    terms.Actions[1:], // a built-in binding stays
		"fs.read":      terms.Actions[1:],
		"fs.write":     terms.Actions[2:],
		"fs.edit":      terms.Actions[2:],
		"fs.delete":    {terms.CodeOrComputer}, // nothing says what these do
		"pay":          {terms.CodeOrComputer},
		"mail.forward": terms.Actions, // the policy says so
		"note":         terms.Actions[2:],
		"pay.now":      terms.Actions[3:],
		"pay.list":     terms.Actions[3:], // the stronger of two that match
		"web.fetch":    terms.Actions,
		"task.note":    terms.Actions[2:],
	} {
		for _, action := range terms.Actions {
			want := Reason("")
			if !slices.Contains(actions, action) {
				want = notAllowed
			}
			if v := Judge(p, wish(t, action, tool, `{"path":"ok"}`), Asker{Trust: terms.System}, &world{}); v.Reason != want {
				t.Errorf("%s with %s: %+v, want %q", tool, action, v, want)
			}
		}
	}
}

// Every tool of a profile has a binding, except the patterns.
func TestProfilesAreBound(t *testing.T) {
	for _, p := range Profiles {
		for _, tool := range p.Tools {
			if builtinAction(tool) == nil && !strings.Contains(tool, "*") {
				t.Errorf("%s of %s", tool, p.Name)
			}
		}
	}
}

// The start of a program is judged as exec or refused, whatever tool it names.
func TestArgvOfAnotherTool(t *testing.T) {
	for _, mode := range []string{"deny", "allowlist", "full"} {
		p := parse(t, "[tools]\nprofile = \"full\"\n[exec]\nmode = \""+mode+"\"\nworkspace = \"/ws\"")
		r := wish(t, terms.CodeOrComputer, "web.search", `{"argv":["/bin/sh","-c","id"],"dir":"/"}`)
		if v := Judge(p, r, Asker{Trust: terms.System}, &world{}); v.Reason != badArguments {
			t.Errorf("%s: %+v", mode, v)
		}
	}
}

// The paths are looked at while the queue is locked, so their number is bounded.
func TestManyPaths(t *testing.T) {
	p := parse(t, "[exec]\nworkspace = \"/ws\"")
	for n, want := range map[int]Reason{maxPaths: "", maxPaths + 1: badArguments} {
		paths := strings.TrimSuffix(strings.Repeat(`"ok",`, n), ",")
		if v := Judge(p, wish(t, terms.WriteLocal, "fs.write", `{"path":[`+paths+`]}`), Asker{Trust: terms.System}, &world{}); v.Reason != want {
			t.Errorf("%d paths: %+v, want %q", n, v, want)
		}
	}
}
