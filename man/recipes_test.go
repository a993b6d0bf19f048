package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The notices of pulse-deploy(7) tell how many tasks wait and nothing else: run with stand-ins
// for the programs that they call.
func TestRecipes(t *testing.T) {
	m := machine(t)
	m.paste(t, "notice")
	for name, c := range map[string]struct{ program, text string }{
		"notice":  {"curl", m.file(t, "notify")},
		"desktop": {"notify-send", read(t, "pulse-deploy.7").marked(t, "script: desktop")},
	} {
		dir := t.TempDir()
		script := put(t, dir, "script", c.text)
		executable(t, filepath.Join(dir, "bin"), c.program, `printf '%s\n' "$@" >>"$0.said"`)
		cmd := exec.Command("sh", script)
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(`{"count":17,"ids":["673f8599ff50989cc873701c758a0eb7"]}` + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		said, err := os.ReadFile(filepath.Join(dir, "bin", c.program+".said"))
		if err != nil || !strings.Contains(string(said), "waiting for you: 17") || strings.Contains(string(said), "673f") || strings.Contains(string(said), "ntfy.sh") { // others see what it is given
			t.Errorf("%s: %s is given %q, %v", name, c.program, said, err)
		}
	}
}
