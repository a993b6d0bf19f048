package hook

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		client Client
		event  string
		want   Kind
		bad    bool
	}{
		{ClaudeCode, `{"hook_event_name":"SessionStart","source":"startup"}`, Hello, false},
		{Codex, `{"hook_event_name":"UserPromptSubmit","prompt":"x"}`, Prompt, false},
		{ClaudeCode, `{"hook_event_name":"PreToolUse","cwd":"/","tool_name":"Read","tool_input":{}}`, Wish, false},
		{Gemini, `{"hook_event_name":"BeforeTool","cwd":"/","tool_name":"x","tool_input":null}`, Wish, false},
		{ClaudeCode, `{"cwd":"/","tool_name":"Read"}`, Wish, false},
		{ClaudeCode, `{"hook_event_name":"PostToolUse"}`, Other, false},
		{ClaudeCode, `{"cwd":"/","tool_name":"","tool_input":{}}`, Wish, true},
		{ClaudeCode, `{"tool_name":"Read","tool_input":{}}`, Wish, true},
		{ClaudeCode, `{"cwd":"/","tool_name":"Read","tool_input":[]}`, Wish, true},
		{ClaudeCode, `{"cwd":"/","tool_name":"Read","tool_name":"Write","tool_input":{}}`, Wish, true},
		{ClaudeCode, `{"cwd":"/","tool_name":7}`, Wish, true},
		{ClaudeCode, `{"cwd":"/","tool_name":"Read"} {}`, Wish, true},
		{Gemini, `{"cwd":"/","tool_name":"x","mcp_context":{"server_name":"a"}}`, Wish, true},
		{Gemini, `{"cwd":"/","tool_name":"x","mcp_context":"a"}`, Wish, true},
		{ClaudeCode, `[]`, Wish, true}, {ClaudeCode, ``, Wish, true},
	} {
		e, err := Read(c.client, []byte(c.event))
		if (err != nil) != c.bad || err == nil && e.Kind != c.want || err != nil && !errors.Is(err, errEvent) {
			t.Errorf("%s: %+v, %v", c.event, e, err)
		}
	}
}

// asked returns the request that a call becomes.
func asked(t testing.TB, c Client, call string) string {
	t.Helper()
	e, err := Read(c, []byte(call))
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	r, err := e.Use.Request(policy.Default())
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return string(r.Append(nil))
}

func TestRequest(t *testing.T) {
	for _, c := range []struct {
		client      Client
		tool, input string
		want        string // action, tool, args
	}{
		{ClaudeCode, "Read", `{"file_path":"a"}`, `read_private fs.read {"path":"/ws/a"}`},
		{ClaudeCode, "Read", `{"file_path":"/a"}`, `read_private fs.read {"path":"/a"}`},
		{ClaudeCode, "Read", `{"file_path":"~/a"}`, `read_private fs.read {"path":"../~/a"}`},
		{ClaudeCode, "Read", `{"file_path":["a"]}`, `read_private fs.read {"path":null}`},
		{ClaudeCode, "Read", `{}`, `read_private fs.read {"path":null}`},
		{ClaudeCode, "Glob", `{"pattern":"*.go"}`, `read_private fs.list {"path":["/ws/."]}`},
		{ClaudeCode, "Glob", `{"pattern":"../x","path":"sub"}`, `read_private fs.list {"path":["/ws/sub","../x"]}`},
		{ClaudeCode, "Glob", `{"pattern":["/etc/*"]}`, `read_private fs.list {"path":["/ws/.",null]}`},
		{ClaudeCode, "Write", `{"file_path":"a","content":"x"}`, `write_local fs.write {"path":"/ws/a","text":"x"}`},
		{ClaudeCode, "Edit", `{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}`, `write_local fs.write {"path":"/ws/a","old":"x","new":"y","all":true}`},
		{ClaudeCode, "WebFetch", `{"url":"https://x.example/","prompt":"p","more":1}`, `read_public web.fetch {"url":"https://x.example/","prompt":"p"}`},
		{ClaudeCode, "Bash", `{"command":"ls"}`, `code_or_computer exec {"argv":["/bin/sh","-c","ls"],"dir":"/ws"}`},
		{ClaudeCode, "Bash", `{"command":["ls"]}`, `code_or_computer exec {"dir":"/ws"}`},
		{ClaudeCode, "bash", `{}`, `code_or_computer bash {}`},
		{ClaudeCode, "Unheard", `{"a":1}`, `code_or_computer unheard {"a":1}`},
		{ClaudeCode, "draft", `{}`, `code_or_computer agent.draft {}`},
		{ClaudeCode, "task.note", `{}`, `code_or_computer agent.task.note {}`},
		{ClaudeCode, "FS.read", `{}`, `code_or_computer agent.fs.read {}`},
		{ClaudeCode, "a b", `{}`, `code_or_computer a:20:b {}`},
		{ClaudeCode, "mcp__GitHub__list", `{}`, `code_or_computer github.list {}`},
		{ClaudeCode, "mcp__github__List", `{}`, `code_or_computer github.:list {}`},
		{ClaudeCode, "mcp__fs__read", `{}`, `code_or_computer mcp.fs.read {}`},
		{ClaudeCode, "mcp__", `{}`, `code_or_computer mcp__ {}`},
		{Codex, "apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}`,
			`write_local fs.write {"path":["/ws/a"],"patch":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}`},
		{Codex, "apply_patch", `{"command":"*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}`,
			`destructive fs.write {"path":["/ws/a"],"patch":"*** Begin Patch\n*** Delete File: a\n*** End Patch\n"}`},
		{Codex, "apply_patch", `{"command":"  *** Add File: /etc/x"}`, `write_local fs.write {"path":["/ws/../"],"patch":"  *** Add File: /etc/x"}`},
		{Codex, "apply_patch", `{"command":"*** Add File: a\r"}`, `write_local fs.write {"path":["../a\r"],"patch":"*** Add File: a\r"}`},
		{Codex, "apply_patch", `{"command":[]}`, `write_local fs.write {"path":[null],"patch":[]}`},
		{Codex, "Bash", `{"command":"echo \"*** Delete File: a\""}`, `code_or_computer exec {"argv":["/bin/sh","-c","echo \"*** Delete File: a\""],"dir":"/ws"}`},
		{Gemini, "run_shell_command", `{"command":"ls"}`, `code_or_computer exec {"argv":["/bin/sh","-c","ls"],"dir":"/ws/."}`},
		{Gemini, "run_shell_command", `{"command":"ls","dir_path":7}`, `code_or_computer exec {"argv":["/bin/sh","-c","ls"],"dir":""}`},
		{Gemini, "Read", `{}`, `code_or_computer read {}`},
	} {
		call := `{"cwd":"/ws","tool_name":` + encode(c.tool) + `,"tool_input":` + c.input + `}`
		parts := strings.SplitN(c.want, " ", 3)
		want := `{"action":"` + parts[0] + `","tool":"` + parts[1] + `","args":` + parts[2] + `}`
		if got := asked(t, c.client, call); got != want {
			t.Errorf("%s %s:\n%s, want\n%s", c.client, call, got, want)
		}
	}
	if got := asked(t, Gemini, `{"cwd":"/ws","tool_name":"read_file","tool_input":{},"mcp_context":{"server_name":"Git","tool_name":"read"}}`); !strings.Contains(got, `"tool":"git.read"`) {
		t.Errorf("a server's tool with the name of the client's: %s", got)
	}
}

func encode(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// TestPatterns: a pattern finds files by more than the path it begins with.
func TestPatterns(t *testing.T) {
	for _, p := range []string{"*.go", "**/*.{ts,tsx}", "[a-z]*.go", "a..b", "**/*.{test,spec}.{ts,tsx}", "*.go,*.ts", ".{github,vscode}/*.json", ""} {
		if out := away(p); len(out) != 0 {
			t.Errorf("%s: %q", p, out)
		}
	}
	for _, p := range []string{
		"../x", "/etc/*", "{..,sub}/*", "{/etc/passwd,file}", "sub/{../../..,y}/etc", ".[.]/x", ".{.,x}/etc/*", "{.,x}./etc/*", "{a/.,b/.}./etc",
		"{{.,x},y}./etc", ".{,.}/{,.}./etc", "~/.ssh/*", "{~,x}/.ssh/*", "*.{ts,/etc/passwd}", "*.ts,/etc/*", "a/,..", "x,../y", "x,~/.ssh/*", "+(.)./etc", "x{", "a\\/b", "x\u200b", "a /b",
		strings.Repeat("{a,b}", 12), strings.Repeat("x", 1001), strings.Repeat("{", 100000),
	} {
		if out := away(p); len(out) == 0 {
			t.Errorf("%.60s stays in its directory", p)
		}
	}
}

// FuzzPattern: a pattern that is not held to lead out has no part that does, however it is
// read.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"*.go", "{a,b}/../c", ".{.,x}/y", "[.].", "a/{b,../c}"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if len(away(p)) > 0 {
			return
		}
		for _, bad := range []string{"~", "\\", "\x00", "\u202e"} {
			if strings.HasPrefix(p, bad) || bad != "~" && strings.Contains(p, bad) {
				t.Errorf("%q stays in its directory", p)
			}
		}
		all, _ := braces(p)
		for _, one := range all { // a comma outside of braces some clients read as they do a blank
			parts := strings.FieldsFunc(one, func(r rune) bool { return r == '/' || r == ',' })
			if slices.Contains(parts, "..") {
				t.Errorf("%q stays in its directory", p)
			}
		}
	})
}

// FuzzTool: no two tools of one server have the same name in a policy, and none has the name
// of one of pulse's own.
func FuzzTool(f *testing.F) {
	f.Add("github", "list", "List")
	f.Add("fs", "read", "READ")
	f.Add("x", "a b", "a:20:b")
	f.Add("", "é", "e")
	f.Fuzz(func(t *testing.T, server, a, b string) {
		x, y := Tool(server, a), Tool(server, b)
		if x == y && a != b {
			t.Errorf("%q and %q of %q are %s", a, b, server, x)
		}
		if tools.BuiltIn(x) || strings.HasPrefix(x, "agent.") {
			t.Errorf("%q of %q is %s", a, server, x)
		}
	})
}

// FuzzRead: whatever a client tells, no panic; and what becomes a request is read alike by
// every stage, with an action that is known.
func FuzzRead(f *testing.F) {
	f.Add("claude-code", `{"cwd":"/ws","tool_name":"Glob","tool_input":{"pattern":"{a,b}"}}`)
	f.Add("codex", `{"cwd":"/ws","tool_name":"apply_patch","tool_input":{"command":"*** Add File: a\n***"}}`)
	f.Add("gemini", `{"cwd":"/ws","tool_name":"x","tool_input":{},"mcp_context":{"server_name":"a","tool_name":"b"}}`)
	f.Fuzz(func(t *testing.T, client, event string) {
		e, err := Read(Client(client), []byte(event))
		if err != nil || e.Kind != Wish {
			return
		}
		r, err := e.Use.Request(policy.Default())
		if err != nil {
			return
		}
		if !r.Action.Valid() || r.Action == terms.ReadPublic && r.Tool != "web.fetch" && r.Tool != "web.search" {
			t.Errorf("%s of %s", r.Action, r.Tool)
		}
		again, err := request.Decode(record.Value(r.Append(nil)))
		if err != nil || again.Tool != r.Tool || again.Action != r.Action || again.Args != r.Args {
			t.Errorf("%s: %v", r.Append(nil), err)
		}
	})
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		client  Client
		version string
		want    bool
	}{
		{ClaudeCode, "2.1.197", true}, {ClaudeCode, "3.0.0", false}, {ClaudeCode, "2", false}, {ClaudeCode, "", false}, {ClaudeCode, "20.1", false},
		{Codex, "0.169.0", true}, {Codex, "1.0.0", false}, {Gemini, "0.61.0", true}, {Gemini, "1.0", false}, {MCP, "2.1", false}, {"", "", false},
	} {
		if got := c.client.Knows(c.version); got != c.want {
			t.Errorf("%s %s: %v", c.client, c.version, got)
		}
	}
}

func TestAnswers(t *testing.T) {
	for c, want := range map[Client]string{
		ClaudeCode: `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"w"}}`,
		Codex:      `{}`, Gemini: `{"decision":"allow","reason":"w"}`, MCP: `{"outcome":"allow","reason":"w"}`,
	} {
		if got := string(c.Say(Allow, "w")); got != want {
			t.Errorf("%s: %s", c, got)
		}
		if got := string(c.Say(Deny, "w")); !strings.Contains(got, `"deny"`) {
			t.Errorf("%s: %s", c, got)
		}
	}
	if got := Shown("a\x1b[2J\u202e\u200bb" + strings.Repeat("x", 500)); got != "a?[2J??b"+strings.Repeat("x", maxShown-8) {
		t.Errorf("%q", got)
	}
}
