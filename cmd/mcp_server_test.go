package cmd_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMCPHostileServer: the server gets no request to the agent, no answer to what nobody
// asked, and nothing that can't be read.
func TestMCPHostileServer(t *testing.T) {
	m := newMCP(t)
	dropped := []string{
		`{"jsonrpc":"2.0","id":900,"result":{}}`, `{"jsonrpc":"2.0","id":"1","result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, `{"jsonrpc":"2.0","id":2,"result":{},"Method":"sampling/createMessage"}`, `Server started.`,
		`[{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage"}]`, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x"}}`,
		`{"jsonrpc":"2.0","method":"sampling/createMessage","params":{}}`, `{"jsonrpc":"2.0","id":9,"id":10,"method":"ping"}`, "\xff", `{"jsonrpc":"2.0","method":"notifications/message","params":[]}`,
	}
	refused := []string{"sampling/createMessage", "elicitation/create", "roots/list", "tasks/list", "tools/call", "PING"}
	says := append([]string(nil), dropped...)
	for i, method := range refused {
		says = append(says, fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":%q,"params":{"messages":[]}}`, i, method))
	}
	m.begin(append(says, `{"jsonrpc":"2.0","id":"alive","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u001b[2J"}}`)...)
	if got := m.hear(); got != `{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "\u001b[2J"}}`+"\n" {
		t.Error(got)
	}
	if got := m.ask("ping", `{}`); got != `{}` { // the server has read all answers before this
		t.Error(got)
	}
	got := strings.Join(m.file("got"), "")
	for i := range refused {
		if !strings.Contains(got, fmt.Sprintf(`{"jsonrpc": "2.0", "id": "s%d", "error": {"code": -32601, "message": "pulse: the server may not ask this of the agent"}}`, i)) {
			t.Errorf("%s: the server got %s", refused[i], got)
		}
	}
	if !strings.Contains(got, `{"jsonrpc": "2.0", "id": "alive", "result": {}}`) {
		t.Error(got)
	}
	if m.in.Close(); strings.Count(got, "\n") != 3+len(refused)+1 {
		t.Error(got)
	}
	m.ends(0)
	if n := strings.Count(m.said.String(), "was dropped"); n != 8 {
		t.Errorf("%d: %s", n, &m.said)
	}
}

// TestMCPAnswers: what a server may answer. Anything that is more than a result of a tool may
// ask the agent for something.
func TestMCPAnswers(t *testing.T) {
	for name, c := range map[string]struct{ method, answer, want string }{
		"an error":           {"tools/call", `"error":{"code":5,"message":"no"}`, `{"code": 5, "message": "no"}`},
		"a result":           {"tools/call", `"result":{"content":[],"isError":false,"_meta":{"a":1},"structuredContent":{"n":12345678901234567890}}`, `{"content": [], "isError": false, "_meta": {"a": 1}, "structuredContent": {"n": 12345678901234567890}}`},
		"a question":         {"tools/call", `"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage"}}}`, `{"code": -32603, "message": "pulse: refused: the server's result can not be read"}`},
		"no object":          {"tools/call", `"result":[]`, `{"code": -32603, "message": "pulse: refused: the server's result can not be read"}`},
		"another version":    {"initialize", `"result":{"protocolVersion":"2099-01-01","capabilities":{}}`, `{"code": -32603, "message": "pulse: refused: the server speaks a version that is not known"}`},
		"many capabilities":  {"initialize", `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"logging":{},"resources":{},"experimental":{}},"serverInfo":{"name":"s"},"more":1}`, `{"protocolVersion": "2025-06-18", "serverInfo": {"name": "s"}, "capabilities": {"tools": {}, "logging": {}}}`},
		"not a capabilities": {"initialize", `"result":{"protocolVersion":"2025-06-18","capabilities":[]}`, `{"code": -32603, "message": "pulse: refused: the server speaks a version that is not known"}`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMCP(t)
			m.write("server", "#!/bin/sh\nread -r hello\n"+
				map[bool]string{true: `echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}'; read -r ready; read -r call; `}[c.method == "tools/call"]+
				"echo '{\"jsonrpc\":\"2.0\",\"id\":"+map[string]string{"initialize": "1", "tools/call": "2"}[c.method]+","+c.answer+"}'\ncat >/dev/null\n", 0o700)
			m.start(filepath.Join(m.dir, "server"))
			got := m.initialize()
			if c.method == "tools/call" {
				got = m.call("read", `{}`)
			}
			if got != c.want {
				t.Error(got)
			}
		})
	}
}

// TestMCPHostileLines: thousands of lines that are nearly calls. Each call that the server
// gets was judged, and allowed, as it is.
func TestMCPHostileLines(t *testing.T) {
	t.Parallel()
	m := newMCP(t)
	// A stand-in that is faster: it allows what has the argument ok.
	m.write("agent", "#!/bin/sh\nread -r call\nprintf '%s\\n' \"$call\" >>asked\ncase $call in\n*'{\"ok\": 1}, \"cwd\"'*) echo '{\"outcome\":\"allow\",\"reason\":\"\"}' ;;\n*) echo '{\"outcome\":\"deny\",\"reason\":\"\"}' ;;\nesac\n", 0o700)
	m.begin()
	random := rand.New(rand.NewPCG(16, 3))
	pieces := []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `1`, `"id"`, `"method"`, `"name":"write"`, `"params"`, `tools/call`, `\u006e`, "\x00", "\xc3", "\u2028", "\r", " ", `"ok":1`, `e9`, `-`, `.`}
	calls := 300
	for i := range 3000 {
		line := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"t%d","arguments":{"ok":%d}}}`, i, i%7, i%2))
		for range random.IntN(4) {
			at, piece := random.IntN(len(line)), pieces[random.IntN(len(pieces))]
			end := min(len(line), at+random.IntN(3))
			line = append(line[:at:at], append([]byte(piece), line[end:]...)...)
		}
		m.line(string(line))
		var plain struct {
			Params struct{ Arguments map[string]int }
		}
		if json.Unmarshal(line, &plain) == nil && plain.Params.Arguments["ok"] == 1 {
			calls++
		}
		if i%10 == 9 { // so that not too many wait
			m.call("last", `{"ok":1}`)
		}
	}
	allowed := map[string]int{}
	for _, line := range m.file("asked") {
		var a struct {
			Name  string          `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		}
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		allowed[a.Name+" "+string(a.Input)]++
	}
	got := 0
	for _, line := range m.file("got") {
		var c struct {
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		switch call := c.Params.Name + " " + string(c.Params.Arguments); {
		case c.Method != "tools/call":
		case !strings.HasSuffix(call, ` {"ok": 1}`) || allowed[call] == 0:
			t.Errorf("the server got %s", line)
		default:
			allowed[call]--
			got++
		}
	}
	if got < 500 || got > calls {
		t.Errorf("the server got %d calls, of at most %d", got, calls)
	}
}

// TestMCPEnds: when one side ends, the other does, and whatever it started.
func TestMCPEnds(t *testing.T) {
	t.Parallel()
	const stubborn = "trap '' TERM HUP INT; sh -c 'trap \"\" TERM; echo $$ >child; exec sleep 1000' & echo $$ >pid; while :; do sleep 1000; done"
	const plain = "echo $$ >pid; exec cat >/dev/null"
	for name, c := range map[string]struct {
		server string
		do     func(*mcp)
		status int
	}{
		"the agent closes":                 {plain, func(m *mcp) { m.in.Close() }, 0},
		"the agent closes, stubborn":       {stubborn, func(m *mcp) { m.in.Close() }, 0},
		"the server ends":                  {"echo $$ >pid; exit 7", func(*mcp) {}, 7},
		"the server ends, a child is left": {"sleep 1000 & echo $$ >pid; exit 7", func(*mcp) {}, 7},
		"the server dies":                  {"echo $$ >pid; kill -9 $$", func(*mcp) {}, 137},
		"the server stops talking":         {"echo $$ >pid; exec >&-; exec sleep 1000", func(*mcp) {}, 143},
		"terminated":                       {"trap 'exit 3' TERM; echo $$ >pid; while :; do sleep 0.1; done", func(m *mcp) { m.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		"terminated, stubborn":             {stubborn, func(m *mcp) { m.cmd.Process.Signal(syscall.SIGTERM) }, 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMCP(t)
			m.hurry("GRACE = 5", "GRACE = 1")
			m.start("/bin/sh", "-c", c.server)
			for len(m.file("pid")) == 0 || strings.Contains(c.server, "child") && len(m.file("child")) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			c.do(m)
			m.ends(c.status)
			for _, name := range []string{"pid", "child"} {
				for _, line := range m.file(name) {
					pid, err := strconv.Atoi(strings.TrimSpace(line))
					if err != nil {
						t.Fatal(err)
					}
					if lives(pid) {
						t.Errorf("%s still runs", name)
					}
				}
			}
		})
	}

	m := newMCP(t)
	m.start("/nowhere/server")
	m.ends(64)
	m.start()
	m.ends(64)
}

// lives reports whether a process runs; one that nobody has waited for yet does not.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return state[0] != 'Z' && state[0] != 'X'
}

// TestMCPRealServers: servers of others, from npm.
func TestMCPRealServers(t *testing.T) {
	program := func(name string) string {
		found, err := filepath.Glob("../build/mcp-[0-9]*/node_modules/.bin/" + name)
		if err != nil || len(found) == 0 {
			t.Skipf("there is no %s, which scripts/test unpacks (scripts/get-mcp): it was not run behind hooks/mcp", name)
		}
		path, err := filepath.Abs(found[0])
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	files, everything := program("mcp-server-filesystem"), program("mcp-server-everything")

	m := newMCP(t)
	m.write("policy.toml", "owners = [\"me@example.com\"]\n[tools]\nallow = [\"files.*\"]\ndeny = [\"files.edit*\", \"files.move*\"]\n", 0o600)
	m.verdict("write_file", `{"outcome":"deny","reason":"not_permitted"}`)
	m.verdict("read_text_file", `{"outcome":"allow","reason":"allowed"}`)
	m.write("letter", "as it was", 0o600)
	m.start(files, m.dir)
	m.initialize()
	list := m.ask("tools/list", `{}`)
	for name, want := range map[string]bool{"write_file": true, "read_text_file": true, "edit_file": false, "move_file": false} {
		if strings.Contains(list, `"name": "`+name+`"`) != want {
			t.Errorf("%s: %t, want %t", name, !want, want)
		}
	}
	if got := m.call("read_text_file", fmt.Sprintf(`{"path":%q}`, m.dir+"/letter")); !strings.Contains(got, `"as it was"`) {
		t.Error(got)
	}
	if got := m.call("write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, m.dir+"/letter")); !strings.Contains(got, "not_permitted") {
		t.Error(got)
	}
	if got := m.file("letter"); len(got) != 1 || got[0] != "as it was" {
		t.Errorf("%q", got)
	}
	m.in.Close()
	m.ends(0)

	m = newMCP(t)
	m.write("policy.toml", "owners = [\"me@example.com\"]\n[tools]\nallow = [\"files.*\"]\n", 0o600)
	for _, tool := range []string{"echo", "get-env", "trigger-sampling-request"} {
		m.verdict(tool, `{"outcome":"allow","reason":"allowed"}`)
	}
	m.start(everything)
	m.initialize()
	if list = m.ask("tools/list", `{}`); !strings.Contains(list, `"name": "echo"`) || strings.Contains(list, `"name": "trigger-sampling`) || strings.Contains(list, `"name": "trigger-elicit`) || strings.Contains(list, "roots-list\"") {
		t.Error(list) // these it only offers to an agent that can be asked
	}
	if got := m.call("echo", `{"message":"\u0130"}`); !strings.Contains(got, `Echo: \u0130`) {
		t.Error(got)
	}
	if got := m.call("get-env", `{}`); !strings.Contains(got, "PATH") || strings.Contains(got, "PULSE_") {
		t.Error(got)
	}
	if got := m.call("trigger-sampling-request", `{"prompt":"x"}`); !strings.Contains(got, "not found") {
		t.Error(got)
	}
	m.in.Close()
	m.ends(0)
}

// TestMCPRealGate: with hooks/agent and pulse-authorize, the policy decides.
func TestMCPRealGate(t *testing.T) {
	agent, err := filepath.Glob("../scripts/hooks/agent*")
	tables, more := filepath.Glob("../scripts/hooks/*.jq")
	if err != nil || more != nil {
		t.Fatal(err, more)
	}
	if len(agent) == 0 || len(tables) == 0 {
		t.Fatal("scripts/hooks has no agent, or no table")
	}
	m := newMCP(t)
	for _, path := range append(agent, tables...) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m.write(filepath.Base(path), string(b), 0o700)
	}
	m.write("policy.toml", `owners = ["me@example.com"]
[matrix.owner_verified_email]
allow = ["read_public", "read_private"]
require_owner_confirmation = ["write_local"]
[tools]
allow = ["files.*"]
deny = ["files.delete"]
[tools.action]
"files.read" = "read_private"
"files.write" = "write_local"
"files.delete" = "read_private"
`, 0o600)
	m.begin()
	for tool, want := range map[string]string{
		"Read": `"called"`, "write": "needs_confirmation", "delete": "tool_not_allowed", "run": "not_permitted", "fs.read": "not_permitted",
	} {
		if got := m.call(tool, `{"path":"x"}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s", tool, got)
		}
	}
	m.reached(`Read {"path": "x"}`)
	m.write("record", "{}", 0o600)
	if got := m.call("read", `{}`); !strings.Contains(got, `"isError": true`) {
		t.Error(got)
	}
	m.reached(`Read {"path": "x"}`)
	m.in.Close()
	m.ends(0)

	// The name of a server doesn't make its tools pulse's own.
	if err := os.Remove(filepath.Join(m.dir, "got")); err != nil {
		t.Fatal(err)
	}
	m.record("owner_verified_email")
	m.write("tools", `[{"name": "note"}]`, 0o600)
	m.name = "Task"
	m.begin()
	if got := m.call("note", `{"task":"`+taskID+`"}`); !strings.Contains(got, "not_permitted") {
		t.Error(got)
	}
	if got := m.ask("tools/list", `{}`); !strings.Contains(got, `"tools": []`) {
		t.Error(got)
	}
	m.reached()
}
