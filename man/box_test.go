package man

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The three entries of A worker in a box are run as cron runs them. In place of the way out, of
// which there must be exactly the socket, is one to this machine; in place of llm a script that
// says what it sees.
func TestBoxedCrontab(t *testing.T) {
	home := world(t)
	_, entries := crontab(t, read(t, "pulse.7").marked(t, "crontab: boxed"))
	if len(entries) != 3 {
		t.Fatalf("%d entries", len(entries))
	}
	policy, err := os.ReadFile(home + "/policy.toml")
	if err != nil {
		t.Fatal(err)
	}
	put(t, home, "pulse/policy.toml", string(policy)+"\n[extract]\nschema = \"request\"\nrequire = [\"external_verified\"]\n")
	put(t, home, "pulse/key", "k1\n")
	llm := filepath.Join(home, "bin")
	executable(t, llm, "llm", `cat >/tmp/given
[ "$OPENAI_API_KEY" = k1 ] && [ -S /run/model ] && [ ! -e `+home+`/pulse ] && [ ! -e /etc/passwd ] || exit 1
if grep -q '"schema"' /tmp/given; then echo '{"request":"question"}'; else jq -c '{action: "external_send", target: "friend@partner.example", args: {text: "a \(.extract.request), \(.message.subject), \(.message.text)"}}' /tmp/given; fi`)
	executable(t, llm, "socat", `[ "$*" = "UNIX-LISTEN:model,fork,unlink-early,mode=600 TCP:api.openai.com:443" ] || exit 64`)
	l, err := net.Listen("unix", home+"/pulse/model")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	sh := func(path, line string) string {
		t.Helper()
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = home
		cmd.Env = []string{
			"HOME=" + home, "PATH=" + path + ":" + os.Getenv("PATH"), "PULSE_QUEUE=" + home + "/pulse/queue",
			"PULSE_POLICY=" + home + "/pulse/policy.toml", "XDG_STATE_HOME=" + home + "/state",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		return string(out)
	}
	sh(bin, "pulse-queue init && pulse-fetch mail/friend.eml | pulse-classify | pulse-authorize | pulse-queue add")
	for i, e := range entries {
		line := strings.NewReplacer("/usr/local/libexec/pulse/box ", scripts+"/box --ro "+llm+" ", "/usr/local/libexec/pulse", scripts).Replace(e.command)
		path := bin
		if i == 0 {
			path = llm + ":" + bin
		} else {
			line = "PATH=$PATH:" + llm + "; " + line
		}
		if out := sh(path, line); out != "" {
			t.Errorf("%s\ncron would mail %q", line, out)
		}
	}
	if got := sh(bin, "grep -rhoF 'a question, null, null' pulse/queue/results pulse/queue/outbox | sort -u"); got != "a question, null, null\n" {
		t.Errorf("the worker was given %s", sh(bin, "cat pulse/queue/results/*"))
	}
}
