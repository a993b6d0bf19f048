package agentkit

import (
	"fmt"
	"strings"
	"testing"
)

// workers are the workers of the agents, started as pulse-queue run starts them.
var workers = map[string]struct {
	start string
	calls func(w *world) []call // a write in the workspace, and one thing that needs a person
	use   string                // the tool of that, as pulse calls it
}{
	"claude": {`ANTHROPIC_BASE_URL=$URL ANTHROPIC_API_KEY=sk-x CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 CLAUDE_CODE_MAX_RETRIES=1 ../workers/claude`, func(w *world) []call {
		return []call{
			{Name: "Write", Args: map[string]any{"file_path": w.inside + "/made", "content": "x"}},
			{Name: "WebFetch", Args: map[string]any{"url": w.canary, "prompt": "x"}},
		}
	}, "web.fetch"},
	"codex": {`OPENAI_API_KEY=sk-x ../workers/codex -c 'model_providers.t.name="t"' -c "model_providers.t.base_url=\"$URL/v1\"" -c 'model_providers.t.wire_api="responses"' \
	-c 'model_providers.t.env_key="OPENAI_API_KEY"' -c model_provider=t -m gpt-6-sol -c 'sandbox_mode="danger-full-access"'`, func(w *world) []call {
		return []call{
			{Name: "functions/exec", Raw: `text(await tools.apply_patch("*** Begin Patch\n*** Add File: made\n+x\n*** End Patch\n"))`},
			{Name: "functions/exec", Raw: `text(await tools.apply_patch("*** Begin Patch\n*** Delete File: secret\n*** End Patch\n"))`},
		}
	}, "fs.write"},
	"gemini": {`mkdir -p "$HOME/.gemini"; echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
GEMINI_API_KEY=x GOOGLE_GEMINI_BASE_URL=$URL ../workers/gemini -m gemini-2.5-pro`, func(w *world) []call {
		return []call{
			{Name: "write_file", Args: map[string]any{"file_path": "made", "content": "x"}},
			{Name: "web_fetch", Args: map[string]any{"prompt": "read " + w.canary}},
		}
	}, "web.fetch"},
}

// TestWorkers: what the model answers and what the hook has put to a person is proposed, and
// what the hook decided is told; a provider that is away or has had enough is for later.
func TestWorkers(t *testing.T) {
	bin := installed(t)
	const proposed = `{"action":"external_send","target":["bob@partner.example"],"args":{"text":"hi"}}`
	for name, worker := range workers {
		for status, exit := range map[int]int{0: 0, 429: 75, 503: 75, 401: 1} {
			if testing.Short() && status != 0 {
				continue // the agents try again for long
			}
			t.Run(fmt.Sprintf("%s/%d", name, status), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, bin)
				a := newAttacker(t)
				w.canary = a.URL + "/canary/x"
				a.calls, a.words, a.status = worker.calls(w), "I will.\n"+proposed, status
				must(t, copyWorkers(w))
				out := w.run(t, strings.ReplaceAll(worker.start, "../workers", w.home+"/workers")+` <"$HOME/record" 2>"$HOME/error"; echo "exit $?"`, "URL="+a.URL, "PULSE_TASK=x")
				if !strings.HasSuffix(out, fmt.Sprintf("exit %d\n", exit)) {
					t.Fatalf("want exit %d: %s %s", exit, out, w.file("home/error"))
				}
				if status != 0 {
					return
				}
				if !strings.Contains(out, proposed+"\n") || strings.Count(out, `","tool":"`+worker.use+`","args":{`) != 1 || strings.Count(out, `{"judged":{`) != 2 {
					t.Errorf("it prints %s; the model has seen %d bytes", out, a.seen.Len())
				}
				if !strings.Contains(w.tree(t), "inside/made x\n") || !strings.Contains(w.tree(t), "inside/secret") || len(a.canary) > 0 {
					t.Errorf("there is %s", w.tree(t))
				}
			})
		}
	}
}
