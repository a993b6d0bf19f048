package man

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripts returns the scripts of a page by name.
func scripts(t *testing.T, page string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, b := range read(t, page).blocks() {
		if name, ok := strings.CutPrefix(b.mark, "script: "); ok {
			all[name] = strings.Join(b.text, "\n") + "\n"
		}
	}
	return all
}

// elsewhere is a directory in which the recipes of pulse-levels(7) run, with stand-ins
// for ssh and less: the host is this machine, and a person reads what is shown.
func elsewhere(t *testing.T) (dir, id string, run func(stdin, script string, args ...string) (string, error)) {
	t.Helper()
	dir = world(t)
	all := scripts(t, "pulse-levels.7")
	for name, text := range map[string]string{
		"ssh": "#!/bin/sh\nshift\nexec sh -c \"$*\"\n", "less": "#!/bin/sh\nexec cat \"$1\"\n",
	} {
		all[name] = text
	}
	for name, text := range all {
		text = strings.NewReplacer("/srv/pulse", dir, "/var/lib/pulse/queue", dir+"/queue", "/etc/pulse/policy.toml", dir+"/signed.toml").Replace(text)
		path := put(t, dir, "bin/"+name, text)
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("shellcheck", "-s", "sh", "-S", "warning", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	run = func(stdin, script string, args ...string) (string, error) {
		cmd := exec.Command(script, args...)
		if path := filepath.Join(dir, "bin", script); all[script] != "" {
			cmd = exec.Command(path, args...)
		}
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = []string{"PATH=" + dir + "/bin:" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state",
			"PULSE_QUEUE=" + dir + "/queue", "PULSE_POLICY=" + dir + "/signed.toml"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := run("", "sh", "-c", `umask 077; mkdir -p .ssh asked answers
ssh-keygen -q -t ed25519 -N '' -f .ssh/pulse
echo "me@example.com namespaces=\"pulse-approve\" $(cut -d' ' -f1,2 .ssh/pulse.pub)" >signers
printf '[approval]\nallowed_signers = "%s"\n' "$PWD/signers" | cat policy.toml - >signed.toml
pulse-queue init
pulse-fetch mail/send.eml | pulse-classify | pulse-authorize | pulse-queue add --notify bin/notify | jq -r .task.id`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, strings.TrimSpace(out), run
}

// TestElsewhereByHand: the recipe of a second laptop says yes, and the one that looks at
// the task file tells it from another one.
func TestElsewhereByHand(t *testing.T) {
	dir, id, run := elsewhere(t)
	taskFile := filepath.Join(dir, "queue/awaiting_review", id+".json")
	if out, err := run("", "check", "asked/"+id, taskFile); err != nil || !strings.Contains(out, "tell Bob") {
		t.Errorf("check: %v: %s", err, out)
	}
	b, err := os.ReadFile(taskFile)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "altered", strings.Replace(string(b), "late", "rich", 1))
	if out, err := run("", "check", "asked/"+id, "altered"); err == nil || out != "" {
		t.Errorf("check of another file: %v: %s", err, out)
	}
	if out, err := run("", "laptop", id); err == nil {
		t.Errorf("nobody pressed Enter: %s", out)
	}
	out, err := run("\n", "laptop", id)
	if err != nil || !strings.Contains(out, "tell Bob") {
		t.Fatalf("%v: %s", err, out)
	}
	out, err = run("", "sh", "-c", "pulse-queue show "+id)
	if err != nil || !strings.Contains(out, "by me@example.com, level signature") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestElsewhereBySpool: the statement that a notice left is signed, and what the answer
// left is taken, once; a file that is none is gone as well.
func TestElsewhereBySpool(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	put(t, dir, "answers/junk", "no answer\n")
	for _, want := range []string{": approved\n", ""} {
		out, err := run("", "take")
		if err != nil && want == "" || !strings.Contains(out, want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "answers")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestElsewhereAnotherLine: whoever carries a statement can put a grant of their own in the
// place of its line. The script that signs looks at how the line begins.
func TestElsewhereAnotherLine(t *testing.T) {
	dir, id, run := elsewhere(t)
	asked, err := os.ReadFile(filepath.Join(dir, "asked", id))
	if err != nil {
		t.Fatal(err)
	}
	text := string(asked)
	grant := `{"pulse-grant":1,"id":"0123456789abcdef","any":true,"task":null,"not_before":"2026-01-01T00:00:00Z","expires":"2036-01-01T00:00:00Z"}`
	put(t, dir, "asked/"+id, text[:strings.LastIndex(text, "{")]+grant+"\n")
	put(t, dir, "asked/"+strings.Repeat("0", 32), text)
	for _, name := range []string{id, strings.Repeat("0", 32)} {
		if out, err := run("\n", "answer", "asked/"+name); err == nil || !strings.HasSuffix(out, "its last line is not a yes to task "+name+"\n") {
			t.Errorf("%v: %s", err, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "answers/*")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestElsewhereUnread: what was not read to its end stays, and so does what another one has
// put in the place of a file while that was read.
func TestElsewhereUnread(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answers", id))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "answers/large", strings.Repeat("no answer\n", 2<<20)+string(answer))
	put(t, dir, "answers/"+id, "no answer\n")
	command, err := exec.LookPath(filepath.Join(bin, "pulse-approve"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "saved", string(answer))
	wrapper := put(t, dir, "bin/pulse-approve", "#!/bin/sh\nmv "+dir+"/saved "+dir+"/answers/"+id+" 2>/dev/null\nexec "+command+` "$@"`+"\n")
	if err := os.Chmod(wrapper, 0o700); err != nil {
		t.Fatal(err)
	}
	out, _ := run("", "take")
	if !strings.Contains(out, "it holds no answer") || !strings.Contains(out, "larger than 16 MiB") || strings.Contains(out, "approved") {
		t.Error(out)
	}
	if out, _ = run("", "take"); !strings.Contains(out, id+":1: yes to task "+id+": approved\n") {
		t.Errorf("what came meanwhile was not read: %s", out)
	}
	if left, err := filepath.Glob(dir + "/queue.answers/*"); err != nil || len(left) != 1 || filepath.Base(left[0]) != "large" {
		t.Errorf("what was not read is gone: %v, %v", left, err)
	}
}

// TestElsewhereUnlooked: an answer that nobody looked at stays in the spool.
func TestElsewhereUnlooked(t *testing.T) {
	dir, id, run := elsewhere(t)
	if out, err := run("\n", "answer", "asked/"+id); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	policy, err := os.ReadFile(filepath.Join(dir, "signed.toml"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "signed.toml", string(policy)+"unfinish")
	if out, _ := run("", "take"); !strings.Contains(out, "signed.toml") {
		t.Error(out)
	}
	put(t, dir, "signed.toml", string(policy))
	out, _ := run("", "sh", "-c", `mkdir few && for f in rm mv mkdir; do ln -s "$(command -v $f)" few; done && PATH=$PWD/bin:$(dirname "$(command -v pulse-approve)"):$PWD/few exec take`)
	if !strings.Contains(out, "there is no ssh-keygen") {
		t.Error(out)
	}
	if out, _ := run("", "take"); !strings.HasSuffix(out, ": approved\n") {
		t.Error(out)
	}
}

// ntfy is what the recipe uses of an ntfy server: a topic keeps messages of at most 4,096 bytes, without
// the blanks around them, and a poll returns those after another one.
type ntfy struct {
	mu     sync.Mutex
	topics map[string][]message
}

type message struct {
	ID      string `json:"id"`
	Title   string `json:"title,omitempty"`
	Message string `json:"message"`
}

func (n *ntfy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	topic, poll := strings.CutSuffix(r.URL.Path, "/json")
	if !poll {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPut {
			http.Error(w, "want a message", http.StatusBadRequest)
			return
		}
		m := message{ID: fmt.Sprintf("m%d", len(n.topics[topic])), Title: r.Header.Get("Title"), Message: strings.TrimSpace(string(b))}
		if len(b) > 4096 {
			m.Message = "You received a file: attachment.txt"
		}
		n.topics[topic] = append(n.topics[topic], m)
		return
	}
	since := r.URL.Query().Get("since")
	at := slices.IndexFunc(n.topics[topic], func(m message) bool { return m.ID == since }) + 1
	for _, m := range n.topics[topic][at:] {
		json.NewEncoder(w).Encode(m)
	}
}

// TestElsewhereByNtfy: an effect is proposed, its statement goes to a telephone by way of ntfy, what
// that signed comes back, is taken once, and the effect starts. What another one puts on the topics
// does nothing.
func TestElsewhereByNtfy(t *testing.T) {
	dir, _, run := elsewhere(t)
	server := &ntfy{topics: map[string][]message{}}
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	sh := func(stdin, script string) string {
		t.Helper()
		out, err := run(stdin, "sh", "-c", "export NTFY="+web.URL+"/secret; "+script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	sh("", "pulse-queue submit --action write_local 'Write to bob@partner.example.'")
	sh("", `echo '{"action":"external_send","target":"bob@partner.example","args":{"text":"I am late."}}' >wish; pulse-queue run --proposals -- cat wish`)
	asked := time.Now()
	id := strings.TrimSpace(sh("", `pulse-queue outbox | pulse-authorize | pulse-queue add --notify bin/notify | jq -r 'select(.task.state == "awaiting_review").task.id'`))
	sh("", "ntfy-ask; echo forged | curl -fsS -H 'Title: "+id+"' -T - $NTFY-other")
	if out := sh("\n", "ntfy-answer "+id); !strings.Contains(out, "I am late.") {
		t.Errorf("what was shown: %s", out)
	}
	sh("", "sed s/external_send/destructive/ wish | curl -fsS -T - $NTFY-answers")
	if out := sh("", "ntfy-take; take"); !strings.Contains(out, "yes to task "+id+": approved\n") {
		t.Error(out)
	}
	sh("", "pulse-queue run --effect external_send -- sh -c 'jq -r .request.args.text >sent'")
	t.Logf("from the question to the effect: %v", time.Since(asked).Round(time.Millisecond))
	if sent, err := os.ReadFile(filepath.Join(dir, "sent")); err != nil || string(sent) != "I am late.\n" {
		t.Errorf("%q, %v", sent, err)
	}
	if out := sh("", "ntfy-take; take"); out != "" {
		t.Errorf("taken again: %s", out)
	}
	if out := sh("", "echo '{}' | curl -fsS -H 'Title: "+id+"' -T - $NTFY-asked; ! ntfy-answer "+id+"; pulse-queue verify"); !strings.Contains(out, "its last line is not a yes to task "+id) {
		t.Error(out)
	}
}
