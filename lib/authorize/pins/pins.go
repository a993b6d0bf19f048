// Package pins keeps the definitions of MCP servers' tools that a person has accepted. A
// definition is a text that the server writes and the model obeys, and a server may write
// another one tomorrow.
//
// Invariant: two definitions are the same only if they are the same JSON, except for blanks,
// the order of members and the spelling of strings. What can't be read is not accepted.
// Caveat: that a definition is the same does not mean that the tool still does the same.
package pins

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"pulse/lib/shared/address"
	"pulse/lib/shared/lazy"
	"pulse/lib/shared/record"
)

// Tool is the definition of a tool.
type Tool struct {
	Name       string
	SHA256     string       // of Definition, in hexadecimal
	Definition record.Value // in canonical form
}

// Server has what was accepted of one server.
type Server struct {
	Name    string
	Command []string // by which it is started; nil: it was accepted by an older pulse
	Tools   []Tool   // by name
	Err     error    // why nobody knows: then none of its tools is accepted
}

// Pins has the servers of which something was accepted, by their names in lower case.
type Pins map[string]*Server

// errTool means that something is not the definition of a tool.
var errTool = errors.New("pins: it is not the definition of a tool")

var (
	serverName = lazy.Regexp(`^[a-z0-9][a-z0-9_-]{0,39}$`)
	toolName   = lazy.Regexp(`^[A-Za-z0-9_.-]{1,128}$`)
)

// ServerName returns the name of a server as pins and policies have it. Clients join the
// names of server and tool with two underscores, so no server has them.
func ServerName(name string) (lower string, ok bool) {
	lower = address.Fold(name)
	return lower, serverName().MatchString(lower) && !strings.Contains(lower, "__")
}

// ToolName reports whether a tool of a server may have this name.
func ToolName(name string) bool { return toolName().MatchString(name) }

// Read reads a definition as a server gives it.
func Read(v record.Value) (t Tool, err error) {
	if err := v.Each(func(name string, v record.Value) (err error) {
		if name == "name" {
			t.Name, err = v.String()
		}
		return err
	}); err != nil || !ToolName(t.Name) {
		return t, errTool
	}
	t.Definition = canonical(v)
	sum := sha256.Sum256([]byte(t.Definition))
	t.SHA256 = hex.EncodeToString(sum[:])
	return t, nil
}

// Changed says what of a definition was not accepted, or nothing.
func (s *Server) Changed(t Tool) string {
	if s.Err != nil {
		return fmt.Sprintf("nobody knows what was accepted of the server %s: its file can not be read", s.Name)
	}
	switch old, ok := s.Find(t.Name); {
	case !ok:
		return fmt.Sprintf("the server %s has a new tool %s", s.Name, t.Name)
	case old.SHA256 != t.SHA256:
		return fmt.Sprintf("the server %s has changed the %s of the tool %s", s.Name, strings.Join(Differ(old, t), ", "), t.Name)
	}
	return ""
}

// canonical returns a valid value without blanks, the members of its objects sorted, numbers
// as they were written, and each string in one spelling.
func canonical(v record.Value) record.Value {
	var value any
	d := json.NewDecoder(strings.NewReader(string(v)))
	d.UseNumber()
	err := d.Decode(&value)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err == nil {
		err = e.Encode(value)
	}
	if err != nil {
		return v
	}
	return record.Value(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
