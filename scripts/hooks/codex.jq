# Codex CLI 0.169. It calls its shell Bash, whatever the model calls it, and asks about the
# tools that code mode calls one by one. It does not ask about write_stdin, which goes
# to a shell that it has asked about, nor about the web search of the provider.
include "agent";

# The paths of a patch. What is read as a line that names a file, and does not look exactly
# like one, leads out.
def patched: if type != "string" then [null] else [split("\n")[] |
  if test("^\\*\\*\\* (Begin Patch|End Patch|End of File)\r?$") then empty
  elif test("^\\*\\*\\* (Add File|Update File|Delete File|Move to): ") then sub("^[^:]*: "; "")
  elif test("^[\\s\\p{Z}\\p{C}]*\\*\\*\\*") then "../"
  else empty end] end;
def table: (.tool_input // {}) as $in | (.cwd // "") as $cwd | {
  apply_patch: ["fs.write", (if $in.command | type == "string" and test("(^|\n)\\*\\*\\* Delete File: ") then "destructive" else "write_local" end),
                {path: ($in.command | patched | map(path($cwd))), patch: $in.command}],
  view_image:  ["fs.read", "read_private", {path: ($in.path | path($cwd))}],
  Bash:        shell($in.command; $cwd)
};
def name: .tool_name | named;
