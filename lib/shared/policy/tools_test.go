package policy

import (
	"fmt"
	"strings"
	"testing"
)

var sum = strings.Repeat("0123456789abcdef", 4)

// entry is a policy with one [[exec.allow]].
func entry(program, rest string) string {
	return fmt.Sprintf("[exec]\nworkspace = \"/srv/agent\"\n[[exec.allow]]\nprogram = %q\nsha256 = %q\n%s\n", program, sum, rest)
}

func TestPrograms(t *testing.T) {
	p, err := Parse("p", []byte(entry("/opt/report", "args = [\"-n*\", \"*\"]\ndir = \"/srv\"")))
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Exec.Allow[0]; a.Path != "/opt/report" || a.SHA256 != sum || strings.Join(a.Args, " ") != "-n* *" || a.Dir != "/srv" {
		t.Errorf("%+v", a)
	}
}

func TestProgramsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{entry("report", ""), "program report: want an absolute path"},
		{entry("/opt/../bin/x", ""), "want an absolute path"},
		{entry("/opt/x/", ""), "want an absolute path"},
		{entry("/opt/a\nb", ""), "want an absolute path"},
		{"[exec]\nworkspace = \"/w\"\n[[exec.allow]]\nprogram = \"/opt/x\"\nsha256 = \"" + strings.ToUpper(sum) + "\"", "want 64 hex digits"},
		{"[exec]\nworkspace = \"/w\"\n[[exec.allow]]\nprogram = \"/opt/x\"", "want 64 hex digits"},
		{"[[exec.allow]]\nprogram = \"/opt/x\"\nsha256 = \"" + sum + "\"", "want dir, or exec.workspace"},
		{entry("/opt/x", "dir = \"srv\""), "dir srv: want an absolute path"},
		{entry("/opt/x", "args = [\"**\"]"), "args of /opt/x: **: want a glob"},
		{entry("/opt/x", "args = [\"a\\nb\"]"), "want a glob"},
		{entry("/opt/x", "args = \"a b\""), "p:6: "},
		{entry("/opt/x", "arg = []"), "p:6: exec.allow.arg: unknown key"},
		{entry("/usr/bin/git", ""), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"*\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"-c\", \"x\", \"log\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"-C\", \"x\", \"log\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"--exec-path=/x\", \"log\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"bisect\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"log\", \"-*\"]"), "git would start another program"},
		{entry("/usr/bin/git", "args = [\"log\", \"--*\"]"), "git would start another program"},
		{entry("/usr/bin/git", "args = [\"diff\", \"--ext-diff\"]"), "git would start another program"},
		{entry("/usr/bin/git", "args = [\"diff\", \"--ext-d\"]"), "git would start another program"},
		{entry("/usr/bin/git", "args = [\"ls-remote\", \"x\"]"), "the first has to be a subcommand"},
		{entry("/usr/bin/git", "args = [\"show\", \"--textconv=*\"]"), "git would start another program"},
	} {
		if _, err := Parse("p", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "p:") {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
	for _, ok := range []string{`args = ["log", "--oneline", "--", "*"]`, `args = ["status", "--short"]`, `args = ["diff", "--stat=*"]`} {
		if _, err := Parse("p", []byte(entry("/usr/bin/git", ok))); err != nil {
			t.Error(err)
		}
	}
}

// A program that runs other programs is refused by name, with any version after it.
func TestInterpreters(t *testing.T) {
	for _, name := range strings.Fields(`sh bash dash zsh BASH bash-static env xargs nice timeout sudo doas su ssh find awk mawk perl perl5.36.0
		python python3 python3.11 ruby3.1 node node22 nodejs lua5.4 tclsh8.6 tar rsync vim vim.basic less man make docker systemd-run gdb strace
		ld-linux-x86-64.so.2 ld-musl-x86_64.so.1 ld.so busybox toybox setsid nohup stdbuf script expect php8.2 sed ed gcc-12 7z i386 x86_64 sqlite3
		perl5.36-x86_64-linux-gnu x86_64-linux-gnu-gcc-12 python3.11-dbg sdiff lli-14`) {
		if !Interpreter(name) {
			t.Errorf("%s is not known", name)
		}
		if _, err := Parse("p", []byte(entry("/usr/bin/"+name, ""))); err == nil || !strings.Contains(err.Error(), "an interpreter or wrapper") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range strings.Fields("ls cat cp date report git shred showme enveloper pythonic sha256sum b2sum v4l2-ctl x86_64-linux-gnu-readelf") {
		if Interpreter(name) {
			t.Errorf("%s counts as an interpreter", name)
		}
	}
}

func TestToolName(t *testing.T) {
	for s, want := range map[string]bool{
		"exec": true, "fs.read": true, "mcp__a__b-c": true, "a/b:c": true, strings.Repeat("a", 100): true,
		"": false, "Exec": false, "fs.*": false, "fs read": false, "fs.read\n": false, "\u0131": false, strings.Repeat("a", 101): false,
	} {
		if ToolName(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// TestWrite: what exec.write has is a clean path in the workspace.
func TestWrite(t *testing.T) {
	for _, glob := range []string{".github/workflows/*", "*", "*.gitignore", "docs/**", "..x", "a b", "*/.env.*"} {
		p, err := Parse("p", fmt.Appendf(nil, "[exec]\nwrite = [\"x\", %q]", glob))
		if err != nil || len(p.Exec.Write) != 2 || p.Exec.Write[1] != glob {
			t.Errorf("%s: %v", glob, err)
		}
	}
	for _, glob := range []string{"", ".", "..", "/etc/*", "/", "../x", "a/../b", "a/..", "./a", "a/", "a//b", "docs/*/", "a\u0000b", "a\nb"} {
		text := strings.ReplaceAll(fmt.Sprintf("[exec]\nwrite = [\n\"x\",\n%q]", glob), `\x`, `\u00`)
		_, err := Parse("p", []byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "p:4: exec.write: ") {
			t.Errorf("%q: %v", glob, err)
		}
	}
}
