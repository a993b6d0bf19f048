package judge

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pulse/lib/authorize/hook"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/label"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

const rules = `owners = ["me@example.com"]
[matrix.owner_verified_email]
allow = ["read_public", "read_private"]
require_owner_confirmation = ["external_send", "code_or_computer"]
[tools]
profile = "full"
[flow]
private = { confirm = ["read_public"] }
`

const task = "0123456789abcdef0123456789abcdef"

func seat(t testing.TB, text string) *Judge {
	t.Helper()
	p, err := policy.Parse("policy", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Judge{Policy: p, Task: task, Identity: identity.Identity{Sender: "me@example.com", Trust: terms.OwnerVerifiedEmail, Verified: true}}
}

// use returns what the client is told about the use of a tool.
func use(j *Judge, tool, input string) string {
	o, why := j.Use(&hook.Use{Client: hook.ClaudeCode, Name: tool, Dir: "/ws", Input: record.Value(input)})
	return string(o) + " " + why
}

func starts(t *testing.T, got, want string) {
	t.Helper()
	if !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestLabels: what a use has touched counts for the next, and what was allowed before is
// not allowed any more.
func TestLabels(t *testing.T) {
	j := seat(t, rules)
	starts(t, use(j, "WebSearch", `{"query":"x"}`), "allow ")
	starts(t, use(j, "mcp__mailbox__read", `{}`), "deny ") // nothing says what it does
	j.Policy.Tools.Action = map[string]terms.Action{"mailbox.read": terms.ReadPrivate}
	starts(t, use(j, "mcp__mailbox__read", `{}`), "allow ")
	starts(t, use(j, "WebSearch", `{"query":"secret"}`), "deny pulse: it began with a task that is labelled private (mailbox.read), and flow.private.confirm has read_public (flow_private, flow.private.confirm). It was put to a person")
	left := j.Result()
	if len(left.Labels) != 2 || left.Labels.Use(label.Private).By != "mailbox.read" {
		t.Errorf("%+v", left.Labels)
	}
	if want := `{"action":"code_or_computer","tool":"mailbox.read","args":{}}` + "\n" + `{"action":"read_public","tool":"web.search","args":{"query":"secret"}}` + "\n"; string(left.Parked) != want {
		t.Errorf("%s", left.Parked)
	}
}

// TestParked: as much is put to a person as the queue takes, each wish once, and the model
// is told what is not.
func TestParked(t *testing.T) {
	j := seat(t, rules)
	for range 3 {
		starts(t, use(j, "Unheard", `{"n":1}`), "deny pulse: ")
	}
	if n := strings.Count(string(j.Result().Parked), "\n"); n != 1 {
		t.Errorf("%d lines", n)
	}
	told, parked := 0, 0
	for i := range 60 {
		if strings.Contains(use(j, "Unheard", fmt.Sprintf(`{"i":%d}`, i)), "put to a person: do not") {
			told++
		}
	}
	if parked = strings.Count(string(j.Result().Parked), "\n"); parked != told+1 || told+3 != maxParked {
		t.Errorf("%d are there, and %d were told", parked, told)
	}
	j = seat(t, rules)
	starts(t, use(j, "Unheard", `{"x":"`+strings.Repeat("x", maxRequest)+`"}`), "deny pulse: it is too large to be put to a person")
	for range 10 {
		use(j, "Unheard", `{"x":"`+strings.Repeat("x", 200<<10)+`"}`)
	}
	if left := j.Result(); len(left.Parked) > maxRoom {
		t.Errorf("%d bytes", len(left.Parked))
	}
	j = seat(t, rules)
	j.Waiting(maxParked, 10)
	starts(t, use(j, "Unheard", `{}`), "deny pulse: too much of this run waits for a person")
}

func TestPerson(t *testing.T) {
	j := seat(t, rules)
	j.Person = true
	starts(t, use(j, "Unheard", `{}`), "ask ")
	if o, _ := j.Use(&hook.Use{Client: hook.Codex, Name: "x", Dir: "/", Input: "{}"}); o != hook.Deny {
		t.Errorf("Codex is told %s", o)
	}
}

// TestTooMany: beyond the bound nothing is allowed, so that whatever was allowed is known.
func TestTooMany(t *testing.T) {
	j := seat(t, rules+"[tools.action]\n\"t*\" = \"read_public\"\n")
	allowed := 0
	for i := range maxJudged + 7 {
		if strings.HasPrefix(use(j, fmt.Sprintf("t%d", i), `{}`), "allow") {
			allowed++
		}
	}
	left := j.Result()
	if last := left.Judged[len(left.Judged)-1]; allowed != maxJudged || len(left.Judged) != maxJudged+1 || last.Count != 7 || last.Outcome != terms.Reject {
		t.Errorf("%d were allowed, %d judgements, the last is %+v", allowed, len(left.Judged), last)
	}
}

// say asks a question, and returns the answer.
func say(j *Judge, question string) string {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return string(j.Answer(ctx, []byte(question)))
}

// TestSession: a client gets the ask once its hook said hello, and not before.
func TestSession(t *testing.T) {
	j := seat(t, rules)
	starts(t, say(j, `{"await":true}`), `{"error":"judge: its hook did not say hello"}`)
	starts(t, say(j, `{"hook":"gemini","event":{"hook_event_name":"SessionStart"}}`), `{"say":{}}`)
	starts(t, say(j, `{"worker":"gemini","version":"0.61.0","ask":"do it"}`), `{"tools":["glob","google_web_search","grep_search",`)
	starts(t, say(j, `{"worker":"gemini","version":"0.61.0","ask":"do that"}`), `{"error":"judge: the run has a client already, gemini"}`)
	starts(t, say(j, `{"hook":"codex","event":{"hook_event_name":"SessionStart"}}`), `{"say":{}}`)
	if left := j.Result(); left.Greeted || left.Counted || left.Ungated != "the hook of gemini did not say hello" {
		t.Errorf("%+v", left)
	}
	starts(t, say(j, `{"hook":"gemini","event":{"hook_event_name":"SessionStart"}}`), `{"say":{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"do it"}}}`)
	starts(t, say(j, `{"await":true}`), `{"hello":true}`)
	starts(t, say(j, `{"hook":"gemini","event":{"hook_event_name":"BeforeTool","cwd":"/","tool_name":"google_web_search","tool_input":{"query":"x"}}}`), `{"say":{"decision":"allow"`)
	starts(t, say(j, `{"used":[["google_web_search_1","google_web_search"]]}`), `{"done":true}`)
	if left := j.Result(); !left.Greeted || !left.Counted || left.Ungated != "" {
		t.Errorf("%+v", left)
	}
	starts(t, say(j, `{"used":[["1","google_web_search"]]}`), `{"done":true}`)
	if left := j.Result(); left.Ungated != `gemini used "google_web_search" and did not ask` {
		t.Errorf("%+v", left)
	}
}

// TestCount: where the client tells an id, a use with another is one that nobody was asked
// about, whatever its name.
func TestCount(t *testing.T) {
	for used, want := range map[string]bool{
		`[["toolu_1","WebSearch"]]`: true, `[]`: true, `[["toolu_1","WebSearch"],["toolu_1","WebSearch"]]`: true,
		`[["toolu_2","WebSearch"]]`: false, `[["","WebSearch"]]`: false, `[["toolu_1","WebSearch"],["toolu_3","Bash"]]`: false,
	} {
		j := seat(t, rules)
		say(j, `{"worker":"claude-code","version":"2.1.197"}`)
		say(j, `{"hook":"claude-code","event":{"hook_event_name":"SessionStart"}}`)
		say(j, `{"hook":"claude-code","event":{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"WebSearch","tool_input":{},"tool_use_id":"toolu_1"}}`)
		say(j, `{"used":`+used+`}`)
		if left := j.Result(); left.Ungated == "" != want {
			t.Errorf("%s: %q", used, left.Ungated)
		}
	}
}

func TestVersion(t *testing.T) {
	j := seat(t, rules)
	starts(t, say(j, `{"worker":"claude-code","version":"3.0.0"}`), `{"error":"judge: nobody has tried the hooks of claude-code`)
	say(j, `{"hook":"claude-code","event":{"hook_event_name":"SessionStart"}}`)
	if left := j.Result(); left.Greeted || !strings.Contains(left.Ungated, "nobody has tried") {
		t.Errorf("%+v", left)
	}
}

// TestPing: the prompt by which Codex begins a session gets to no model; any other does.
func TestPing(t *testing.T) {
	j := seat(t, rules)
	starts(t, say(j, `{"hook":"codex","event":{"hook_event_name":"UserPromptSubmit","prompt":"`+Ping+`"}}`), `{"say":{"decision":"block"`)
	starts(t, say(j, `{"hook":"codex","event":{"hook_event_name":"UserPromptSubmit","prompt":"do it"}}`), `{"say":{}}`)
}

func TestPropose(t *testing.T) {
	j := seat(t, rules)
	starts(t, say(j, `{"propose":{"action":"external_send","target":"bob@partner.example"}}`), `{"done":true}`)
	starts(t, say(j, `{"propose":[]}`), `{"error":`)
	if got := string(j.Result().Parked); got != `{"action":"external_send","target":"bob@partner.example"}`+"\n" {
		t.Error(got)
	}
}

// TestTools: a worker offers its model what the policy leaves to the task.
func TestTools(t *testing.T) {
	j := seat(t, rules)
	if got := strings.Join(j.Tools(hook.ClaudeCode), " "); got != "Glob Grep LS Read WebFetch WebSearch" {
		t.Error(got)
	}
	j.Identity.Trust = terms.Unknown
	if got := j.Tools(hook.ClaudeCode); len(got) > 0 {
		t.Error(got)
	}
}

// FuzzAnswer: whatever is asked, an answer is one JSON object, and a call of a tool that is
// not allowed to anybody is never allowed.
func FuzzAnswer(f *testing.F) {
	for _, q := range []string{
		`{"hook":"claude-code","event":{"cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}}`, `{"await":true}`, `{"used":[["a","b"]]}`,
		`{"worker":"gemini","version":"0.1","ask":"x"}`, `{"propose":{"action":"read_public"}}`, `{"server":"s","call":"t","args":{},"dir":"/"}`, `{"server":"s","tools":[]}`,
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		j := seat(t, "owners = [\"me@example.com\"]\n[matrix.owner_verified_email]\nallow = []\n")
		answer := say(j, q)
		if _, err := record.Parse([]byte(answer)); err != nil {
			t.Errorf("%s: %s: %v", q, answer, err)
		}
		if strings.Contains(answer, `"allow"`) {
			t.Errorf("%s: %s", q, answer)
		}
	})
}
