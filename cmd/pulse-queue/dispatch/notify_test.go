package dispatch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"pulse/lib/queue/runner"
	"pulse/lib/shared/audit"
	"pulse/lib/shared/task"
)

// tells tells a shell script of many tasks, in a command that was told to end, and returns the warnings.
func tells(script string, limit time.Duration) string {
	var complaint bytes.Buffer
	c := cli.NewContext(&cli.App{Name: "pulse-queue", ErrWriter: &complaint}, nil, nil)
	var cancel context.CancelFunc
	c.Context, cancel = context.WithCancel(context.Background())
	cancel()
	n := &Notice{c: c, worker: runner.Worker{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Timeout: limit}}
	for range noticeIDs + 50 {
		n.Hear(&audit.Line{Event: task.Added, Task: strings.Repeat("a", 32), To: task.Awaiting})
		n.Hear(&audit.Line{Event: task.Added, Task: strings.Repeat("b", 32), To: task.Scheduled})
	}
	n.Send()
	return complaint.String()
}

// TestNoticeThatHangs: it is ended when its time is over, also if the command itself
// was told to end, and a warning says so.
func TestNoticeThatHangs(t *testing.T) {
	text := tells("exec sleep 600", 300*time.Millisecond)
	if !strings.HasPrefix(text, "pulse-queue: warning: --notify: /bin/sh did not end within") || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
}

// TestNoticeIsBounded: all tasks are counted, and some are named.
func TestNoticeIsBounded(t *testing.T) {
	got := filepath.Join(t.TempDir(), "got")
	if text := tells("cat >"+got, 0); text != "" {
		t.Error(text)
	}
	b, err := os.ReadFile(got)
	if text := string(b); err != nil || !strings.HasPrefix(text, `{"count":150,"ids":["`) || strings.Count(text, "aaaa\"") != noticeIDs || strings.Contains(text, "b\"") {
		t.Errorf("%q, %v", text, err)
	}
}
