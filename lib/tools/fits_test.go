package tools

import (
	"slices"
	"strings"
	"testing"

	"pulse/lib/terms"
)

// A proposal can name any action with any tool; what carries it out may go by the tool.
func TestToolWithAnotherAction(t *testing.T) {
	p := parse(t, "[tools]\nprofile = \"full\"\n[exec]\nmode = \"full\"\nworkspace = \"/ws\"")
	for _, c := range []struct {
		tool    string
		actions []terms.Action
	}{
		{"mail.send", []terms.Action{terms.ExternalSend}},
		{"fs.write", []terms.Action{terms.WriteLocal, terms.ExternalSend, terms.Destructive, terms.CodeOrComputer}},
		{"fs.edit", []terms.Action{terms.WriteLocal, terms.ExternalSend, terms.Destructive, terms.CodeOrComputer}},
		{"mail.draft", terms.Actions},
		{"fs.read", terms.Actions},
	} {
		for _, action := range terms.Actions {
			want := Reason("")
			if !slices.Contains(c.actions, action) {
				want = NotAllowed
			}
			if v := Judge(p, wish(t, action, c.tool, `{"path":"ok"}`), terms.System, &world{}); v.Reason != want {
				t.Errorf("%s with %s: %+v, want %q", c.tool, action, v, want)
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
