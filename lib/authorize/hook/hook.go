// Package hook knows the clients of agents, which ask a hook before each use of a tool:
// Claude Code, Codex CLI and Gemini CLI, and any client of an MCP server. It reads what a
// client tells its hook, as a request of pulse's own tools, and writes the answer in the
// form that the client understands.
//
// Invariant: what is in no table is a tool of nobody, and never one of pulse's own; a path
// that a client may understand in another way than pulse leads out of the workspace.
// Caveat: the tables are those of the versions named here. Client.Knows says which these are.
package hook

import (
	"errors"
	"fmt"
	"strings"

	"pulse/lib/shared/record"
)

// Client is a program that runs an agent.
type Client string

// The clients. MCP is whatever speaks to an MCP server.
const (
	ClaudeCode Client = "claude-code"
	Codex      Client = "codex"
	Gemini     Client = "gemini"
	MCP        Client = "mcp"
)

// versions has the beginning of each version whose hooks were tried.
var versions = map[Client]string{ClaudeCode: "2.", Codex: "0.", Gemini: "0."}

// Valid reports whether c is a client that has a hook.
func (c Client) Valid() bool { return versions[c] != "" }

// Knows reports whether version, as a client tells it, is of a major version whose hooks
// were tried.
func (c Client) Knows(version string) bool {
	want := versions[c]
	return want != "" && strings.HasPrefix(version, want) && len(version) > len(want)
}

// Kind says what a client tells its hook.
type Kind int

// The kinds. Other is whatever needs no answer.
const (
	Other  Kind = iota
	Hello       // a session begins, and the hook is loaded
	Prompt      // the client was given a prompt, and no model has it yet
	Wish        // a model wants to use a tool
)

// kinds has the names that the clients have for them.
var kinds = map[string]Kind{
	"SessionStart": Hello, "UserPromptSubmit": Prompt, "PreToolUse": Wish, "BeforeTool": Wish,
	"": Wish, // a call that is typed by hand
}

// Event is what a client tells its hook.
type Event struct {
	Kind    Kind
	Name    string // as the client calls the event
	Session string // the client's id of the conversation
	Prompt  string
	Use     Use
}

// Use is the use of a tool that a model wants.
type Use struct {
	Client Client
	ID     string // as the client's transcript calls it; empty: it does not tell
	Name   string // of the tool, as the client calls it
	Server string // of the MCP server whose tool it is, where the client tells it apart
	mcp    string // that tool, as the server calls it
	Dir    string // the working directory
	Input  record.Value
}

// errEvent means that what a client tells its hook can't be read.
var errEvent = errors.New("hook: it is no call of this client")

// Read reads what a client writes to its hook.
func Read(c Client, b []byte) (Event, error) {
	e := Event{Use: Use{Client: c, Input: "{}"}}
	v, err := record.ParseValue(b)
	if err == nil {
		input := func(v record.Value) error {
			if v != "null" {
				e.Use.Input = v
			}
			return nil
		}
		err = v.Each(record.To(
			"hook_event_name", &e.Name, "session_id", &e.Session, "prompt", &e.Prompt, "tool_name", &e.Use.Name, "tool_use_id", &e.Use.ID,
			"cwd", &e.Use.Dir, "tool_input", input, "mcp_context", e.Use.server,
		))
	}
	if err != nil {
		return e, fmt.Errorf("%w: %w", errEvent, err)
	}
	e.Kind = kinds[e.Name]
	if e.Kind == Wish && (e.Use.Name == "" || e.Use.Dir == "" || e.Use.Input[0] != '{') {
		return e, errEvent
	}
	return e, nil
}

// server reads what Gemini CLI tells of an MCP server's tool.
func (u *Use) server(v record.Value) error {
	if u.Client != Gemini || v == "null" {
		return nil
	}
	var server, tool string
	err := v.Each(record.To("server_name", &server, "tool_name", &tool))
	if err == nil && (server == "" || tool == "") {
		err = errEvent
	}
	u.Server, u.mcp = server, tool
	return err
}

// Call returns the use of a tool of an MCP server, by a client that asks no hook about it.
func Call(server, tool, dir string, args record.Value) Use {
	return Use{Client: MCP, Server: server, mcp: tool, Name: tool, Dir: dir, Input: args}
}
