package cmd_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulse/lib/fetch/message"
)

// TestMemory fetches the largest mails that are read, with all the text and attachments
// that are emitted by default: each, however it is stored, in less than 64 MiB.
func TestMemory(t *testing.T) {
	noise := make([]byte, message.MaxMessage*7/10)
	for i := range noise {
		noise[i] = byte(i * i >> 7)
	}
	const header = "From: Me <me@example.com>\nSubject: x\n"
	for name, mail := range map[string][]byte{
		"text": largest(header+"\n", []byte("a line of text that is as long as one\n"), ""),
		"attachment": largest(header+"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nseen\n--b\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n",
			[]byte(base64.StdEncoding.EncodeToString(noise)+"\n"), "\n--b--\n"),
		"attachments": largest(header+"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nseen\n",
			[]byte("--b\nContent-Type: application/pdf\n\n"+strings.Repeat("x", 600_000)+"\n"), "\n--b--\n"),
		"hidden HTML": largest(header+"Content-Type: text/html\n\n<div hidden>", []byte("<b>hidden</b> "), "</div>"),
		"one tag":     largest(header+"Content-Type: text/html\n\n<p title='", []byte("x"), "'>"),
		"one line":    largest(header+"\n", []byte("x"), ""),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mail")
			if err := os.WriteFile(path, mail, 0o600); err != nil {
				t.Fatal(err)
			}
			for kind, peak := range map[string]int{
				"file": peakOf(t, nil, path),
				"pipe": peakOf(t, mail, "%s"),
				"mbox": peakOf(t, append([]byte(fromLine), mail...), "mbox:%s"),
			} {
				if peak >= 64<<10 {
					t.Errorf("%s: %d KiB", kind, peak)
				}
			}
		})
	}
}

const fromLine = "From a@example.com Sat Nov 21 10:00:00 2026\n"

// largest is a message of just MaxMessage bytes, filler repeated in the middle.
func largest(head string, filler []byte, tail string) []byte {
	room := message.MaxMessage - len(head) - len(tail)
	body := bytes.Repeat(filler, room/len(filler)+1)[:room]
	mail := append(append([]byte(head), body...), tail...)
	mail[len(mail)-1] = '\n'
	return mail
}

// peakOf lets pulse-fetch read a source, which may name a named pipe that data goes
// into, and returns its peak memory in KiB. It is asked while pulse-fetch waits for
// more: the peak that wait(2) tells includes that of this process.
func peakOf(t *testing.T, data []byte, source string) int {
	t.Helper()
	first, second := pipes(t)
	args := []string{"--scope", "attachments", strings.Replace(source, "%s", first, 1)}
	box := strings.HasPrefix(source, "mbox:")
	if !box {
		args = append(args, second)
	}
	cmd := exec.Command(filepath.Join(bin, "pulse-fetch"), args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var peak int
	if box { // it reads on when it is done with the message before
		next := append([]byte("\n"+fromLine), bytes.Repeat([]byte("X: x\n"), 100_000)...)
		pour(t, first, append(data, next...), func() { peak = peakNow(t, cmd.Process.Pid) })
	} else {
		if data != nil {
			pour(t, first, data, func() {})
		}
		pour(t, second, []byte("Subject: next\n\n"), func() { peak = peakNow(t, cmd.Process.Pid) })
	}
	if err := cmd.Wait(); err != nil || bytes.Count(out.Bytes(), []byte{'\n'}) != 2 || bytes.Contains(out.Bytes(), []byte("message_too_large")) {
		t.Fatalf("%v, %s, %.300s", err, &errs, &out)
	}
	return peak
}

// pipes makes two named pipes.
func pipes(t *testing.T) (first, second string) {
	t.Helper()
	dir := t.TempDir()
	first, second = filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, path := range []string{first, second} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return first, second
}

// pour writes data into a named pipe once somebody reads from it, and calls done
// before it closes the pipe.
func pour(t *testing.T, path string, data []byte, done func()) {
	t.Helper()
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	done()
}

// peakNow returns the peak memory of a running process in KiB (proc_pid_status(5)).
func peakNow(t *testing.T, pid int) (kib int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(b), "VmHWM:")
	if _, err := fmt.Sscan(line, &kib); !ok || err != nil {
		t.Fatalf("no peak in %s", b)
	}
	return kib
}
