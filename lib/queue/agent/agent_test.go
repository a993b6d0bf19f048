package agent

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/judge"
	"pulse/lib/authorize/wire"
	"pulse/lib/classify/identity"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/terms"
)

// bench is a place for a worker, with a judge and programs in PATH.
type bench struct {
	dir    string
	judge  *judge.Judge
	worker Worker
}

func newBench(t *testing.T, client, script string) *bench {
	t.Helper()
	b := &bench{dir: t.TempDir()}
	p, err := policy.Parse("policy.toml", []byte("owners = [\"me@example.com\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	b.judge = &judge.Judge{Policy: p, Task: "0123456789abcdef0123456789abcdef", Identity: identity.Identity{Trust: terms.System}}
	server, err := wire.Listen(b.judge, func(int) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for name, text := range map[string]string{client: script, "pulse-authorize": "exit 1"} {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", b.dir+":"+os.Getenv("PATH"))
	b.worker = Worker{Client: client, Judge: server.Path()}
	return b
}

const ask = `{"identity":{"via":"mail"},"message":{"text":"@x $y <z>"},"task":{"id":"4711"}}`

// TestSignal: the end of a worker ends its client, and what the client did until then is counted.
func TestSignal(t *testing.T) {
	b := newBench(t, "claude", `[ "$1" != --version ] || { echo 2.1.9; exit; }
here=$(dirname "$0")
: >"$here/started"
read -r ask
echo '`+strings.TrimSpace(claudeUse)+`'
trap 'touch "$here/told"; exit 1' TERM
: >"$here/used"
while :; do sleep 0.01; done`)
	for _, fifo := range []string{"/started", "/used"} {
		if err := syscall.Mkfifo(b.dir+fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(b.dir + "/started") // waits for the client to write it
		b.judge.Hello(hook.ClaudeCode)
		_, _ = os.ReadFile(b.dir + "/used")
		cancel()
	}()
	_, err := b.worker.Run(ctx, []byte(ask))
	if err == nil || !strings.HasPrefix(err.Error(), "claude: no result (") {
		t.Error(err)
	}
	if _, err := os.Stat(b.dir + "/told"); err != nil {
		t.Error(err)
	}
	if left := b.judge.Result(); !left.Counted || left.Ungated != `claude-code used "Bash" and did not ask` {
		t.Errorf("%+v", left)
	}
}

// TestRefusals: what a worker and a reader do not take, and what is to be typed.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		worker Worker
		record string
		read   bool
	}{
		"no such client":   {Worker{Client: "emacs"}, ask, false},
		"no such reader":   {Worker{Client: "codex"}, ask, true},
		"no judge":         {Worker{Client: "claude"}, ask, false},
		"an effect":        {Worker{Client: "llm"}, `{"identity":{"via":"agent"}}`, false},
		"no record":        {Worker{Client: "llm"}, `{"identity":`, false},
		"no schema":        {Worker{Client: "llm"}, ask, true},
		"a flag":           {Worker{Client: "llm", Args: []string{"-T", "x"}}, `{"schema":{}}`, true},
		"no value":         {Worker{Client: "claude", Args: []string{"--model"}}, `{"schema":{}}`, true},
		"a tool's option":  {Worker{Client: "llm", Args: []string{"-o", "web_search", "1"}}, `{"schema":{}}`, true},
		"a model and more": {Worker{Client: "llm", Args: []string{"-m", "-o", "--option", "url_context", "1"}}, `{"schema":{}}`, true},
	} {
		do := c.worker.Run
		if c.read {
			do = c.worker.Read
		}
		if _, err := do(t.Context(), []byte(c.record)); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCodexArgs(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"-m x -s read-only --disable apps": `-c model="x" -c sandbox_mode="read-only" --disable apps`,
		"--model=x --config a=b":           `-c model="x" -c a=b`,
		"-c":                               "fails", "--model": "fails", "hello": "fails", "--dangerously-bypass-hook-trust": "fails", "--oss -m x": "fails", "-C /": "fails",
	} {
		tn := turn{args: strings.Fields(in)}
		args, err := tn.codexArgs()
		if got := strings.Join(args, " "); err == nil && got != want || (err != nil) != (want == "fails") {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

// TestOnlyOurs: a hook of anyone else's, or one of ours that is off, is found.
func TestOnlyOurs(t *testing.T) {
	tn := turn{home: &home{"/home"}, judge: &seat{client: hook.Codex, socket: "/s", hook: "/h"}}
	one := func(event, change string) record.Value {
		var o record.Object
		o.Str("eventName", event)
		o.Str("command", tn.judge.command())
		o.Str("sourcePath", "/home/codex/config.toml")
		o.Raw("more", []byte("0"))
		text := string(o.Bytes())
		return record.Value(strings.Replace(text, `"more":0`, `"enabled":true,"trustStatus":"trusted"`+change, 1))
	}
	all := []record.Value{one("sessionStart", ""), one("userPromptSubmit", ""), one("preToolUse", "")}
	managed := record.Value(`{"isManaged":true,"command":"x","eventName":"stop"}`)
	for name, c := range map[string]struct {
		hooks []record.Value
		ok    bool
	}{
		"ours":        {all, true},
		"root's, too": {append(slices.Clone(all), managed), true},
		"one less":    {all[:2], false},
		"one twice":   {[]record.Value{all[0], all[1], all[1]}, false},
		"one more":    {append(slices.Clone(all), record.Value(`{"command":"x","enabled":true,"trustStatus":"trusted"}`)), false},
		"one off":     {append(slices.Clone(all), record.Value(strings.Replace(string(all[0]), "true", "false", 1))), false},
		"not trusted": {append(slices.Clone(all), record.Value(strings.Replace(string(all[0]), `"trusted"`, `"modified"`, 1))), false},
		"elsewhere":   {append(slices.Clone(all), record.Value(strings.Replace(string(all[0]), "/home/", "/ws/", 1))), false},
		"root's only": {[]record.Value{managed}, false},
	} {
		if err := tn.onlyOurs(c.hooks); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEnvironment: keys are inherited; what leads to other settings is not.
func TestEnvironment(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "HTTPS_PROXY", "PULSE_JUDGE", "XDG_CONFIG_HOME", "NODE_OPTIONS", "GIT_DIR", "HOME", "CODEX_HOME"} {
		t.Setenv(name, "theirs")
	}
	env := (&home{"/run"}).env("CODEX_HOME=ours")
	for _, want := range []string{"ANTHROPIC_API_KEY=theirs", "HTTPS_PROXY=theirs", "HOME=/run", "CODEX_HOME=ours", "GIT_CONFIG_KEY_0=core.fsmonitor"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not there", want)
		}
	}
	for _, pair := range env {
		if strings.HasSuffix(pair, "=theirs") && !strings.HasPrefix(pair, "ANTHROPIC") && !strings.HasPrefix(pair, "HTTPS") {
			t.Error(pair)
		}
	}
}

// TestLogin: of a home, the run has a link to the file with the login, and nothing else.
func TestLogin(t *testing.T) {
	own := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", own)
	for _, name := range []string{".credentials.json", "settings.json"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := newHome()
	if err != nil {
		t.Fatal(err)
	}
	defer h.remove()
	tn := turn{home: h, judge: &seat{}}
	if _, err := tn.claudeEnv(); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(h.path(".claude"))
	if err != nil || len(found) != 1 || found[0].Name() != ".credentials.json" {
		t.Errorf("%v, %v", found, err)
	}
	if b, err := os.ReadFile(h.path(".claude/.credentials.json")); string(b) != ".credentials.json" {
		t.Errorf("%s, %v", b, err)
	}
	h.remove()
	if _, err := os.Stat(own + "/.credentials.json"); err != nil {
		t.Error(err)
	}
}
