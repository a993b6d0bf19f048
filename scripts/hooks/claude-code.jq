# Claude Code 2.1.
include "agent";
def table: (.tool_input // {}) as $in | (.cwd // "") as $cwd | {
  Read:         ["fs.read",    "read_private", {path: ($in.file_path | path($cwd))}],
  Glob:         ["fs.list",    "read_private", {path: ([$in.path // "." | path($cwd)] + ($in.pattern | away))}],
  LS:           ["fs.list",    "read_private", {path: ($in.path | path($cwd))}],
  Grep:         ["fs.search",  "read_private", {path: ([$in.path // "." | path($cwd)] + ($in.glob | away))}],
  Write:        ["fs.write",   "write_local",  {path: ($in.file_path | path($cwd))} + ({text: $in.content} | given)],
  Edit:         ["fs.write",   "write_local",  {path: ($in.file_path | path($cwd))} + ({old: $in.old_string, new: $in.new_string, all: $in.replace_all} | given)],
  MultiEdit:    ["fs.write",   "write_local",  {path: ($in.file_path | path($cwd))} + ({edits: $in.edits} | given)],
  NotebookEdit: ["fs.write",   "write_local",  {path: ($in.notebook_path | path($cwd))} + ({cell: $in.cell_id, new: $in.new_source, edit: $in.edit_mode} | given)],
  WebFetch:     ["web.fetch",  "read_public",  {url: $in.url} + ({prompt: $in.prompt} | given)],
  WebSearch:    ["web.search", "read_public",  {query: $in.query} + ($in | {allowed_domains, blocked_domains} | given)],
  Bash:         shell($in.command; $cwd)
};
def name: .tool_name | named;
