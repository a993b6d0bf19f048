package man

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pulse/lib/shared/escape"
)

// The lines of pulse-agents(7) for an agent of another program: its account may start the server by
// them, propose, and see what became of it, and may do nothing else as the account of the queue.
func TestSudoers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has accounts to change to: the sudoers line of pulse-agents(7) was not tried")
	}
	dir, page := world(t), read(t, "pulse-agents.7")
	must := steps(t, dir)
	var client struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(page.marked(t, "file: standing client")), &client); err != nil {
		t.Fatal(err)
	}
	start := client.MCPServers["pulse"].Command
	for _, arg := range client.MCPServers["pulse"].Args {
		start += " " + escape.Shell(arg)
	}
	executable(t, dir+"/programs", "none", "")
	put(t, dir, "sudoers", page.marked(t, "file: sudoers"))
	put(t, dir, "standing", page.marked(t, "file: standing"))
	put(t, dir, "calls", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"propose","arguments":{"action":"external_send","target":"bob@partner.example","args":{"text":"hi"}}}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"proposals","arguments":{}}}
`)
	must("exec unshare --mount bash --norc")
	must(system)
	said := must("pulse-authorize init --owner me@example.com --inbox imaps://agent%40example.com@imap.example.com/INBOX --dir /etc/pulse")
	_, queue, _ := strings.Cut(said, "usermod -aG pulse-approvers YOU; ")
	queue, _, _ = strings.Cut(queue, "\n")
	must(queue)
	must("printf '[matrix.system]\\nallow = [\"read_public\"]\\n' >>/etc/pulse/policy.toml && useradd --no-create-home --user-group agent && install -m 440 /mnt/sudoers /etc/sudoers.d/agent && visudo -c >/dev/null")
	must("as pulse sh </mnt/standing >/dev/null")
	for _, other := range []string{"cat /etc/pulse/policy.toml", "/usr/local/bin/pulse-queue list", start + " --help", strings.Replace(start, "sudo -n -u pulse", "sudo -n", 1)} {
		if !strings.HasPrefix(other, "sudo") {
			other = "sudo -n -u pulse " + other
		}
		must("! as agent " + other + " 2>/usr/local/sent/said && grep -q 'a password is required' /usr/local/sent/said")
	}
	out := must("as agent " + start + " </mnt/calls")
	if !strings.Contains(out, `proposed`) || strings.Contains(out, `"isError":true`) {
		t.Errorf("it is told %s", out)
	}
	if out := must("as pulse pulse-queue outbox"); !strings.Contains(out, "bob@partner.example") {
		t.Errorf("proposed is %s", out)
	}
}
