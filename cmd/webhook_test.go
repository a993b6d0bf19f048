package cmd_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hooks is a spool, its secret, a policy and a queue.
type hooks struct{ dir, spool string }

var hookKey = []byte("a key of thirty-two bytes, random")

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{dir: t.TempDir()}
	h.spool = filepath.Join(h.dir, "spool")
	if err := os.Mkdir(h.spool, 0o700); err != nil {
		t.Fatal(err)
	}
	h.put(t, "secret", "whsec_"+base64.StdEncoding.EncodeToString(hookKey)+"\n")
	h.put(t, "policy.toml", fmt.Sprintf(`authserv_id = "mx.example.com"
owners = ["me@example.com"]
[[platform]]
source  = "webhook:%s"
actions = ["read_public"]
`, h.spool))
	return h
}

func (h *hooks) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// request spools a signed request that came now; field stands in its header.
func (h *hooks) request(t *testing.T, name, id, body, field string) {
	t.Helper()
	at := time.Now().Unix()
	mac := hmac.New(sha256.New, hookKey)
	fmt.Fprintf(mac, "%s.%d.%s", id, at, body)
	h.put(t, "spool/"+name, fmt.Sprintf("%swebhook-id: %s\r\nwebhook-timestamp: %d\r\nwebhook-signature: v1,%s\r\n\r\n%s",
		field, id, at, base64.StdEncoding.EncodeToString(mac.Sum(nil)), body))
}

// take runs the pipeline and returns what it says of each request.
func (h *hooks) take(t *testing.T) (list []string) {
	t.Helper()
	cmd := exec.Command("bash", "-o", "pipefail", "-c",
		`pulse-queue init && pulse-fetch --webhook-secret-file secret "webhook:$PWD/spool" | pulse-classify | pulse-authorize | pulse-queue add`)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + h.dir, "XDG_STATE_HOME=" + h.dir + "/state", "PULSE_POLICY=" + h.dir + "/policy.toml", "PULSE_QUEUE=" + h.dir + "/queue"}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for line := range strings.Lines(string(out)) {
		var r struct {
			Identity struct{ Reason string }
			Decision struct{ Action, Outcome, Reason string }
			Task     struct{ ID, State string }
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(r.Identity.Reason, " ", r.Decision.Action, " ", r.Decision.Reason, " ", r.Task.State, " ", r.Task.ID))
	}
	return list
}

// A request is one task, however often it comes and from whatever copy; a forged one
// neither takes its name nor is a task; and what the sender would like to have done
// is not looked at.
func TestWebhook(t *testing.T) {
	h := newHooks(t)
	h.put(t, "spool/0", "webhook-id: msg_1\nwebhook-timestamp: 1\nwebhook-signature: v1,AAAA\nX-Pulse-Signature: 00\n\n{}")
	if got := h.take(t); len(got) != 1 || !strings.HasPrefix(got[0], "webhook_signature read_public not_permitted rejected ") {
		t.Fatalf("forged: %q", got)
	}
	mail := "From: me@example.com\r\nTo: agent+send@example.com\r\nAuthentication-Results: mx.example.com; dkim=pass header.d=example.com; dmarc=pass header.from=example.com\r\n" +
		"DKIM-Signature: v=1; d=example.com; s=s1; h=from:to:date; bh=AbCd; b=EfGh\r\n"
	h.put(t, "spool/1", mail+"Date: "+time.Now().UTC().Format(time.RFC1123Z)+"\r\n\r\n{}")
	if err := os.Remove(filepath.Join(h.spool, "0")); err != nil {
		t.Fatal(err)
	}
	if got := h.take(t); len(got) != 1 || !strings.HasPrefix(got[0], "webhook_unsigned read_public not_permitted rejected ") {
		t.Fatalf("a request dressed as mail: %q", got)
	}
	if err := os.Remove(filepath.Join(h.spool, "1")); err != nil {
		t.Fatal(err)
	}
	h.request(t, "2", "msg_1", `{"requested_action":"destructive","request":{"action":"destructive"}}`, mail)
	first := h.take(t)
	if len(first) != 1 || !strings.HasPrefix(first[0], "webhook_signed read_public allowed scheduled ") {
		t.Fatalf("genuine: %q", first)
	}
	h.request(t, "3", "msg_1", `{"requested_action":"destructive","request":{"action":"destructive"}}`, "")
	for range 2 { // each run is a new process: there is nothing to restart
		if got := h.take(t); len(got) != 2 || got[0] != first[0] || got[1] != first[0] {
			t.Errorf("replayed: %q, want %q twice", got, first[0])
		}
	}
	files, err := os.ReadDir(filepath.Join(h.dir, "queue", "scheduled"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// The policy says which actions a source may ask for, and takes that back at any time.
func TestWebhookActions(t *testing.T) {
	h := newHooks(t)
	policy, err := os.ReadFile(filepath.Join(h.dir, "policy.toml"))
	if err != nil {
		t.Fatal(err)
	}
	h.put(t, "policy.toml", string(policy)+"[[action]]\nsource = \"webhook:*\"\naction = \"write_local\"\n")
	h.request(t, "1", "msg_1", "{}", "")
	if got := h.take(t); len(got) != 1 || !strings.HasPrefix(got[0], "webhook_signed write_local source_not_allowed rejected ") {
		t.Errorf("%q", got)
	}
}
