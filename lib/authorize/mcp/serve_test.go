package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"pulse/lib/shared/record"
)

// served is a server whose tool says what it was given.
func served() *Server {
	return &Server{Name: "t", Version: "1", Tools: []Tool{{
		Name: "say", Description: "d", Input: `{"type":"object"}`,
		Call: func(_ context.Context, args record.Value) ([]byte, error) {
			if strings.Contains(string(args), "told") {
				return nil, Told("told")
			}
			return []byte(args), nil
		},
	}}}
}

const greet = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

func TestServe(t *testing.T) {
	call := func(params string) string {
		return greet + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + "}\n"
	}
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n":                                            `"message":"pulse: refused: it is not initialized"`,
		greet + `{"jsonrpc":"2.0","id":"a","method":"tools/list"}` + "\n":                                  `"id":"a","result":{"tools":[{"name":"say","description":"d","inputSchema":{"type":"object"}}]}`,
		call(`{"name":"say","arguments":{"a":1}}`):                                                         `"text":"{\"a\":1}"`,
		call(`{"name":"say"}`):                                                                             `"text":"{}"`,
		call(`{"name":"say","arguments":{"a":"told"}}`):                                                    `"text":"pulse: told"}],"isError":true`,
		call(`{"name":"other"}`):                                                                           "there is no such tool here",
		call(`{"name":"say","name":"other"}`):                                                              `"code":-32700`,
		call(`{"name":"say","arguments":{"a":9007199254740993}}`):                                          `"message":"pulse: refused: it has a number that is not exact"`,
		greet + `[{"jsonrpc":"2.0","id":1,"method":"ping"}]` + "\n":                                        `"code":-32600`,
		greet + `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}` + "\n":                        `"message":"pulse: refused: this server has tools, and nothing else"`,
		greet + strings.Repeat("[", maxAsked) + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n":   `"code":-32700`,
		greet + strings.Repeat(" ", maxAsked+1) + "\n" + `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n": `"message":"pulse: refused: a line is longer than 1048576 bytes"`,
	} {
		var out bytes.Buffer
		err := served().Serve(context.Background(), strings.NewReader(in), &out)
		if lines := strings.SplitAfter(out.String(), "\n"); !strings.Contains(out.String(), want) || errors.Is(err, errLong) != strings.Contains(want, "longer") {
			t.Errorf("%.200s: %v, %.300q, want %s", in, err, lines, want)
		}
	}
}

// TestServeEnds: what a tool can't tell its client ends the session.
func TestServeEnds(t *testing.T) {
	s := served()
	s.Tools[0].Call = func(context.Context, record.Value) ([]byte, error) { return nil, io.ErrClosedPipe }
	err := s.Serve(context.Background(), strings.NewReader(greet+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say"}}`+"\n"), io.Discard)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// FuzzServe: whatever comes, each line of the answer is one message with an id, there is at most one
// for each line, and a tool gets an object.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		"", "x", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"\u001b","method":"tools/call","params":{"name":"say","arguments":{"a":["\u0000"]},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":[]}}`, `{"jsonrpc":"2.0","id":1e9,"result":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := served()
		s.Tools[0].Call = func(_ context.Context, args record.Value) ([]byte, error) {
			if args[0] != '{' || !json.Valid([]byte(args)) {
				t.Errorf("a tool got %q", args)
			}
			return []byte(args), nil
		}
		var out bytes.Buffer
		if err := s.Serve(context.Background(), io.MultiReader(strings.NewReader(greet), bytes.NewReader(in), strings.NewReader("\n")), &out); err != nil {
			t.Fatal(err)
		}
		if n, most := bytes.Count(out.Bytes(), []byte("\n")), bytes.Count(in, []byte("\n"))+2; n > most {
			t.Errorf("%d answers to %d lines", n, most)
		}
		for line := range bytes.Lines(out.Bytes()) {
			m, err := parse(bytes.TrimSuffix(line, []byte("\n")))
			var r *refusal
			if errors.As(err, &r) && bytes.Contains(line, []byte(`"id":null`)) {
				continue
			}
			if err != nil || m.asks() {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}
