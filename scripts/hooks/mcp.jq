# Any MCP server: what its tools do is for the policy to say, in [tools.action].
include "agent";
def table: {};
def name: if (.server | type) == "string" and .server != "" then tool(.server; .tool_name) else error("no server") end;
