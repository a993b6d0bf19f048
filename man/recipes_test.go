package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The recipes of pulse(7) are scripts that a shell takes, and tell how many tasks
// wait and nothing else: run with stand-ins for the programs that they call.
func TestRecipes(t *testing.T) {
	programs := map[string]string{"mail": "mail", "ntfy": "curl", "desktop": "notify-send"}
	for _, b := range read(t, "pulse.7").blocks() {
		name, ok := strings.CutPrefix(b.mark, "script: ")
		if !ok {
			continue
		}
		program := programs[name]
		delete(programs, name)
		dir := t.TempDir()
		script := put(t, dir, "script", strings.Join(b.text, "\n")+"\n")
		if out, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if n := len(b.text); n != 3 {
			t.Errorf("%s has %d lines", name, n)
		}
		put(t, dir, "bin/"+program, "#!/bin/sh\nprintf '%s\\n' \"$@\" >>\"$0.said\"\n")
		if err := os.Chmod(filepath.Join(dir, "bin", program), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", script)
		cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(`{"count":17,"ids":["673f8599ff50989cc873701c758a0eb7"]}` + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		said, err := os.ReadFile(filepath.Join(dir, "bin", program+".said"))
		if err != nil || !strings.Contains(string(said), "17 tasks wait") || strings.Contains(string(said), "673f") {
			t.Errorf("%s: %s is given %q, %v", name, program, said, err)
		}
	}
	for name := range programs {
		t.Errorf("pulse(7) has no recipe %s", name)
	}
}
