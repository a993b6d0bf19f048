package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pulse/lib/authorize/judge"
	"pulse/lib/shared/fault"
	"pulse/lib/shared/record"
)

// Codex runs a hook only if its hash is trusted in the configuration of the home, which is
// the run's. Its app server says which hooks there are, takes the trust, and runs the hook
// SessionStart at the first prompt: that is judge.Ping, which our hook keeps from the model.
// A workspace that is not trusted configures nothing.

func workCodex(ctx context.Context, t *turn) (string, error) {
	args, err := t.codexArgs()
	if err != nil {
		return "", err
	}
	workspace, err := os.Getwd()
	if err != nil {
		return "", err
	}
	env, err := t.codexReady(ctx, workspace)
	if err != nil {
		return "", err
	}
	r := &codexRun{}
	c := &rpc{seen: r.notice}
	p, err := t.start(ctx, env, t.home.dir, c.line, append(append([]string{"app-server"}, args...), t.codexFeatures()...)...)
	if err != nil {
		return "", err
	}
	c.process = p
	if err = t.codexAsk(ctx, c, r, workspace); err == nil {
		_ = p.wait()
	} else {
		p.end()
	}
	if err := t.counted(p, r.used, err); err != nil {
		return "", err
	}
	t.keep(r.session)
	return t.codexEnd(r)
}

// codexReady tells the judge, and makes the home.
func (t *turn) codexReady(ctx context.Context, workspace string) (env []string, err error) {
	env = t.env("CODEX_HOME=" + t.home.path("codex"))
	version, err := t.version(ctx, env)
	if err == nil {
		err = t.judge.begin(ctx, version, "")
	}
	if err == nil {
		err = t.codexHome(workspace)
	}
	return env, err
}

// codexFlags are the arguments of codex exec that are passed on, each with a value.
var codexFlags = map[string]string{"-c": "-c", "--config": "-c", "--enable": "--enable", "--disable": "--disable", "-m": "model=", "--model": "model=", "-s": "sandbox_mode=", "--sandbox": "sandbox_mode="}

// codexArgs returns the arguments of the app server, where codex exec has others.
func (t *turn) codexArgs() (args []string, err error) {
	for rest := t.args; len(rest) > 0; rest = rest[2:] {
		name, value, inline := strings.Cut(rest[0], "=")
		if inline && strings.HasPrefix(name, "--") {
			rest = slices.Insert(slices.Clone(rest[1:]), 0, name, value)
		}
		to, known := codexFlags[rest[0]]
		if !known || len(rest) < 2 {
			return nil, fault.Usagef("-c KEY=VALUE, -m MODEL, -s MODE, --enable and --disable FEATURE", "codex: this worker takes no %s, or not like this", rest[0])
		}
		if strings.HasSuffix(to, "=") {
			args = append(args, "-c", to+string(record.AppendString(nil, rest[1])))
		} else {
			args = append(args, to, rest[1])
		}
	}
	return args, nil
}

// codexOff are features that are tools which no policy knows, or that load something.
var codexOff = []string{"multi_agent", "goals", "sleep_tool", "apps", "plugins", "image_generation", "unbounded_connection_retries", "skill_search", "skill_mcp_dependency_install"}

// codexFeatures returns the arguments that switch off what the task is not offered, and what a
// hook is not asked about: the provider's search, and a shell's input.
func (t *turn) codexFeatures() (args []string) {
	off := slices.Clone(codexOff)
	if !t.judge.offers("Bash") {
		off = append(off, "shell_tool", "unified_exec")
	}
	if !t.judge.offers("view_image") {
		off = append(off, "view_image")
	}
	for _, f := range off {
		args = append(args, "--disable", f)
	}
	for _, set := range []string{
		"features.hooks=true", `web_search="disabled"`, `approval_policy="never"`, "agents.enabled=false",
		"project_doc_max_bytes=0", "skills.include_instructions=false", "skills.bundled.enabled=false",
	} {
		args = append(args, "-c", set)
	}
	return args
}

// codexEvents are the hooks that are set.
var codexEvents = []string{"SessionStart", "UserPromptSubmit", "PreToolUse"}

// codexHome writes the configuration. The workspace is not trusted, under any name of it.
func (t *turn) codexHome(workspace string) error {
	var b strings.Builder
	b.WriteString("check_for_update_on_startup = false\nsandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nexclude_slash_tmp = true\n[analytics]\nenabled = false\n[history]\npersistence = \"none\"\n")
	for _, name := range names(workspace) {
		fmt.Fprintf(&b, "[projects.%s]\ntrust_level = \"untrusted\"\n", record.AppendString(nil, name))
	}
	for _, event := range codexEvents {
		fmt.Fprintf(&b, "[[hooks.%s]]\nmatcher = \"*\"\n[[hooks.%s.hooks]]\ntype = \"command\"\ntimeout = 60\ncommand = %s\n", event, event, record.AppendString(nil, t.judge.command()))
	}
	return errors.Join(
		t.home.put("codex/config.toml", []byte(b.String())),
		t.home.login("codex/auth.json", filepath.Join(configOf("CODEX_HOME", ".codex"), "auth.json")))
}

// names returns the names of a directory.
func names(dir string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir {
		return []string{dir}
	}
	return []string{dir, real}
}

// codexAsk has the app server run the hooks, hears hello, and gives it the ask.
func (t *turn) codexAsk(ctx context.Context, c *rpc, r *codexRun, workspace string) error {
	thread, err := t.codexThread(c, workspace)
	if err != nil {
		return err
	}
	if err := c.turn(r, thread, judge.Ping); err != nil {
		return err
	}
	if err := t.judge.hello(ctx, helloAfter, c.process.done); err != nil {
		return err
	}
	if err := c.turn(r, thread, t.ask); err != nil {
		return err
	}
	r.session = thread
	return nil
}

// codexThread begins a thread in which our hooks are trusted, and no others are there.
func (t *turn) codexThread(c *rpc, workspace string) (string, error) {
	if _, err := c.call("initialize", `{"clientInfo":{"name":"pulse","title":null,"version":"1"},"capabilities":{"experimentalApi":true}}`); err != nil {
		return "", err
	}
	if err := c.notify("initialized"); err != nil {
		return "", err
	}
	var where record.Object
	where.Strs("cwds", []string{workspace})
	found, err := c.call("hooks/list", string(where.Bytes()))
	if err != nil {
		return "", err
	}
	if _, err := c.call("config/batchWrite", string(trusting(hooksIn(found)))); err != nil {
		return "", err
	}
	var o record.Object
	o.Str("cwd", workspace)
	o.Str("approvalPolicy", "never")
	o.Bool("ephemeral", false)
	method := "thread/start"
	session, err := t.restore()
	if err != nil {
		return "", err
	}
	if session != "" {
		method = "thread/resume"
		o = record.Object{}
		o.Str("cwd", workspace)
		o.Str("approvalPolicy", "never")
		o.Str("threadId", session)
	}
	started, err := c.call(method, string(o.Bytes()))
	if err != nil {
		return "", err
	}
	thread := textOf(started.Member("thread").Member("id"))
	var which record.Object
	which.Str("threadId", thread)
	if found, err = c.call("hooks/list", string(which.Bytes())); err != nil {
		return "", err
	}
	return thread, t.onlyOurs(hooksIn(found))
}

// hooksIn returns the hooks in an answer to hooks/list.
func hooksIn(v record.Value) (hooks []record.Value) {
	for _, one := range elements(v.Member("data")) {
		hooks = append(hooks, elements(one.Member("hooks"))...)
	}
	return hooks
}

// trusting is the change of the configuration that trusts hooks as they are.
func trusting(hooks []record.Value) []byte {
	state := []byte("{")
	for i, h := range hooks {
		if i > 0 {
			state = append(state, ',')
		}
		var o record.Object
		o.Str("trusted_hash", textOf(h.Member("currentHash")))
		state = append(append(record.AppendString(state, textOf(h.Member("key"))), ':'), o.Bytes()...)
	}
	var edit, o record.Object
	edit.Str("keyPath", "hooks.state")
	edit.Raw("value", append(state, '}'))
	edit.Str("mergeStrategy", "upsert")
	o.Raw("edits", append(append([]byte("["), edit.Bytes()...), ']'))
	o.Bool("reloadUserConfig", true)
	return o.Bytes()
}

var errHooks = errors.New("codex: its hooks are not those that were set, and no others")

// onlyOurs fails unless each of our hooks is on, and no other is, except what root has set for
// the machine.
func (t *turn) onlyOurs(hooks []record.Value) error {
	ours := map[string]bool{}
	for _, h := range hooks {
		switch {
		case h.Member("isManaged") == "true":
		case h.Member("enabled") != "true", textOf(h.Member("trustStatus")) != "trusted", textOf(h.Member("command")) != t.judge.command(),
			textOf(h.Member("sourcePath")) != t.home.path("codex/config.toml"):
			return errHooks
		default:
			ours[textOf(h.Member("eventName"))] = true
		}
	}
	if len(ours) != len(codexEvents) {
		return errHooks
	}
	return nil
}
