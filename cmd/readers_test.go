package cmd_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStoppedReader: a listing whose output nobody takes, stopped wherever it is, keeps
// nobody from the queue. With a lock for readers each command here would wait a minute.
func TestStoppedReader(t *testing.T) {
	queue := filepath.Join(t.TempDir(), "queue")
	pulseQueue := func(args ...string) *exec.Cmd {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // one that waits for a lock fails after one
		t.Cleanup(cancel)
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "pulse-queue"), append(args, "--queue", queue)...)
		cmd.Env, cmd.Stderr = []string{"HOME=" + filepath.Dir(queue)}, os.Stderr
		return cmd
	}
	run := func(args ...string) {
		t.Helper()
		if err := pulseQueue(args...).Run(); err != nil {
			t.Fatalf("%s: %v", args[0], err)
		}
	}
	run("init")
	text := strings.Repeat("what is asked ", 8_000)
	for i := range 20 {
		run("submit", "--action", "read_public", fmt.Sprint(i, text))
	}
	for i, args := range [][]string{{"list", "--json"}, {"list"}, {"log", "--json"}, {"verify"}} {
		reader := exec.Command(filepath.Join(bin, "pulse-queue"), append(args, "--queue", queue)...)
		out, err := reader.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := reader.Start(); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // the others are stopped wherever they are
			if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		reader.Process.Signal(syscall.SIGSTOP)
		run("hold")
		run("release")
		run("submit", "--action", "read_public", "one more")
		reader.Process.Kill()
		reader.Wait()
	}
}
