package agentkit

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// screen keeps what a program has written to its terminal.
type screen struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *screen) has(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Contains(s.out.Bytes(), []byte(text))
}

// TestYes: a person in Claude Code is asked by the hook for a command that their own rules allow,
// and only their yes has it carried out.
func TestYes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, installed(t))
	a := newAttacker(t, call{Name: "Bash", Args: map[string]any{"command": "touch done", "description": "make it"}})
	w.put(t, w.home+"/policy.toml", fmt.Sprintf("[tools]\nprofile = \"full\"\n[exec]\nmode = \"full\"\nworkspace = %q\n", w.inside))
	w.put(t, w.home+"/.claude/settings.json", `{"permissions": {"allow": ["Bash"]}, "theme": "dark"}`)
	w.put(t, w.home+"/.claude.json", fmt.Sprintf(`{"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-x"]}, "projects": {%q: {"hasTrustDialogAccepted": true}}}`, w.inside))
	w.hook(t, 0, "+++ ", "install", "claude-code")
	cmd := exec.CommandContext(t.Context(), "claude", "go")
	if cmd.Err != nil {
		cmd = exec.CommandContext(t.Context(), installed(t)+"/claude", "go")
	}
	cmd.Dir = w.inside
	cmd.Env = []string{"PATH=" + w.path, "HOME=" + w.home, "TERM=xterm-256color", "XDG_STATE_HOME=" + w.home + "/.state",
		"ANTHROPIC_BASE_URL=" + a.URL, "ANTHROPIC_API_KEY=sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 160})
	must(t, err)
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); terminal.Close() }()
	var s screen
	go func() { _, _ = io.Copy(&s, terminal) }()
	until(t, &s, "the question", func() bool { return s.has("effect_needs_person") })
	if _, err := os.Stat(w.inside + "/done"); err == nil {
		t.Error("the command was carried out before the yes")
	}
	_, err = terminal.Write([]byte("\r"))
	must(t, err)
	until(t, &s, "the command", func() bool { _, err := os.Stat(w.inside + "/done"); return err == nil })
}

// until waits for something that a program at a terminal does.
func until(t *testing.T, s *screen, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("%s did not come: %q", what, strings.ToValidUTF8(s.out.String(), "?"))
		}
	}
}
