# Gemini CLI 0.61.
include "agent";
def table: (.tool_input // {}) as $in | (.cwd // "") as $cwd | {
  read_file:         ["fs.read",    "read_private", {path: ($in.file_path | path($cwd))}],
  list_directory:    ["fs.list",    "read_private", {path: ($in.dir_path | path($cwd))}],
  glob:              ["fs.list",    "read_private", {path: ([$in.dir_path // "." | path($cwd)] + ($in.pattern | away))}],
  grep_search:       ["fs.search",  "read_private", {path: ([$in.dir_path // "." | path($cwd)] + ($in.include_pattern | away))}],
  write_file:        ["fs.write",   "write_local",  {path: ($in.file_path | path($cwd))} + ({text: $in.content} | given)],
  replace:           ["fs.write",   "write_local",  {path: ($in.file_path | path($cwd))} + ({old: $in.old_string, new: $in.new_string, all: $in.allow_multiple} | given)],
  web_fetch:         ["web.fetch",  "read_public",  ({prompt: $in.prompt, url: $in.url} | given)],
  google_web_search: ["web.search", "read_public",  {query: $in.query}],
  run_shell_command: shell($in.command; $in.dir_path // "." | path($cwd))
};
def name: if .mcp_context | type == "object" and (.server_name | type) == "string" and (.tool_name | type) == "string"
  then .mcp_context | tool(.server_name; .tool_name) else .tool_name | ascii_downcase end;
