package cmd_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestQuit: a stage dies of SIGQUIT as of SIGTERM: what it had is written, and nothing
// is said, no trace least of all.
func TestQuit(t *testing.T) {
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.toml")
	if err := os.WriteFile(policy, []byte("owners = [\"me@example.com\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		fetch := exec.Command(bin+"/pulse-fetch", "-")
		fetch.Stdin = strings.NewReader("From: me@example.com\r\n\r\nhi\r\n")
		record, err := fetch.Output()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin+"/pulse-classify", "--policy", policy)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(record); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("%v: %q", err, line)
		}
		if err := cmd.Process.Signal(sig); err != nil { // it waits for more
			t.Fatal(err)
		}
		cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != sig || complaint.Len() > 0 {
			t.Errorf("%v: %v\n%.200s", sig, cmd.ProcessState, &complaint)
		}
	}
}

// TestFewFiles: a command that may open hardly any file says so, and is no worse.
func TestFewFiles(t *testing.T) {
	for _, name := range []string{"pulse-fetch", "pulse-classify", "pulse-authorize", "pulse-queue", "pulse-approve"} {
		for _, n := range []string{"4", "7", "8", "31"} {
			var complaint bytes.Buffer
			cmd := exec.Command("sh", "-c", "ulimit -n "+n+"; exec "+bin+"/"+name+" --version --verbose")
			cmd.Stderr = &complaint
			out, _ := cmd.Output()
			want := name + ": error: only " + n + " files may be open at once: want 32 or more\n" + name + ": hint: ulimit -n 256\n"
			if cmd.ProcessState.ExitCode() != 75 || len(out) > 0 || complaint.String() != want {
				t.Errorf("%s, %s files: exit %d, %q, %.200s", name, n, cmd.ProcessState.ExitCode(), out, &complaint)
			}
		}
	}
}
