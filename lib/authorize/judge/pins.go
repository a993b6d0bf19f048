package judge

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"pulse/lib/authorize/decision"
	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/pins"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

const definitionChanged decision.Reason = "definition_changed"

// Listed says what of the tools that pinned servers have listed nobody has accepted, or
// nothing, by server and tool. What a server has listed last counts.
type Listed map[string]map[string]string

// The bounds of the definitions that servers list: at once, and in one run.
const (
	maxTools   = 1000
	maxDefined = 50 * maxTools
)

var errTools = errors.New("judge: the server lists too many tools")

// Show returns which of the definitions that a server has just listed the model may see, by
// the names of the tools.
func (j *Judge) Show(server string, definitions record.Value) (names []string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	counted := false
	err = definitions.Elements(func(i int, v record.Value) error {
		if j.defined++; i >= maxTools || j.defined > maxDefined {
			return errTools
		}
		t, err := pins.Read(v)
		if err != nil {
			return err
		}
		tool := hook.Tool(server, t.Name)
		switch changed := j.list(server, t); {
		case changed == "" && j.shows(tool):
			names = append(names, t.Name)
		case changed != "" && !counted: // one of them is news enough
			counted = true
			j.count(hook.Judgement{Tool: tool, Outcome: terms.Reject, Rule: "hook", Reason: string(definitionChanged)})
		}
		return nil
	})
	return names, err
}

// list notes a definition, and says what of it nobody has accepted.
func (j *Judge) list(server string, t pins.Tool) (changed string) {
	server, _ = pins.ServerName(server)
	pinned := j.Pins[server]
	if pinned == nil {
		return ""
	}
	if j.Listed == nil {
		j.Listed = Listed{}
	}
	if j.Listed[server] == nil {
		j.Listed[server] = map[string]string{}
	}
	changed = pinned.Changed(t)
	j.Listed[server][t.Name] = changed
	return changed
}

// changed says what nobody has accepted about the tool that is to be used. A client may have
// another spelling for it.
func (j *Judge) changed(u *hook.Use) string {
	server, tool, ok := u.OfServer()
	if !ok {
		return ""
	}
	server, _ = pins.ServerName(server)
	switch pinned := j.Pins[server]; {
	case pinned == nil:
		return ""
	case pinned.Err != nil:
		return pinned.Changed(pins.Tool{})
	}
	found := false
	for name, changed := range j.Listed[server] {
		if name == tool || u.Client != hook.MCP && plain(name) == tool {
			if found = true; changed != "" {
				return changed
			}
		}
	}
	if !found {
		return fmt.Sprintf("the server %s has not listed its tool %s behind pulse-authorize hook mcp %s", server, tool, server)
	}
	return ""
}

// plain returns the name of a tool in the characters that clients leave in it.
func plain(name string) string { return strings.ReplaceAll(name, ".", "_") }

// A use of an MCP server's tool is judged twice if its client has a hook and the server
// stands behind pulse, too. It is one use all the same: the second judgement is the first
// one, and neither counted nor put to a person again.

// pass notes that a hook was allowed the use of a server's tool.
func (j *Judge) pass(u *hook.Use, r *request.Request) {
	if _, _, ok := u.OfServer(); !ok || u.Client == hook.MCP {
		return
	}
	if key, err := same(r); err == nil {
		if j.passed == nil {
			j.passed = map[string]int{}
		}
		j.passed[key]++
	}
}

// passes reports whether a hook was allowed this use, and its server did not see it yet.
func (j *Judge) passes(u *hook.Use, r *request.Request) bool {
	key, err := same(r)
	if err != nil || u.Client != hook.MCP || j.passed[key] == 0 || j.changed(u) != "" {
		return false
	}
	if j.passed[key]--; j.passed[key] == 0 {
		delete(j.passed, key)
	}
	return true
}

// same returns what equal requests have in common.
func same(r *request.Request) (string, error) {
	b, err := r.Canonical()
	sum := sha256.Sum256(b)
	return string(sum[:]), err
}
