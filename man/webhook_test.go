package man

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hook runs scripts/hook as a web server would, and returns
// the status that it answers.
func hook(t *testing.T, spool, body string, env ...string) string {
	t.Helper()
	cmd := exec.Command("sh", "../scripts/hook")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SPOOL=" + spool, "REQUEST_METHOD=POST",
		"HTTP_WEBHOOK_SIGNATURE=v1,AAAA", fmt.Sprint("CONTENT_LENGTH=", len(body))}, env...)
	cmd.Stdin = strings.NewReader(body)
	out, err := cmd.Output()
	status, blank, ok := strings.Cut(string(out), "\r\n")
	if err != nil || !ok || blank != "\r\n" {
		t.Errorf("%q, %v", out, err)
	}
	return strings.TrimPrefix(status, "Status: ")
}

func TestHook(t *testing.T) {
	whole := strings.Repeat("\x00\r\n\xff", 1<<18)
	for _, c := range []struct {
		name, body string
		env        []string
		want       string
	}{
		{"the largest", whole, nil, "202 Accepted"},
		{"nothing in it", "", nil, "202 Accepted"},
		{"a byte more", whole + "x", nil, "413 Content Too Large"},
		{"a number that is none", "x", []string{"CONTENT_LENGTH=99999999999999999999"}, "413 Content Too Large"},
		{"no length", "x", []string{"CONTENT_LENGTH="}, "411 Length Required"},
		{"a length that is code", "x", []string{"CONTENT_LENGTH=1;id"}, "411 Length Required"},
		{"cut off", "x", []string{"CONTENT_LENGTH=2"}, "400 Bad Request"},
		{"GET", "x", []string{"REQUEST_METHOD=GET"}, "405 Method Not Allowed"},
		{"no spool", "x", []string{"SPOOL=/nonexistent"}, "503 Service Unavailable"},
	} {
		spool := t.TempDir()
		if got := hook(t, spool, c.body, c.env...); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		files, err := filepath.Glob(spool + "/*")
		left, hidden := filepath.Glob(spool + "/.*")
		if err != nil || hidden != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v", c.name, left)
		}
		if c.want != "202 Accepted" {
			if len(files) > 0 {
				t.Errorf("%s: %v is in the spool", c.name, files)
			}
			continue
		}
		if len(files) != 1 {
			t.Fatalf("%s: %v", c.name, files)
		}
		got, err := os.ReadFile(files[0])
		info, statErr := os.Stat(files[0])
		if err != nil || statErr != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v, %v", c.name, err, statErr, info.Mode())
		}
		if want := "webhook-signature: v1,AAAA\r\n\r\n" + c.body; !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s: %d bytes, want %d", c.name, len(got), len(want))
		}
	}
}

// Every field that pulse-fetch looks at gets into the spool, and pulse-webhook(7) names it.
func TestHookKeepsFields(t *testing.T) {
	spool, page := t.TempDir(), strings.ToLower(strings.Join(read(t, "pulse-webhook.7"), "\n"))
	var env, want []string
	for _, name := range []string{
		"webhook-id", "webhook-timestamp", "webhook-signature", "x-pulse-signature", "x-hub-signature-256", "x-slack-request-timestamp",
		"x-slack-signature", "x-telegram-bot-api-secret-token", "x-signature-timestamp", "x-signature-ed25519",
	} {
		value := "$(id) \"" + name + "\" `id`"
		env = append(env, "HTTP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
		want = append(want, name+": "+value+"\r\n")
		if !strings.Contains(page, name) {
			t.Errorf("the page does not name %s", name)
		}
	}
	if got := hook(t, spool, "x", env...); got != "202 Accepted" {
		t.Fatal(got)
	}
	files, err := filepath.Glob(spool + "/*")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	got, err := os.ReadFile(files[0])
	if err != nil || string(got) != strings.Join(want, "")+"\r\nx" {
		t.Errorf("%s, %v", got, err)
	}
}

// A full spool is not filled further.
func TestHookFull(t *testing.T) {
	spool := t.TempDir()
	for i := range 1000 {
		put(t, spool, fmt.Sprint(i), "")
	}
	if got := hook(t, spool, "x"); got != "503 Service Unavailable" {
		t.Error(got)
	}
}
