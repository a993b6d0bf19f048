package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"pulse/lib/shared/record"
)

// Gemini CLI loads the settings, variables, instructions, policies, servers and skills of a
// workspace only if it trusts it, and trust is refused by a variable; but then it also runs no
// hook of the user's settings. An extension's hooks it does run, so ours is one, in the home of the
// run. The prompt is what the hook SessionStart answers: without the hook there is none.

func workGemini(ctx context.Context, t *turn) (string, error) {
	env := t.env("GEMINI_CLI_HOME="+t.home.dir, "GEMINI_CLI_TRUST_WORKSPACE=false")
	version, err := t.version(ctx, env)
	if err == nil {
		err = t.judge.begin(ctx, version, t.ask)
	}
	if err == nil {
		err = t.geminiHome()
	}
	if err != nil {
		return "", err
	}
	args := append(append([]string{}, t.args...),
		"--extensions", "pulse", "--admin-policy", t.home.path("rules.toml"), "--approval-mode", "default", "--output-format", "stream-json")
	session, err := t.restore()
	if err != nil {
		return "", err
	}
	if session != "" {
		args = append(args, "--resume", session)
	}
	var seen geminiRun
	p, err := t.start(ctx, env, "", seen.line, args...)
	if err != nil {
		return "", err
	}
	_ = p.in.Close()
	if err = t.judge.hello(ctx, helloWithin, p.done); err == nil {
		_ = p.wait()
	} else {
		p.end()
	}
	if err := t.counted(p, seen.used, err); err != nil {
		return "", err
	}
	t.keep(seen.session)
	return t.geminiEnd(p, &seen)
}

// geminiLogins are the files of a login with Google.
var geminiLogins = []string{"oauth_creds.json", "google_accounts.json"}

// geminiHome writes settings, rules and the extension.
func (t *turn) geminiHome() error {
	own := configOf("GEMINI_CLI_HOME", "")
	var errs []error
	for _, name := range geminiLogins {
		errs = append(errs, t.home.login(".gemini/"+name, filepath.Join(own, ".gemini", name)))
	}
	return errors.Join(append(errs,
		t.home.put(".gemini/settings.json", geminiSettings(geminiLogin(filepath.Join(own, ".gemini", "settings.json")))),
		t.home.put(".gemini/extensions/pulse/gemini-extension.json", []byte(`{"name":"pulse","version":"1.0.0"}`)),
		t.home.put(".gemini/extensions/pulse/hooks/hooks.json", geminiHooks(t.judge.command())),
		t.home.put("rules.toml", geminiRules(t.judge.tools)))...)
}

// geminiSettings returns settings in which trust is no question, and with the kind of login. The
// names of the workspace's files are not told: a model has a tool for that.
func geminiSettings(login string) []byte {
	auth := "{}"
	if login != "" {
		var o record.Object
		o.Str("selectedType", login)
		auth = string(o.Bytes())
	}
	return []byte(`{"security":{"folderTrust":{"enabled":false},"auth":` + auth + `},"hooksConfig":{"enabled":true,"notifications":false},"advanced":{"ignoreLocalEnv":true},` +
		`"context":{"includeDirectoryTree":false},"skills":{"enabled":false},"general":{"maxAttempts":3,"enableAutoUpdate":false,"enableAutoUpdateNotification":false},` +
		`"privacy":{"usageStatisticsEnabled":false}}`)
}

func geminiHooks(command string) []byte {
	hook := func(dst []byte) []byte {
		return append(record.AppendString(append(dst, `[{"matcher":"*","hooks":[{"type":"command","name":"pulse","timeout":60000,"command":`...), command), `}]}]`...)
	}
	var hooks, o record.Object
	hooks.Nested("SessionStart", hook)
	hooks.Nested("BeforeTool", hook)
	o.Raw("hooks", hooks.Bytes())
	return o.Bytes()
}

// geminiRules allow what the policy leaves to the task: without a person Gemini CLI uses what its own
// rules allow, and of each use the hook is asked. It starts no MCP server where no workspace is trusted.
func geminiRules(tools []string) []byte {
	var b strings.Builder
	b.WriteString("[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 1\n")
	for _, tool := range tools {
		fmt.Fprintf(&b, "[[rule]]\ntoolName = %s\ndecision = \"allow\"\npriority = 2\n", record.AppendString(nil, tool))
	}
	return []byte(b.String())
}
