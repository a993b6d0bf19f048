package judge

import (
	"errors"
	"strings"
	"testing"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/pins"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

const notes = `[{"name":"search","description":"Finds."},{"name":"add.one","description":"Adds."}]`

// pinned is a judge who knows what a person has accepted of a server.
func pinned(t *testing.T) *Judge {
	t.Helper()
	j := seat(t, rules)
	j.Policy.Tools.Action = map[string]terms.Action{"notes.*": terms.ReadPrivate}
	s := &pins.Server{Name: "notes"}
	err := record.Value(notes).Elements(func(_ int, v record.Value) error {
		tool, err := pins.Read(v)
		return errors.Join(err, s.Add(tool))
	})
	if err != nil {
		t.Fatal(err)
	}
	j.Pins = pins.Pins{"notes": s}
	return j
}

// asks puts a question, and returns the answer.
func asks(t *testing.T, j *Judge, question string) string {
	t.Helper()
	return string(j.Answer(t.Context(), []byte(question)))
}

func has(t *testing.T, got, want string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: want %s", got, want)
	}
}

// TestPins: a tool of a pinned server may be used only as it was accepted, and once the
// server has listed it, whoever asks.
func TestPins(t *testing.T) {
	j := pinned(t)
	const call = `{"server":"Notes","call":"search","args":{},"dir":"/ws"}`
	has(t, asks(t, j, call), "has not listed its tool search behind pulse-authorize hook mcp notes (definition_changed, hook)")
	has(t, use(j, "mcp__notes__search", `{}`), "definition_changed")
	if got := asks(t, j, `{"server":"notes","tools":`+notes+`}`); got != `{"tools":["search","add.one"]}` {
		t.Error(got)
	}
	has(t, asks(t, j, call), `"outcome":"allow"`)
	starts(t, use(j, "mcp__notes__search", `{"q":1}`), "allow ")
	starts(t, use(j, "mcp__notes__add_one", `{}`), "allow ") // as Claude Code spells it
	has(t, use(j, "mcp__notes__add_two", `{}`), "definition_changed")
	gemini := hook.Use{Client: hook.Gemini, Name: "mcp_notes_x", Dir: "/ws", Input: "{}", Server: "notes"}
	if o, why := j.Use(&gemini); o != hook.Deny || !strings.Contains(why, "definition_changed") {
		t.Error(o, why)
	}

	changed := strings.Replace(notes, "Finds.", "Sends.", 1)
	if got := asks(t, j, `{"server":"notes","tools":`+changed+`}`); got != `{"tools":["add.one"]}` {
		t.Error(got)
	}
	has(t, asks(t, j, call), "the server notes has changed the description of the tool search (definition_changed, hook)")
	has(t, use(j, "mcp__notes__search", `{}`), "definition_changed")
	has(t, asks(t, j, `{"server":"others","call":"search","args":{},"dir":"/ws"}`), "code_or_computer") // pinned by nobody
	n := 0
	for _, d := range j.Result().Judged {
		if d.Reason == "definition_changed" {
			n += d.Count
		}
	}
	if n != 7 { // six uses, and one list
		t.Errorf("%d: %+v", n, j.Result().Judged)
	}

	j = pinned(t)
	j.Pins["notes"].Err = errors.New("unread")
	if got := asks(t, j, `{"server":"notes","tools":`+notes+`}`); got != `{"tools":[]}` {
		t.Error(got)
	}
	has(t, asks(t, j, call), "nobody knows what was accepted of the server notes: its file can not be read (definition_changed, hook)")
}

// TestTwice: a use that a client's hook asks about and its server's proxy, too, is one use.
func TestTwice(t *testing.T) {
	j := pinned(t)
	j.Policy.Flow = map[label.Label]policy.Flow{label.Private: {Deny: []string{"notes.*"}}}
	asks(t, j, `{"server":"notes","tools":`+notes+`}`)
	starts(t, use(j, "mcp__notes__search", `{"q": "\u0061", "n":1}`), "allow ")
	const call = `{"server":"notes","call":"search","args":{"n":1,"q":"a"},"dir":"/ws"}`
	has(t, asks(t, j, call), `"outcome":"allow"`) // though it is labelled private by now
	has(t, asks(t, j, call), "flow_private")      // which is another use
	if got := j.Result().Judged; len(got) != 2 || got[0].Count != 1 || got[1].Count != 1 {
		t.Errorf("%+v", got)
	}
	starts(t, use(j, "mcp__notes__search", `{"q":"b"}`), "deny ")
	has(t, asks(t, j, `{"server":"notes","call":"search","args":{"q":"b"},"dir":"/ws"}`), "flow_private")

	// What is put to a person is put there once.
	j = seat(t, rules)
	starts(t, use(j, "mcp__other__run", `{}`), "deny ")
	has(t, asks(t, j, `{"server":"other","call":"run","args":{},"dir":"/ws"}`), `"outcome":"deny"`)
	if got := string(j.Result().Parked); strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

// TestServed: what is no question about a server is refused.
func TestServed(t *testing.T) {
	j := seat(t, rules)
	for _, q := range []string{
		`{"server":"x"}`, `{"server":1,"tools":[]}`, `{"server":"x","call":"","args":{},"dir":"/"}`, `{"server":"x","call":"y","args":{}}`, `{"server":"x","call":"y","args":[],"dir":"/"}`,
		`{"server":"x","call":"y","dir":"/"}`, `{"server":"x","call":1,"args":{},"dir":"/"}`, `{"server":"x","call":"y","args":{},"dir":1}`,
		`{"server":"x","tools":{}}`, `{"server":"x","tools":[{}]}`, `{"server":"x","tools":[{"name":"a b"}]}`, `{"server":"x","tools":[1]}`,
	} {
		has(t, asks(t, j, q), `"error":`)
	}
	if got := asks(t, j, `{"server":"x","tools":[]}`); got != `{"tools":[]}` {
		t.Error(got)
	}
}
