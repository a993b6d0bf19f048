package cmd_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestHookParks: what the hook says that a person is asked is something that pulse-queue takes
// from the worker.
func TestHookParks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"policy.toml": "owners = [\"me@example.com\"]\n[matrix.owner_verified_email]\nrequire_owner_confirmation = [\"code_or_computer\"]\n[tools]\nprofile = \"full\"\n",
		"record":      `{"task":{"id":"` + taskID + `"},"identity":{"trust":"owner_verified_email","sender":"me@example.com"}}`,
	} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var parked int
	for _, size := range []int{1000, 200 << 10, 300 << 10, 200 << 10, 200 << 10, 200 << 10, 200 << 10, 200 << 10, 10} {
		call, err := json.Marshal(map[string]any{"tool_name": "t", "server": "notes", "cwd": "/", "tool_input": map[string]string{"x": strings.Repeat("x", size)}})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("../scripts/hooks/agent", "mcp")
		cmd.Stdin = strings.NewReader(string(call))
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_RECORD="+dir+"/record", "PULSE_POLICY="+dir+"/policy.toml", "PULSE_PARKED=", "PULSE_JUDGED=", "PULSE_ASK=")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), `{"outcome":"deny"`) {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), "It was put to a person") {
			parked++
		}
	}
	b, err := os.ReadFile(dir + "/record.parked")
	if lines := strings.Count(string(b), "\n"); err != nil || lines != parked || lines != 6 || len(b) > 960<<10 {
		t.Errorf("%d were put to a person, and %d lines of %d bytes are there (%v)", parked, lines, len(b), err)
	}
	for line := range strings.Lines(string(b)) {
		if len(line) > 256<<10 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}
