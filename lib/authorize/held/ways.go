package held

import (
	"pulse/lib/authorize/hook"
	"pulse/lib/shared/record"
)

// way is how a client is started with a model at url and the settings that it finds.
type way struct {
	program string
	start   func(url string) (args, env []string)
}

var ways = map[hook.Client]way{hook.ClaudeCode: {"claude", startClaude}, hook.Codex: {"codex", startCodex}, hook.Gemini: {"gemini", startGemini}}

// startClaude tells the model's address twice, because settings can have variables, too.
func startClaude(url string) (args, env []string) {
	var variables, o record.Object
	variables.Str("ANTHROPIC_BASE_URL", url)
	variables.Str("ANTHROPIC_API_KEY", "pulse")
	o.Raw("env", variables.Bytes())
	return []string{"-p", "--output-format", "json", "--no-session-persistence", "--settings", string(o.Bytes())},
		[]string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=pulse", "ANTHROPIC_AUTH_TOKEN=", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_AUTOUPDATER=1"}
}

// startCodex names a model that Codex does not know: it then offers a plain shell.
func startCodex(url string) (args, env []string) {
	args = []string{"exec", "--skip-git-repo-check", "--ephemeral", "-m", "pulse-check"}
	for _, set := range []string{
		`model_provider="pulse_check"`, `model_providers.pulse_check.name="pulse"`, `model_providers.pulse_check.base_url=` + string(record.AppendString(nil, url+"/v1")),
		`model_providers.pulse_check.wire_api="responses"`, `model_providers.pulse_check.env_key="PULSE_CHECK_KEY"`,
	} {
		args = append(args, "-c", set)
	}
	return append(args, "-"), []string{"PULSE_CHECK_KEY=pulse"}
}

// startGemini tells the model's address for each kind of key. A login with Google goes to Google.
func startGemini(url string) (args, env []string) {
	return []string{"-m", "gemini-2.5-pro", "--output-format", "json"}, []string{
		"GEMINI_API_KEY=pulse", "GOOGLE_GEMINI_BASE_URL=" + url,
		"GOOGLE_GENAI_USE_VERTEXAI=true", "GOOGLE_API_KEY=pulse", "GOOGLE_VERTEX_BASE_URL=" + url, "GOOGLE_GENAI_USE_GCA=",
	}
}
