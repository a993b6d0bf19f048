package agentkit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// call is a use of a tool that the attacker's model wants. Raw, if it is set, is the input of
// a tool that takes text and not JSON.
type call struct {
	Name string
	Args map[string]any
	Raw  string
}

// attacker is a model server whose model always obeys the attacker: it answers each request
// that offers tools with the next call, and in the end with words. It speaks the Messages API
// of Anthropic, the Responses API of OpenAI, and generateContent of Gemini. It is also the
// server to which nothing may get: it keeps the paths under /canary/ that were asked for.
type attacker struct {
	*httptest.Server
	plan   func(offered map[string]json.RawMessage) []call // makes the calls of what the first request offers; nil: calls is set
	calls  []call
	words  string // what the model says in the end; empty: done
	status int    // of every answer of the model; 0: 200, or hangsUp or cutsOff

	asked   atomic.Int64 // requests of any kind
	mu      sync.Mutex
	turn    int
	offered map[string]json.RawMessage // by name, as the agent offers them
	canary  []string
	seen    bytes.Buffer // what the model was told, and with it what came of the calls
}

func newAttacker(t *testing.T, calls ...call) *attacker {
	t.Helper()
	a := &attacker{calls: calls, offered: map[string]json.RawMessage{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *attacker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch path := r.URL.Path; {
	case a.status != 0:
		a.fail(w)
	case strings.HasPrefix(path, "/canary/"):
		a.canary = append(a.canary, path)
	case strings.HasSuffix(path, "/v1/messages"):
		a.stream(w, a.anthropic(a.next(body)), true)
	case strings.HasSuffix(path, "/responses"):
		a.stream(w, a.openai(a.next(body)), true)
	case strings.HasSuffix(path, ":streamGenerateContent"):
		a.stream(w, a.gemini(a.next(body)), false)
	case strings.HasSuffix(path, ":generateContent"):
		words := a.words
		a.words = "{}" // it wants JSON here, and tries for long if it gets none
		fmt.Fprint(w, a.gemini(nil)[0])
		a.words = words
	case strings.HasSuffix(path, ":countTokens"), strings.HasSuffix(path, "/count_tokens"):
		fmt.Fprint(w, `{"totalTokens":1,"input_tokens":1}`)
	default:
		http.NotFound(w, r)
	}
}

// What the server does in place of an answer.
const (
	hangsUp = -1 // before the answer
	cutsOff = -2 // in the middle of it
)

// fail fails as status says.
func (a *attacker) fail(w http.ResponseWriter) {
	if a.status > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","code":%d,"message":"it is so","status":"SO"}}`, a.status)
		return
	}
	if a.status == cutsOff {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: x\ndata: {\"type\":\"x\"}\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if a.status == hangsUp {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	conn.Close()
}

// next returns the next call, or nil if there is none or no tools are offered.
func (a *attacker) next(body []byte) *call {
	var request struct {
		Tools []json.RawMessage
		Input json.RawMessage // of the Responses API: a list, which may hold more tools
	}
	if json.Unmarshal(body, &request) != nil {
		return nil
	}
	var input []struct{ Tools []json.RawMessage }
	if json.Unmarshal(request.Input, &input) == nil {
		for _, item := range input {
			request.Tools = append(request.Tools, item.Tools...)
		}
	}
	a.seen.Write(body)
	if len(request.Tools) == 0 {
		return nil
	}
	for _, tool := range request.Tools {
		a.offer("", tool)
	}
	if a.turn++; a.turn == 1 && a.plan != nil {
		a.calls = a.plan(a.offered)
	}
	if a.turn > len(a.calls) {
		return nil
	}
	return &a.calls[a.turn-1]
}

// offer keeps the names of a tool, which may be a group of tools.
func (a *attacker) offer(group string, tool json.RawMessage) {
	var one struct {
		Name, Type           string
		Tools                []json.RawMessage
		FunctionDeclarations []json.RawMessage `json:"functionDeclarations"`
	}
	if json.Unmarshal(tool, &one) != nil {
		return
	}
	inner := append(one.Tools, one.FunctionDeclarations...)
	for _, t := range inner {
		a.offer(one.Name, t)
	}
	if one.Name == "" {
		one.Name = one.Type
	}
	if len(inner) == 0 && one.Name != "" {
		a.offered[strings.TrimPrefix(group+"/"+one.Name, "/")] = tool
	}
}

func (a *attacker) stream(w http.ResponseWriter, events []string, named bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`); named {
			fmt.Fprintf(w, "event: %s\n", kind)
		}
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

func (a *attacker) anthropic(c *call) []string {
	start, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":`+a.said()+`}`, "end_turn"
	if c != nil {
		start = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%s,"input":{}}`, a.turn, encode(c.Name))
		delta = fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, encode(string(encode(c.Args))))
		stop = "tool_use"
	}
	return []string{
		fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`, a.turn),
		`{"type":"content_block_start","index":0,"content_block":` + start + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `","stop_sequence":null},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	}
}

func (a *attacker) openai(c *call) []string {
	item := `{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","text":` + a.said() + `}]}`
	if c != nil {
		group, name, found := strings.Cut(c.Name, "/")
		space := ""
		if found {
			space = fmt.Sprintf(`,"namespace":%s`, encode(group))
		} else {
			name = group
		}
		item = fmt.Sprintf(`{"type":"function_call","id":"f%d","call_id":"c%d","name":%s%s,"arguments":%s}`, a.turn, a.turn, encode(name), space, encode(string(encode(c.Args))))
		if c.Raw != "" {
			item = fmt.Sprintf(`{"type":"custom_tool_call","id":"f%d","call_id":"c%d","name":%s%s,"input":%s}`, a.turn, a.turn, encode(name), space, encode(c.Raw))
		}
	}
	id := fmt.Sprintf(`"id":"resp_%d"`, a.turn)
	return []string{
		`{"type":"response.created","response":{` + id + `}}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.completed","response":{` + id + `,"usage":{"input_tokens":1,"input_tokens_details":null,"output_tokens":1,"output_tokens_details":null,"total_tokens":2}}}`,
	}
}

func (a *attacker) gemini(c *call) []string {
	part := `{"text":` + a.said() + `}`
	if c != nil {
		part = fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s}}`, encode(c.Name), encode(c.Args))
	}
	return []string{`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`}
}

func (a *attacker) said() string { return string(encode(cmp.Or(a.words, "done"))) }

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
