package agentkit

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// homesOwn are settings that people have, before the hook is installed. Gemini CLI starts only in
// a directory that it trusts.
var homesOwn = map[string]map[string]string{
	"claude-code": {".claude/settings.json": "{\n  \"permissions\": {\"deny\": [\"WebFetch\"]}\n}\n"},
	"codex":       {".codex/config.toml": "# mine\nmodel = \"x\"\n[[hooks.PreToolUse]]\nmatcher = \"Bash\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = \"true\"\n"},
	"gemini":      {".gemini/settings.json": "{\n  // mine\n  \"ui\": {\"hideTips\": true}\n}\n", ".gemini/trustedFolders.json": `{"INSIDE": "TRUST_FOLDER"}`},
}

// TestInstall: a real client asks the hook once it was installed, and only then; what takes the
// hook away is found; and the settings are in the end to the byte as before.
func TestInstall(t *testing.T) {
	for client, files := range homesOwn {
		if testing.Short() && client != "claude-code" {
			continue
		}
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, installed(t))
			for name, text := range files {
				w.put(t, w.home+"/"+name, strings.ReplaceAll(text, "INSIDE", w.inside))
			}
			w.hook(t, 0, "+++ ", "install", client)
			w.hook(t, 0, ": held\n", "check", client)
			if !testing.Short() {
				must(t, os.Rename(w.home+"/policy.toml", w.home+"/gone"))
				w.hook(t, 1, "is refused everything: pulse: policy: ", "check", client)
				must(t, os.Rename(w.home+"/gone", w.home+"/policy.toml"))
				restore := w.switchOff(t, client)
				w.hook(t, 1, "is not held, although", "check", client)
				restore()
			}
			w.hook(t, 0, "--- ", "uninstall", client)
			for name, text := range files {
				got, err := os.ReadFile(w.home + "/" + name)
				if must(t, err); string(got) != strings.ReplaceAll(text, "INSIDE", w.inside) {
					t.Errorf("%s is now %q", name, got)
				}
			}
			w.hook(t, 1, "has no hook of pulse", "check", client)
		})
	}
}

// put writes a file, in a directory that need not be there.
func (w *world) put(t *testing.T, file, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	must(t, os.WriteFile(file, []byte(text), 0o600))
}

// hook runs pulse-authorize hook in the workspace.
func (w *world) hook(t *testing.T, want int, says string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), authorize, append([]string{"hook"}, args...)...)
	cmd.Dir = w.inside
	cmd.Env = []string{"PATH=" + w.path, "HOME=" + w.home, "XDG_STATE_HOME=" + w.home + "/.state", "PULSE_POLICY=" + w.home + "/policy.toml"}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != want || !bytes.Contains(out, []byte(says)) {
		t.Errorf("%s: %d, %s", args, cmd.ProcessState.ExitCode(), out)
	}
}

// switchOff takes the hook away from a client, although it is installed.
func (w *world) switchOff(t *testing.T, client string) (restore func()) {
	t.Helper()
	if client == "codex" { // what stands before it gives it another number
		file := w.home + "/.codex/config.toml"
		was, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append([]byte("[[hooks.PreToolUse]]\nmatcher = \"x\"\n"), was...), 0o600))
		return func() { must(t, os.WriteFile(file, was, 0o600)) }
	}
	dir := w.inside + map[string]string{"claude-code": "/.claude", "gemini": "/.gemini"}[client]
	w.put(t, dir+"/settings.json", `{"disableAllHooks": true, "hooksConfig": {"enabled": false}}`)
	return func() { must(t, os.RemoveAll(dir)) }
}
