package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const standingPolicy = `owners = ["me@example.com"]
[limits]
max_per_day = 400
per_sender_per_hour = 200
[tools]
profile = "full"
`

const standingHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

// standing is a queue with a standing ask.
type standing struct {
	t   *testing.T
	dir string
}

func newStanding(t *testing.T) *standing {
	t.Helper()
	s := &standing{t, t.TempDir()}
	if err := os.WriteFile(s.dir+"/policy.toml", []byte(standingPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	s.sh("pulse-queue init && pulse-queue submit --standing home --action read_public 'Look after the house.'", "")
	return s
}

func (s *standing) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PULSE_QUEUE="+s.dir+"/q", "PULSE_POLICY="+s.dir+"/policy.toml", "XDG_STATE_HOME="+s.dir)
	return cmd
}

// sh runs a line of the shell, and returns what it prints.
func (s *standing) sh(line, stdin string) string {
	s.t.Helper()
	cmd := s.command("sh", "-c", line)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Errorf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

func proposing(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"propose","arguments":{"action":"read_public","args":{"q":%q}}}}`+"\n", id, text)
}

// realClient is a program that speaks MCP by way of the SDK of others. Its arguments are the server's command.
const realClient = `
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
const client = new Client({ name: "t", version: "1" }, { capabilities: { sampling: {}, roots: {} } });
await client.connect(new StdioClientTransport({ command: process.argv[2], args: process.argv.slice(3), env: process.env }));
console.log("told", client.getInstructions(), Object.keys(client.getServerCapabilities()).join());
console.log("tools", (await client.listTools()).tools.map(t => t.name).join());
const use = async (name, args) => { const r = await client.callTool({ name, arguments: args }); console.log(name, r.isError ? "wrong" : "good", r.content[0].text); };
await use("propose", { action: "read_public", args: { q: "weather" } });
await use("propose", { action: "external_send", target: ["ann@partner.example"], tool: "mail.send", args: { subject: "s", text: "t" } });
await use("propose", { action: "external_send", target: ["not an address"] });
await use("proposals", {});
await use("proposals", { task: "00000000000000000000000000000000" });
await use("approve", {});
for (const other of ["listResources", "listPrompts"]) await client[other]().catch(e => console.log(other, e.code));
await client.ping();
await client.close();
`

// TestStandingRealClient: a client of others, from npm, proposes, and sees what became of it.
func TestStandingRealClient(t *testing.T) {
	found, err := filepath.Glob("../build/mcp-[0-9]*/node_modules/@modelcontextprotocol/sdk")
	if err != nil || len(found) == 0 {
		t.Skip("there is no MCP client, which scripts/test unpacks (scripts/get-mcp): pulse-queue mcp was not tried with it")
	}
	s := newStanding(t)
	use := func() string {
		t.Helper()
		cmd := s.command("node", "--input-type=module", "-", filepath.Join(bin, "pulse-queue"), "mcp", "home")
		cmd.Dir, cmd.Stdin = filepath.Dir(filepath.Dir(filepath.Dir(found[0]))), strings.NewReader(realClient)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	has := func(got string, want ...string) {
		t.Helper()
		for _, w := range want {
			if strings.Count(got, w) != 1 {
				t.Errorf("want %s once in\n%s", w, got)
			}
		}
	}
	has(use(), "told Look after the house. tools\n", "tools propose,proposals\n",
		`"tool":"mail.send","outcome":"proposed"}]`+"\npropose wrong pulse: not proposed: bad_target",
		"proposals wrong pulse: you proposed nothing that has this task", "approve wrong pulse: there is no such tool here",
		"listResources -32601\n", "listPrompts -32601\n")
	s.sh("pulse-queue outbox | pulse-authorize | pulse-queue add && pulse-queue run --effect read_public -- echo sunny", "")
	has(use(), `"outcome":"done"`, `"result":"sunny\n"`)
	s.sh("pulse-queue verify", "")
}

// TestStandingTogether: sessions of one ask take turns, and one that is killed leaves it as it was.
func TestStandingTogether(t *testing.T) {
	s := newStanding(t)
	var all sync.WaitGroup
	for n := range 3 {
		all.Go(func() {
			in := standingHello
			for i := range 4 {
				in += proposing(i+1, fmt.Sprint(n, " ", i))
			}
			if out := s.sh("pulse-queue mcp home", in); strings.Count(out, `\"outcome\":\"proposed\"`) != 4 {
				t.Errorf("%s", out)
			}
		})
		all.Go(func() { // killed wherever it is
			cmd := s.command(filepath.Join(bin, "pulse-queue"), "mcp", "home")
			cmd.Stdin = strings.NewReader(standingHello + proposing(1, fmt.Sprint("killed ", n)))
			out, err := cmd.StdoutPipe()
			if err != nil || cmd.Start() != nil {
				t.Error("it does not start")
				return
			}
			_, _ = out.Read(make([]byte, 1)) // it has begun
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
	all.Wait()
	if out := s.sh("pulse-queue mcp home", standingHello+proposing(1, "last")); !strings.Contains(out, `\"outcome\":\"proposed\"`) {
		t.Error(out)
	}
	if n := strings.Count(s.sh("pulse-queue outbox", ""), "\n"); n < 13 || n > 16 {
		t.Errorf("%d proposals, want 13 and what was made before a kill", n)
	}
	s.sh("pulse-queue verify", "")
}

// TestStandingLong: a line without an end ends the session, and nothing else.
func TestStandingLong(t *testing.T) {
	s := newStanding(t)
	cmd := s.command(filepath.Join(bin, "pulse-queue"), "mcp", "home")
	cmd.Stdin = strings.NewReader(standingHello + `{"a":"` + strings.Repeat("x", 20<<20))
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "a line is longer than 1048576 bytes") || len(out) > 2000 {
		t.Errorf("exit %d: %.2000s", code, out)
	}
}

// TestStandingBudget: a hundred effects a day are the most, and what was started of them counts as starts.
func TestStandingBudget(t *testing.T) {
	s := newStanding(t)
	propose := func(n int, want string) {
		t.Helper()
		in := standingHello
		for i := range n {
			in += proposing(i+1, fmt.Sprint(want, i))
		}
		if out := s.sh("pulse-queue mcp home 2>&1", in); strings.Count(out, want) != n {
			t.Errorf("%d of %d are %s: %.1000s", strings.Count(out, want), n, want, out)
		}
	}
	policy := func(limits string) {
		t.Helper()
		text := strings.Replace(standingPolicy, "max_per_day = 400\nper_sender_per_hour = 200", limits, 1)
		if err := os.WriteFile(s.dir+"/policy.toml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	propose(3, `\"outcome\":\"proposed\"`)
	policy("per_sender_per_hour = 3")
	propose(1, "no more can be proposed for now")
	policy("max_per_day = 7")
	propose(1, "no more can be proposed for now")
	policy("max_per_day = 8")
	propose(1, `\"outcome\":\"proposed\"`)
	propose(1, "no more can be proposed for now")
}
