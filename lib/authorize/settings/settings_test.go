package settings

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"pulse/lib/authorize/hook"
)

const (
	path    = "/home/me/.codex/config.toml"
	unicode = "/home/mé/it's/policy.toml"
)

func commandOf(c hook.Client, policy string) string {
	return Command("/usr/local/bin/pulse-authorize", "hook", string(c), "--terminal", "--policy", policy)
}

// settings are files as people and clients write them.
var settings = map[hook.Client][]string{
	hook.ClaudeCode: {
		"{}", "{}\n", "{\n}", " { } ", "{\n  \"model\": \"opus\"\n}\n", "{\r\n\t\"model\": \"opus\"\r\n}\r\n",
		`{"a":1}`, `{"a":1,}`, `{"a":{}}`, `{"hooks":{}}`, `{"hooks":{},"a":1}`, `{"hooks":{"PreToolUse":[]}}`, `{"hooks":{"PreToolUse":[{}]}}`,
		"{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n    \"PreToolUse\": []\n  }\n}\n", "{\n  \"a\": 1, // mine\n  /* and mine */\n}\n", "// top\n{\n  \"a\": 1 // mine\n  // end\n}\n// after\n",
		"{\n    \"hooks\": {\n        \"PreToolUse\": [\n            {\n                \"matcher\": \"Bash\",\n                \"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]\n            }\n        ],\n        \"Stop\": []\n    },\n    \"z\": [1, 2]\n}\n",
		`{"hooks":{"Stop":[]}, "a":"hooks"}`, `{"hooks":{"PreToolUse":[1,"x",null,{"hooks":7},{"hooks":[7]}]}}`, `{/* a */}`, "{\"a\":1 // x\n}", `{"a":1/*b*/}`, `{"a":1/*b*/,/*c*/}`,
	},
	hook.Gemini: {"{}", "{\n  // theirs\n  \"ui\": {\"theme\": \"x\"},\n}\n", `{"hooks":{"BeforeTool":[]}}`},
	hook.Codex: {
		"", "\n", "model = \"x\"", "model = \"x\"\n", "# mine\n[projects.\"/x\"] # too\ntrust_level = \"trusted\"\n",
		"[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"x\"\n[hooks.state.\"y\"]\ntrusted_hash = \"z\"\n", "a = 1\r\nb = 2\r\n",
	},
}

// TestAdd: the hook is there, whatever was there before is, and it can be taken away again: to the
// byte, also where there was no file.
func TestAdd(t *testing.T) {
	for c, texts := range settings {
		for i := -1; i < len(texts); i++ {
			var text []byte
			if i >= 0 {
				text = []byte(texts[i])
			}
			undone(t, c, text)
		}
	}
}

func undone(t *testing.T, c hook.Client, text []byte) {
	t.Helper()
	command := commandOf(c, unicode)
	with, err := Add(c, path, text, command)
	if err != nil {
		t.Fatalf("%s %q: %v", c, text, err)
	}
	if found, err := Find(c, with); err != nil || found != command {
		t.Errorf("%s %q: found %q, %v", c, with, found, err)
	}
	if again, err := Add(c, path, with, command); err != nil || !bytes.Equal(again, with) {
		t.Errorf("%s %q: again %q, %v", c, with, again, err)
	}
	if !within(text, with) {
		t.Errorf("%s %q: it has lost something: %q", c, text, with)
	}
	rest, err := Remove(c, path, with)
	if err != nil || !bytes.Equal(rest, text) || (rest == nil) != (text == nil) {
		t.Errorf("%s: %q, with the hook\n%s\nand without %q, %v", c, text, with, rest, err)
	}
	other, err := Add(c, path, with, commandOf(c, "/other"))
	want, _ := Add(c, path, text, commandOf(c, "/other"))
	if err != nil || !bytes.Equal(other, want) {
		t.Errorf("%s %q: changed %q, %v", c, with, other, err)
	}
}

// within reports whether all bytes of a text are in another one, in their order.
func within(text, in []byte) bool {
	for _, b := range in {
		if len(text) > 0 && text[0] == b {
			text = text[1:]
		}
	}
	return len(text) == 0
}

// TestRewritten: a client has written the file anew, or a person has changed it.
func TestRewritten(t *testing.T) {
	claude, codex := commandOf(hook.ClaudeCode, "/p"), commandOf(hook.Codex, "/p")
	for _, c := range []struct {
		client hook.Client
		before string
		change func(string) string
		want   string
	}{
		{hook.ClaudeCode, `{"a":1}`, func(s string) string { return `{"a":1,"b":2,` + s[strings.Index(s, `"hooks"`):] }, `{"a":1,"b":2}`},
		{hook.ClaudeCode, "{}", func(s string) string { return strings.TrimSuffix(s, "}") + `,"b":2}` }, `{"b":2}`},
		{hook.ClaudeCode, `{"a":1}`, jq, `{"a":1}`},
		{hook.ClaudeCode, `{"hooks":{"PreToolUse":[{"hooks":[]}],"Stop":[]}}`, jq, `{"hooks":{"PreToolUse":[{"hooks":[]}],"Stop":[]}}`},
		{hook.ClaudeCode, `{}`, func(s string) string {
			return strings.Replace(s, "{\n  \"type\"", `{"command":"mine"},`+"{\n  \"type\"", 1)
		}, ``},
		{hook.Codex, "a = 1\n", func(s string) string { return "b = 2\n" + s + "[projects.x]\n" }, "b = 2\na = 1\n[projects.x]\n"},
	} {
		command := claude
		if c.client == hook.Codex {
			command = codex
		}
		with, err := Add(c.client, path, []byte(c.before), command)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := Remove(c.client, path, []byte(c.change(string(with))))
		if left, _ := Find(c.client, rest); err != nil || left != "" || c.want != "" && string(rest) != c.want {
			t.Errorf("%q: %q, %v", c.before, rest, err)
		}
	}
	with, _ := Add(hook.Codex, path, nil, codex)
	if _, err := Remove(hook.Codex, path, bytes.Replace(with, []byte("timeout = 60"), []byte("timeout = 61"), 1)); !errors.Is(err, errEdited) {
		t.Errorf("a hook that was edited: %v", err)
	}
}

func jq(s string) string {
	cmd := exec.Command("jq", "-c", ".")
	cmd.Stdin = strings.NewReader(s)
	out, err := cmd.Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}

func TestRefused(t *testing.T) {
	two, _ := Add(hook.ClaudeCode, path, nil, commandOf(hook.ClaudeCode, "/a"))
	for _, c := range []struct {
		client hook.Client
		text   string
	}{
		{hook.ClaudeCode, ""}, {hook.ClaudeCode, "[]"}, {hook.ClaudeCode, `{"hooks":[]}`}, {hook.ClaudeCode, `{"hooks":{},"hooks":{}}`}, {hook.ClaudeCode, `{"hooks":{"PreToolUse":{}}}`},
		{hook.ClaudeCode, "{"}, {hook.ClaudeCode, `{"hooks":{"PreToolUse":[` + string(two) + `]}`}, {hook.ClaudeCode, strings.Repeat("[", 100_000)}, {hook.ClaudeCode, strings.Repeat(" ", MaxSize) + "{}"},
		{hook.ClaudeCode, "\ufeff{}"}, {hook.Gemini, "x"}, {hook.Codex, "hooks = 1"}, {hook.Codex, "[hooks]\nPreToolUse = []\n"}, {hook.Codex, "a = \"\"\"\n"}, {hook.Codex, "[hooks]\nstate = {}\n"},
		{hook.Codex, strings.Repeat("a=[", 60_000)},
	} {
		if out, err := Add(c.client, path, []byte(c.text), commandOf(c.client, "/p")); err == nil {
			t.Errorf("%s %.40q: %.200q", c.client, c.text, out)
		}
	}
	group := groupOf(hook.ClaudeCode, commandOf(hook.ClaudeCode, "/a"))
	if _, err := Find(hook.ClaudeCode, []byte(`{"hooks":{"PreToolUse":[`+group+","+group+`]}}`)); !errors.Is(err, errTwice) {
		t.Errorf("twice: %v", err)
	}
}

// FuzzAdd: whatever the file, it is refused, or the hook can be added and taken away again.
func FuzzAdd(f *testing.F) {
	for c, texts := range settings {
		for _, text := range texts {
			f.Add(string(c), text)
		}
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		c := hook.Client(name)
		if !c.Valid() {
			return
		}
		if found, err := Find(c, []byte(text)); err != nil || found != "" {
			return
		}
		if _, err := Add(c, path, []byte(text), commandOf(c, unicode)); err != nil {
			return
		}
		undone(t, c, []byte(text))
	})
}
