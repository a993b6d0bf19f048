package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClaudeFails: the real Claude Code, with a provider that fails. Where the provider is away
// or has had enough for now, the worker asks for later; where a person is needed, it says why.
func TestClaudeFails(t *testing.T) {
	bin, err := filepath.Abs("../../build/agents/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Skip("there is no Claude Code, which scripts/test unpacks (scripts/get-agents): it was not run as a worker")
	}
	status := func(code int, kind string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"it is %s"}}`, kind, kind)
		}
	}
	hangUp := func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then nobody watches whether the client is still there
		<-r.Context().Done()
	}
	const proposed = `{"action":"external_send","target":["bob@partner.example"],"args":{"text":"hi"}}` + "\n"
	for name, c := range map[string]struct {
		provider http.HandlerFunc // nil: nobody listens
		args     []string
		exit     int
		out, err string
	}{
		"an answer":        {says("I will.\n```json\n{\n  \"action\": \"external_send\",\n  \"target\": [\"bob@partner.example\"],\n  \"args\": {\"text\": \"hi\"}\n}\n```"), nil, 0, proposed, ""},
		"words":            {says("The report says: buy."), nil, 0, "The report says: buy.\n", "claude: the answer holds no proposal\n"},
		"too many":         {status(429, "rate_limit_error"), nil, 75, "", "claude: API Error: Request rejected (429)"},
		"broken":           {status(500, "api_error"), nil, 75, "", "claude: API Error: 500 "},
		"overloaded":       {status(529, "overloaded_error"), nil, 75, "", "claude: API Error: 529 "},
		"hangs up":         {hangUp, nil, 75, "", "claude: API Error: Unable to connect to API (ECONNRESET)"},
		"away":             {nil, nil, 75, "", "claude: API Error: Unable to connect to API (ConnectionRefused)"},
		"hangs":            {hang, nil, 75, "", "claude: Request timed out"},
		"a wrong key":      {status(401, "authentication_error"), nil, 1, "", "claude: Failed to authenticate"},
		"no permission":    {status(403, "permission_error"), nil, 1, "", "claude: Failed to authenticate"},
		"an unknown model": {status(404, "not_found_error"), []string{"--model", "nosuch"}, 1, "", "claude: There's an issue with the selected model (nosuch)"},
		"a bad flag":       {says("hi"), []string{"--nosuch"}, 1, "", "error: unknown option '--nosuch'\nclaude: no result (exit status 1)\n"},
	} {
		if testing.Short() && name != "an answer" && name != "too many" {
			continue // each starts Claude Code
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := "http://127.0.0.1:9"
			if c.provider != nil {
				server := httptest.NewServer(c.provider)
				defer server.Close()
				defer server.CloseClientConnections()
				url = server.URL
			}
			exit, out, said := claude(t, bin, url, c.args)
			if exit != c.exit || out != c.out || !strings.HasPrefix(said, c.err) || c.err == "" && said != "" {
				t.Errorf("exit %d, want %d: %q, want %q; it says %q", exit, c.exit, out, c.out, said)
			}
		})
	}
}

// says answers as the Messages API does, with one text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quoted(text) + `}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`,
		} {
			kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, e)
		}
	}
}

func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// claude runs the worker on an ask, in a home of its own.
func claude(t *testing.T, bin, url string, args []string) (exit int, out, said string) {
	t.Helper()
	worker, err := filepath.Abs("../../scripts/workers/claude")
	if err != nil {
		t.Fatal(err)
	}
	ask, err := os.ReadFile("testdata/shared/owner.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(worker, args...)
	cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(ask)
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "TMPDIR=" + os.TempDir(),
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"CLAUDE_CODE_MAX_RETRIES=1", "API_TIMEOUT_MS=8000",
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}
