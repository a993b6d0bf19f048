// Package stub is a model server without a model: it speaks the Messages API of Anthropic, the
// Responses API of OpenAI and generateContent of Gemini, as far as clients need it to be told to
// use a tool. The tests drive clients with it, and "pulse-authorize hook check" does.
//
// Invariant: an answer holds what the caller wants and nothing of the request. Caveat: it is what
// the clients of package hook read today, and no more.
package stub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// Call is a use of a tool that the model wants. Raw, if it is set, is the input of a tool that
// takes text and not JSON.
type Call struct {
	Name string
	Args map[string]any
	Raw  string
}

// Answer answers a request for a path of one of the APIs. next returns the use that the model
// wants, or nil and what it says; it is called where a client asks for a turn.
func Answer(w http.ResponseWriter, path string, next func() (*Call, string)) {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		stream(w, anthropic(next()), true)
	case strings.HasSuffix(path, "/responses"):
		stream(w, openai(next()), true)
	case strings.HasSuffix(path, ":streamGenerateContent"):
		stream(w, gemini(next()), false)
	case strings.HasSuffix(path, ":generateContent"):
		_, _ = fmt.Fprint(w, gemini(nil, "{}")[0]) // it wants JSON here, and tries for long if it gets none
	case strings.HasSuffix(path, ":countTokens"), strings.HasSuffix(path, "/count_tokens"):
		_, _ = fmt.Fprint(w, `{"totalTokens":1,"input_tokens":1}`)
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// Offered returns the tools that a request offers, by name; nil if it is no request of a turn.
func Offered(body []byte) map[string]json.RawMessage {
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
	offered := map[string]json.RawMessage{}
	for _, tool := range request.Tools {
		offer(offered, "", tool)
	}
	return offered
}

// offer keeps the names of a tool, which may be a group of tools.
func offer(offered map[string]json.RawMessage, group string, tool json.RawMessage) {
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
		offer(offered, one.Name, t)
	}
	if one.Name == "" {
		one.Name = one.Type
	}
	if len(inner) == 0 && one.Name != "" {
		offered[strings.TrimPrefix(group+"/"+one.Name, "/")] = tool
	}
}

func stream(w http.ResponseWriter, events []string, named bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if kind, _, _ := strings.Cut(strings.TrimPrefix(e, `{"type":"`), `"`); named {
			_, _ = fmt.Fprintf(w, "event: %s\n", kind)
		}
		_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
	}
}

// answers counts the answers, for ids that differ.
var answers atomic.Int64

func anthropic(c *Call, words string) []string {
	n, said := answers.Add(1), string(Encode(words))
	start, delta, stop := `{"type":"text","text":""}`, `{"type":"text_delta","text":`+said+`}`, "end_turn"
	if c != nil {
		start = fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":%s,"input":{}}`, n, Encode(c.Name))
		delta = fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, Encode(string(Encode(c.Args))))
		stop = "tool_use"
	}
	return []string{
		fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`, n),
		`{"type":"content_block_start","index":0,"content_block":` + start + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `","stop_sequence":null},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`,
	}
}

func openai(c *Call, words string) []string {
	n, said := answers.Add(1), string(Encode(words))
	item := `{"type":"message","role":"assistant","id":"m","content":[{"type":"output_text","text":` + said + `}]}`
	if c != nil {
		group, name, found := strings.Cut(c.Name, "/")
		space := ""
		if found {
			space = fmt.Sprintf(`,"namespace":%s`, Encode(group))
		} else {
			name = group
		}
		item = fmt.Sprintf(`{"type":"function_call","id":"f%d","call_id":"c%d","name":%s%s,"arguments":%s}`, n, n, Encode(name), space, Encode(string(Encode(c.Args))))
		if c.Raw != "" {
			item = fmt.Sprintf(`{"type":"custom_tool_call","id":"f%d","call_id":"c%d","name":%s%s,"input":%s}`, n, n, Encode(name), space, Encode(c.Raw))
		}
	}
	id := fmt.Sprintf(`"id":"resp_%d"`, n)
	return []string{
		`{"type":"response.created","response":{` + id + `}}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.completed","response":{` + id + `,"usage":{"input_tokens":1,"input_tokens_details":null,"output_tokens":1,"output_tokens_details":null,"total_tokens":2}}}`,
	}
}

func gemini(c *Call, words string) []string {
	said := string(Encode(words))
	part := `{"text":` + said + `}`
	if c != nil {
		part = fmt.Sprintf(`{"functionCall":{"name":%s,"args":%s}}`, Encode(c.Name), Encode(c.Args))
	}
	return []string{`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`}
}

// Encode returns JSON in which no character is written for a browser.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
