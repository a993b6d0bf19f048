package cmd_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/shared/sandbox"
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
		// The parent ignores two of them, as a shell does for what runs in the background.
		cmd := exec.Command("sh", "-c", `trap '' INT QUIT; exec "$0" --policy "$1"`, bin+"/pulse-classify", policy)
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

// TestQuitIdle: a stage that waits for its first record dies of a signal as well, even of one
// that its parent ignored, as a shell does for what runs in the background. Only SIGHUP
// stays ignored (nohup).
func TestQuitIdle(t *testing.T) {
	if why := sandbox.Lacks(false); why != "" {
		t.Fatal("what shows that a stage is about to read: " + why)
	}
	policy := filepath.Join(t.TempDir(), "policy.toml")
	if err := os.WriteFile(policy, []byte("owners = [\"me@example.com\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"pulse-classify", "pulse-authorize"} {
		for _, sig := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			for _, ignored := range []string{"", "trap '' INT QUIT; ", "trap '' HUP; "} {
				cmd := exec.Command("sh", "-c", ignored+`exec "$0" --policy "$1" --sandbox require`, bin+"/"+stage, policy)
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				var complaint bytes.Buffer
				cmd.Stderr = &complaint
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for !filtered(t, cmd.Process.Pid) {
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				want := sig
				if sig == syscall.SIGHUP && strings.Contains(ignored, "HUP") {
					want = -1
					in.Close()
				}
				cmd.Wait()
				if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != want || complaint.Len() > 0 {
					t.Errorf("%s, %s%v: %v\n%.200s", stage, ignored, sig, cmd.ProcessState, &complaint)
				}
			}
		}
	}
}

// filtered reports whether a process has a filter of calls.
func filtered(t *testing.T, pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil || bytes.Contains(b, []byte("State:\tZ")) {
		t.Fatalf("it ended: %v", err)
	}
	return bytes.Contains(b, []byte("Seccomp:\t2\n"))
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
