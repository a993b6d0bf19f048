package hook

import (
	"fmt"
	"strings"

	"pulse/lib/authorize/tools"
	"pulse/lib/shared/address"
	"pulse/lib/shared/policy"
)

// own are the beginnings of names that no server has: pulse's own tools, and what stands
// before the names of others.
var own = []string{"agent", "calendar", "draft", "exec", "fs", "mail", "mcp", "task", "web"}

// Tool returns the name by which a policy calls a tool of an MCP server: SERVER.TOOL. The
// server is in lower case, because a person has named it. No two tools of a server have one
// name: an upper-case letter of theirs is a colon and the letter in lower case, and a
// character that no name of a policy has is its number in hexadecimal between two colons.
func Tool(server, tool string) string {
	server = strings.ReplaceAll(spelt(address.Fold(server)), ".", ":2e:")
	name := server + "." + spelt(tool)
	for _, o := range own {
		if server == o {
			return "mcp." + name
		}
	}
	return name
}

// spelt returns a name in the characters that tools have in a policy.
func spelt(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0:
			b.WriteByte(c)
		case 'A' <= c && c <= 'Z':
			b.WriteByte(':')
			b.WriteByte(c + 'a' - 'A')
		default:
			fmt.Fprintf(&b, ":%x:", c)
		}
	}
	return b.String()
}

// tool returns the name of a tool that stands in no table: one of an MCP server, or one of
// the client's own. If that name is one of pulse's, or could be a server's, it is agent.NAME.
func (u *Use) tool() string {
	if server, tool, ok := u.OfServer(); ok {
		return Tool(server, tool)
	}
	name := spelt(address.Fold(u.Name))
	if strings.Contains(name, ".") || tools.BuiltIn(name) || !policy.ToolName(name) {
		return "agent." + name
	}
	return name
}

// OfServer returns the MCP server whose tool is used, and the name of the tool: the server's
// own, or what the client has made of it.
func (u *Use) OfServer() (server, tool string, ok bool) {
	if u.Server != "" {
		return u.Server, u.mcp, true
	}
	return fromServer(u.Name)
}

// fromServer reads the name mcp__SERVER__TOOL, which Claude Code and Codex give the tool of
// a server.
func fromServer(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok || rest == "" {
		return "", "", false
	}
	i := strings.Index(rest[1:], "__") + 1
	if i == 0 || i+2 == len(rest) {
		return "", "", false
	}
	return rest[:i], rest[i+2:], true
}
