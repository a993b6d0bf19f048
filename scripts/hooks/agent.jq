# What the tables of the agents share. A table has, for each tool of the agent, ours, its action
# and its args; the input is the call.
#
# A path is made absolute, because the agent may be in a directory other than the workspace; a
# pattern that leaves its directory counts as a path, and one that may do so by braces,
# brackets or backslashes as one that leads out. Agents trim a path or expand ~ in it, so an
# odd path leads out as well: what is opened is not what is written there.
# A shell runs whatever its argument says, so no [[exec.allow]] lists it.
def odd: test("^[~\\s\\p{Z}]|[\\s\\p{Z}]$|[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]");
def path($cwd): if type != "string" then null elif odd then "../" + . elif startswith("/") then . else $cwd + "/" + . end;
def braces: if test("[{][^{}]*[}]") | not then . else
  capture("(?<before>.*)[{](?<one>[^{}]*)[}](?<after>.*)") as $b | $b.before + ($b.one | split(",")[], "") + $b.after | braces end;
def strange: odd or test("[{}]|[.]\\[|\\[[^]]*[.]|[(][^)]*[.]|\\\\|\\s[/~]");
def away: if . == null then [] elif type != "string" then [null] else [limit(1001; braces)] as $all |
  if length > 1000 or odd or test("[{,][/~]") or ($all | length > 1000 or any(.[]; strange)) then ["../" + .]
  else $all | map(select(test("^/|(^|/)[.][.](/|$)"))) end end;
def given: with_entries(select(.value != null));
def shell($command; $dir): ["exec", "code_or_computer", {argv: ["/bin/sh", "-c", $command], dir: $dir}];

# A tool of an MCP server is SERVER.TOOL, in the characters that the name of a tool may have, and
# never one of pulse's own, whatever the server is called.
def tool($server; $name): ($server + "." + $name) | ascii_downcase | gsub("[^a-z0-9._:/-]"; "-") |
  if test("^(calendar|draft|exec|fs|mail|task|web)[.]") then "mcp." + . else . end;
def named: if test("^mcp__.+?__.") then capture("^mcp__(?<server>.+?)__(?<tool>.+)$"; "s") | tool(.server; .tool) else ascii_downcase end;
