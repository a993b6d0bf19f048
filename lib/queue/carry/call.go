package carry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pulse/lib/authorize/hook"
	"pulse/lib/authorize/mcp"
	"pulse/lib/authorize/pins"
	"pulse/lib/authorize/workspace"
)

// How long a server may take for the call, and then to end. The timeout of run ends both.
const (
	callTime = 30 * time.Minute
	grace    = 5 * time.Second
)

// call calls a tool of an MCP server, once, if its definition is the one that was accepted.
func (c *Carrier) call(ctx context.Context, server *pins.Server, tool string, e *effect) ([]byte, error) {
	replaceable := workspace.Replaceable(c.Policy.Exec.Workspace, "/", server.Command)
	switch {
	case server.Err != nil:
		return nil, later(server.Err)
	case len(server.Command) == 0:
		return nil, later(fmt.Errorf("nobody has accepted how the server %s is started: pulse-authorize hook mcp --pin %s -- SERVER", server.Name, server.Name))
	case replaceable != "":
		return nil, later(fmt.Errorf("%s, which starts the server %s, lies in the workspace, where an agent may replace it", replaceable, server.Name))
	}
	args := e.Args
	if args == "" {
		args = "{}"
	}
	if args[0] != '{' {
		return nil, notDone(errors.New("the arguments of a call are an object"))
	}
	answer, err := mcp.Call(ctx, server, tool, args, grace, callTime)
	switch {
	case errors.Is(err, mcp.ErrChanged), errors.Is(err, mcp.ErrArgs):
		return nil, notDone(err)
	case errors.Is(err, mcp.ErrNotCalled):
		return nil, later(err)
	}
	return answer, err
}

// find returns the pinned server of a tool, and the tool as the server calls it. A client may have
// changed the dots of a name.
func (c *Carrier) find(tool string) (found *pins.Server, name string, err error) {
	known := false
	for _, s := range c.Pins {
		known = known || strings.HasPrefix(tool, hook.Tool(s.Name, ""))
		for _, t := range s.Tools {
			if plain := strings.ReplaceAll(t.Name, ".", "_"); tool != hook.Tool(s.Name, t.Name) && tool != hook.Tool(s.Name, plain) {
				continue
			}
			if found != nil {
				return nil, "", notDone(fmt.Errorf("%s may be either of two tools", tool))
			}
			found, name = s, t.Name
		}
	}
	switch {
	case found == nil && known:
		return nil, "", notDone(fmt.Errorf("nobody has accepted a definition of %s", tool))
	case found == nil:
		return nil, "", ErrOther
	}
	return found, name, nil
}
