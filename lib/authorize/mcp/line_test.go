package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// between returns a proxy that is initialized, without a server or a client, whose judge
// allows some tools.
func between() (*Proxy, *verdicts) {
	v := &verdicts{allow: map[string]bool{"read": true, "t0": true}}
	p := &Proxy{Judge: v}
	p.reset()
	p.begun = ready
	return p, v
}

// judgeAll judges what waits.
func judgeAll(p *Proxy) {
	for len(p.waiting) > 0 {
		j := p.waiting[0]
		p.judged(j, j.ask(context.Background()))
	}
}

// split returns the lines that a reader finds that takes any line end for one.
func split(line []byte) (lines [][]byte) {
	for _, l := range bytes.FieldsFunc(line, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if len(bytes.TrimSpace(l)) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// firstWins reads a value of which the first of several members counts, in whatever case
// their names are.
func firstWins(v jsontext.Value) any {
	switch v.Kind() {
	case '{':
		m := map[string]any{}
		d := decoder(v)
		for d.PeekKind() != '}' {
			token, err := d.ReadToken()
			if err != nil {
				panic(err)
			}
			name := fold(token.String())
			inner, err := d.ReadValue()
			if err != nil {
				panic(err)
			}
			if _, ok := m[name]; !ok {
				m[name] = firstWins(inner)
			}
		}
		return m
	case '[':
		list := []any{}
		for d := decoder(v); d.PeekKind() != ']'; {
			inner, err := d.ReadValue()
			if err != nil {
				panic(err)
			}
			list = append(list, firstWins(inner))
		}
		return list
	case '0':
		return json.Number(bytes.TrimSpace(v))
	}
	var one any
	if err := json.Unmarshal(v, &one); err != nil {
		panic(err)
	}
	return one
}

// decoder reads what is in an object or an array.
func decoder(v jsontext.Value) *jsontext.Decoder {
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		panic(err)
	}
	return d
}

// lastWins reads a value of which the last of several members counts, in whatever case their
// names are, as encoding/json does for a struct.
func lastWins(line []byte) any {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	v, err := lastValue(d)
	if err != nil {
		panic(err)
	}
	return v
}

func lastValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if m[fold(name.(string))], err = lastValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return m, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := lastValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// alike fails unless a line is one message of JSON-RPC for every reader, and returns it.
func alike(t *testing.T, line []byte) map[string]any {
	t.Helper()
	parts := split(line)
	if len(parts) != 1 || !jsontext.Value(parts[0]).IsValid() {
		t.Fatalf("%q is not one strict message in a line", line)
	}
	first, last := firstWins(jsontext.Value(line)), lastWins(line)
	if !reflect.DeepEqual(first, last) {
		t.Fatalf("%q is read as %v and as %v", line, first, last)
	}
	var sdk struct {
		JSONRPC string
		ID      any
		Method  *string
		Params  map[string]any
		Result  any
		Error   any
	}
	if err := json.Unmarshal(line, &sdk); err != nil || sdk.JSONRPC != "2.0" {
		t.Fatalf("%q: %v", line, err)
	}
	m := first.(map[string]any)
	if method, ok := m[fold("method")].(string); ok != (sdk.Method != nil) || ok && method != *sdk.Method {
		t.Fatalf("%q: %v", line, sdk)
	}
	return m
}

// rounded reports whether a reader with floats would take a number in a value for another.
func rounded(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, v := range v {
			if rounded(v) {
				return true
			}
		}
	case []any:
		for _, v := range v {
			if rounded(v) {
				return true
			}
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return true
		}
		if _, err := strconv.Atoi(string(v)); err == nil {
			return strconv.FormatFloat(f, 'f', -1, 64) != strings.Replace(string(v), "-0", "-0", 1)
		}
	}
	return false
}

// client gives a proxy a line of a client, and checks what the server gets.
func client(t *testing.T, line []byte) (passed int) {
	t.Helper()
	if bytes.IndexByte(line, '\n') >= 0 {
		return 0
	}
	p, v := between()
	p.fromClient(line)
	judgeAll(p)
	for _, l := range p.client.lines {
		alike(t, l)
	}
	if len(p.server.lines) > 1 || len(v.asked) > 1 {
		t.Fatalf("%q became %q after %q", line, p.server.lines, v.asked)
	}
	for _, l := range p.server.lines {
		m := alike(t, l)
		params, _ := m["PARAMS"].(map[string]any)
		if rounded(params) {
			t.Fatalf("%q: a number is not exact", l)
		}
		if m["METHOD"] != "tools/call" {
			continue
		}
		passed++
		args := params["ARGUMENTS"]
		if args == nil {
			args = map[string]any{}
		}
		tool, asked, _ := strings.Cut(strings.Join(v.asked, ""), " ")
		if params["NAME"] != tool || !reflect.DeepEqual(lastWins([]byte(asked)), args) || !v.allow[tool] {
			t.Fatalf("%q was passed on, and %q was judged", l, v.asked)
		}
	}
	return passed
}

var seeds = []string{
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"path":"x"}}}`,
	`{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{"_meta":{"progressToken":1,"x":2},"name":"read","arguments":{"n":[1,-2.5,{"a":null}]}}}` + "\r",
	`{"jsonrpc":"2.0","id":1,"Method":"ping","method":"tools/call","params":{"name":"read"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"Path":"y","path":"x","\u0070ath":"z"}}}`,
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{\"a\":[\r{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r]}}}",
	`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
	`{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"read","arguments":{"x":-0,"y":1e0,"z":0.1}}}`,
	"\xff", "{}", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read\",\"arguments\":{\"a\":\"\xe2\x80\xa8\"}}}",
}

// FuzzLine: what is passed on is one message of JSON-RPC for every reader, and as it was judged.
func FuzzLine(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) { client(t, line) })
}

// FuzzServer: what the client hears is one message of JSON-RPC for every reader.
func FuzzServer(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read","description":"x"},{"name":"secret"},{"name":"x","NAME":"y"}],"nextCursor":"n","more":1}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":false}}`, `{"jsonrpc":"2.0","id":2,"result":{"Content":[]}}`, `{"jsonrpc":"2.0","id":"a","method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, `{"jsonrpc":"2.0","id":3,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		p, _ := between()
		p.owed = map[string]string{"1": "tools/list", "2": "tools/call", "3": "initialize"}
		p.fromServer(line)
		judgeAll(p)
		if len(p.client.lines)+len(p.server.lines) > 1 {
			t.Fatalf("%q became %q and %q", line, p.client.lines, p.server.lines)
		}
		for _, l := range p.client.lines {
			checkHeard(t, l)
		}
		for _, l := range p.server.lines {
			alike(t, l)
		}
	})
}

// checkHeard checks a line for the client, in whose contents names may differ in case.
func checkHeard(t *testing.T, line []byte) {
	t.Helper()
	if parts := split(line); len(parts) != 1 || !jsontext.Value(parts[0]).IsValid() {
		t.Fatalf("%q is not one strict message in a line", line)
	}
	first, last := firstWins(jsontext.Value(line)).(map[string]any), lastWins(line).(map[string]any)
	for _, name := range []string{"JSONRPC", "ID", "METHOD"} {
		if !reflect.DeepEqual(first[name], last[name]) {
			t.Fatalf("%q: %v and %v", line, first, last)
		}
	}
	if (first["RESULT"] == nil) != (last["RESULT"] == nil) || (first["ERROR"] == nil) != (last["ERROR"] == nil) {
		t.Fatalf("%q: %v and %v", line, first, last)
	}
	a, _ := first["RESULT"].(map[string]any)
	b, _ := last["RESULT"].(map[string]any)
	one, _ := a["TOOLS"].([]any)
	other, _ := b["TOOLS"].([]any)
	for i := range one {
		if x, y := one[i].(map[string]any)["NAME"], other[i].(map[string]any)["NAME"]; x != y || strings.Contains(x.(string), "secret") {
			t.Fatalf("%q: %v and %v", line, x, y)
		}
	}
}

// TestNearlyCalls: thousands of lines that are nearly calls. Many are calls all the same.
func TestNearlyCalls(t *testing.T) {
	random := rand.New(rand.NewPCG(16, 3))
	pieces := []string{`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, `null`, `1`, `"id"`, `"method"`, `"name":"write"`, `"params"`, `tools/call`, `\u006e`, "\x00", "\xc3", "\u2028", "\r", " ", `"ok":1`, `e9`, `-`, `.`, `"OK":1`}
	passed, lines := 0, 20000
	if testing.Short() {
		lines = 4000
	}
	for i := range lines {
		line := []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"t%d","arguments":{"ok":%d}}}`, i, i%2, i%2))
		for range random.IntN(4) {
			at, piece := random.IntN(len(line)), pieces[random.IntN(len(pieces))]
			end := min(len(line), at+random.IntN(3))
			line = append(line[:at:at], append([]byte(piece), line[end:]...)...)
		}
		passed += client(t, line)
	}
	if passed < lines/20 || passed > lines/2 {
		t.Errorf("%d of %d were passed on", passed, lines)
	}
}
