package tools

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
	"pulse/lib/shared/record"
	"pulse/lib/shared/request"
	"pulse/lib/shared/terms"
)

// world is a fake machine: paths below ok are inside, programs have the sum "1".
type world struct {
	program Program
	err     error
	asked   []string

	real, repository string // where every path leads; empty: it is no link, and there is none
}

var errOutside = errors.New("outside")

func (w *world) Path(workspace, name string) (Place, error) {
	w.asked = append(w.asked, name)
	if workspace != "/ws" || !strings.HasPrefix(name, "ok") {
		return Place{}, errOutside
	}
	return Place{Given: name, Real: cmp.Or(w.real, name), Repository: w.repository}, nil
}

func (w *world) Dir(workspace, name string) error {
	if name == workspace {
		return w.err
	}
	_, err := w.Path(workspace, name)
	return err
}

func (w *world) Program(string) (Program, error) { return w.program, w.err }

var sum = strings.Repeat("1", 64)

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("p", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wish(t testing.TB, action terms.Action, tool, args string) *request.Request {
	t.Helper()
	if args == "" {
		args = "{}"
	}
	rec, err := record.Parse([]byte(fmt.Sprintf(`{"request":{"action":%q,"tool":%q,"args":%s}}`, action, tool, args)), request.Member)
	if err != nil {
		t.Fatal(err)
	}
	v, err := rec.Get(request.Member)
	if err != nil {
		t.Fatal(err)
	}
	r, err := request.Decode(v)
	if err != nil {
		t.Fatal(err)
	}
	return &r
}

// Deny beats allow, allow adds to the profile, and the tools that pulse-queue carries
// out itself are there unless they are denied.
func TestVisible(t *testing.T) {
	for _, c := range []struct{ policy, seen, unseen string }{
		{`profile = "minimal"`, "fs.read fs.list task.close task.note draft", "fs.write web.fetch exec mail.send draft.x drafts"},
		{`profile = "standard"`, "fs.read fs.write web.fetch mail.send", "fs.delete exec shell"},
		{`profile = "coding"`, "fs.read fs.delete", "exec shell"}, // exec.mode is deny
		{"profile = \"coding\"\n[exec]\nmode = \"full\"", "exec", "shell"},
		{`profile = "full"`, "shell fs.delete a/b:c_d-9", "exec Fs.Read \u212a a*b " + strings.Repeat("x", 101)},
		{"profile = \"minimal\"\nallow = [\"web.*\"]", "web.fetch web.x fs.read", "webx fs.write"},
		{"profile = \"full\"\ndeny = [\"fs.*\", \"task.close\"]\nallow = [\"fs.read\"]", "web.fetch task.note", "fs.read fs.x task.close FS.read"},
		{`deny = ["*"]`, "", "task.note draft fs.read"},
	} {
		p := parse(t, "[tools]\n"+c.policy)
		for _, name := range strings.Fields(c.seen) {
			if ok, rule := Visible(p, name); !ok {
				t.Errorf("%s: %s is not visible (%s)", c.policy, name, rule)
			}
		}
		for _, name := range append(strings.Fields(c.unseen), "", " ", "fs.read ", "fs.\nread") {
			if ok, rule := Visible(p, name); ok {
				t.Errorf("%s: %q is visible (%s)", c.policy, name, rule)
			}
			if v := Judge(p, wish(t, terms.WriteLocal, name, `{"path":"ok"}`), Asker{Trust: terms.System}, &world{}); name != "" && !v.rejects() {
				t.Errorf("%s: %q: %+v", c.policy, name, v)
			}
		}
	}
}

// Each profile includes the tools of the one before it.
func TestProfilesGrow(t *testing.T) {
	for i := 1; i < len(Profiles); i++ {
		for _, tool := range Profiles[i-1].Tools {
			if _, ok := match(Profiles[i].Tools, tool); !ok {
				t.Errorf("%s lacks %s", Profiles[i].Name, tool)
			}
		}
	}
}

func TestLevels(t *testing.T) {
	p := parse(t, "[tools.level]\n\"fs.*\" = \"owner_only\"\n\"fs.write\" = \"approval_required\"\n\"mail.*\" = \"open\"\n\"mail.draft\" = \"approval_required\"\n[exec]\nworkspace = \"/ws\"")
	for _, c := range []struct {
		tool  string
		trust terms.Trust
		want  Reason
	}{
		{"web.fetch", terms.ExternalVerified, ""}, {"mail.read", terms.ExternalVerified, ""},
		{"mail.draft", terms.System, NeedsPerson}, {"fs.read", terms.ExternalVerified, notOwner}, {"fs.read", terms.OwnerClaim, notOwner},
		{"fs.read", terms.Unknown, notOwner}, {"fs.read", "root", notOwner}, {"fs.read", terms.OwnerVerifiedEmail, ""},
		{"fs.read", terms.ApprovedSession, ""}, {"fs.read", terms.System, ""},
		{"fs.write", terms.ExternalVerified, notOwner}, {"fs.write", terms.System, NeedsPerson}, // every glob counts
	} {
		v := Judge(p, wish(t, terms.WriteLocal, c.tool, `{"path":"ok"}`), Asker{Trust: c.trust}, &world{})
		if v.Reason != c.want || (c.want == "") != (v.Outcome == terms.Allow) || c.want == NeedsPerson && v.Outcome != terms.Confirm {
			t.Errorf("%s by %s: %+v", c.tool, c.trust, v)
		}
	}
}

func TestBuiltin(t *testing.T) {
	p := parse(t, "[tools]\nprofile = \"minimal\"")
	for _, c := range []struct {
		tool   string
		action terms.Action
		want   Reason
	}{
		{"task.close", terms.WriteLocal, ""}, {"task.note", terms.WriteLocal, ""}, {"draft", terms.WriteLocal, ""},
		{"task.close", terms.Destructive, notAllowed}, {"draft", terms.ExternalSend, notAllowed}, {"task.close", terms.ReadPublic, notAllowed},
	} {
		if v := Judge(p, wish(t, c.action, c.tool, ""), Asker{Trust: terms.ExternalVerified}, nil); v.Reason != c.want {
			t.Errorf("%s %s: %+v", c.tool, c.action, v)
		}
	}
}

func TestPaths(t *testing.T) {
	rules := "[tools]\nprofile = \"full\"\n[tools.paths]\n\"fs.move\" = [\"from\", \"to\"]\n\"fs.mo*\" = [\"log\"]\n\"mcp.*\" = [\"file\"]\n[exec]\nworkspace = \"/ws\""
	for _, c := range []struct {
		tool, args string
		want       Reason
		asked      string
	}{
		{"fs.read", `{"path":"ok/a"}`, "", "ok/a"}, {"fs.read", `{"path":["ok/a","ok/b"]}`, "", "ok/a ok/b"},
		{"fs.read", `{"path":"../x"}`, pathRefused, "../x"}, {"fs.read", `{"path":["ok","x"]}`, pathRefused, "ok x"},
		{"fs.read", `{"p\u0061th":"x"}`, pathRefused, "x"}, {"fs.read", `{"file":"ok"}`, badArguments, ""}, {"fs.read", `{}`, badArguments, ""},
		{"fs.read", `["ok"]`, badArguments, ""}, {"fs.read", `"ok"`, badArguments, ""}, {"fs.read", `{"path":7}`, badArguments, ""},
		{"fs.read", `{"path":null}`, badArguments, ""}, {"fs.read", `{"path":{"a":"ok"}}`, badArguments, ""}, {"fs.read", `{"path":[]}`, badArguments, ""},
		{"fs.read", `{"path":[["ok"]]}`, badArguments, ""}, {"fs.read", `{"path":"ok","other":"/etc/passwd"}`, "", "ok"},
		{"fs.move", `{"from":"ok/a","to":"ok/b"}`, "", "ok/a ok/b"}, {"fs.move", `{"from":"ok/a","to":"x"}`, pathRefused, "ok/a x"},
		{"fs.move", `{"from":"ok/a","log":"x"}`, pathRefused, "ok/a x"}, {"fs.move", `{"path":"ok"}`, badArguments, ""},
		{"mcp.read", `{"file":"x"}`, pathRefused, "x"}, {"web.fetch", `{"path":"/etc/passwd"}`, "", ""},
	} {
		w := &world{}
		v := Judge(parse(t, rules), wish(t, terms.CodeOrComputer, c.tool, c.args), Asker{Trust: terms.System}, w)
		if v.Reason != c.want || strings.Join(w.asked, " ") != c.asked {
			t.Errorf("%s %s: %+v, asked %q", c.tool, c.args, v, w.asked)
		}
		if v := Judge(parse(t, rules), wish(t, terms.CodeOrComputer, c.tool, c.args), Asker{Trust: terms.System}, nil); c.asked != "" && v.Reason != pathRefused {
			t.Errorf("blind: %s %s: %+v", c.tool, c.args, v)
		}
	}
	if v := Judge(policy.Default(), wish(t, terms.WriteLocal, "fs.read", `{"path":"ok"}`), Asker{Trust: terms.System}, &world{}); v.Reason != noWorkspace {
		t.Errorf("%+v", v)
	}
}

var allowlist = `
[tools]
profile = "coding"
[exec]
mode = "allowlist"
workspace = "/ws"
[[exec.allow]]
program = "/opt/report"
sha256  = "` + sum + `"
args    = ["--for", "*", "reports/*.txt"]
[[exec.allow]]
program = "/opt/report"
sha256  = "` + sum + `"
dir     = "/srv/reports"
`

func TestExec(t *testing.T) {
	good := &world{program: Program{SHA256: sum}}
	const call = `{"argv":["/opt/report","--for","bob","reports/a.txt"],"dir":"ok"}`
	full := "[tools]\nprofile = \"coding\"\n[exec]\nmode = \"full\""
	for _, c := range []struct {
		policy string
		action terms.Action
		tool   string
		args   string
		world  World
		want   Reason
	}{
		{allowlist, terms.CodeOrComputer, execTool, call, good, ""},
		{allowlist, terms.CodeOrComputer, "", call, good, ""},
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":["/opt/report"],"dir":"/srv/reports"}`, good, ""},
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":["/opt/report"],"dir":"/srv/reports/"}`, good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":["/opt/report"],"dir":"ok"}`, good, execNotListed},
		{allowlist, terms.ReadPublic, execTool, call, good, badArguments},
		{allowlist, terms.WriteLocal, execTool, call, good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `"ok"`, `"x"`, 1), good, pathRefused},
		{allowlist, terms.CodeOrComputer, execTool, call, nil, pathRefused},
		{allowlist, terms.CodeOrComputer, execTool, call, &world{program: Program{SHA256: strings.Repeat("2", 64)}}, programRefused},
		{allowlist, terms.CodeOrComputer, execTool, call, &world{program: Program{SHA256: sum, Interpreter: "sh"}}, programRefused},
		{allowlist, terms.CodeOrComputer, execTool, call, &world{err: errOutside}, programRefused},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, "/opt/report", "report", 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, "/opt/report", "/opt/./report", 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `"--for","bob"`, `"--for bob"`, 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `"bob"`, `"--exec=x"`, 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `reports/a.txt`, `reports/../a.txt`, 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `a.txt"`, `a.txt","more"`, 1), good, execNotListed},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `,"dir":"ok"`, ``, 1), good, ""}, // in the workspace
		{full, terms.CodeOrComputer, execTool, `{"argv":["/bin/ls"]}`, nil, badArguments},                  // there is none
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":["/opt/report"],"dir":""}`, good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `"dir"`, `"env":{"LD_PRELOAD":"x"},"dir"`, 1), good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, strings.Replace(call, `bob`, `b\u0000ob`, 1), good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":"/opt/report","dir":"ok"}`, good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, `{"argv":[],"dir":"ok"}`, good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, `{}`, good, badArguments},
		{allowlist, terms.CodeOrComputer, execTool, `[]`, good, badArguments},
		{allowlist, terms.CodeOrComputer, "", `{"text":"press the button"}`, good, ""}, // there is no program to start, so a person is asked
		{allowlist, terms.CodeOrComputer, "shell", call, good, notAllowed},
		{"[tools]\nprofile = \"full\"", terms.CodeOrComputer, execTool, call, good, execDenied},
		{"", terms.CodeOrComputer, "", call, good, execDenied},
		{"[tools]\nallow = [\"exec\"]", terms.CodeOrComputer, execTool, call, good, execDenied},
		{"[exec]\nmode = \"full\"", terms.CodeOrComputer, execTool, call, good, notAllowed}, // not in the profile standard
		{full, terms.CodeOrComputer, execTool, `{"argv":["/bin/sh","-c","x"],"dir":"/"}`, nil, ""},
		{full, terms.CodeOrComputer, execTool, `{"argv":["/bin/sh","-c","x"],"dir":"/","env":{}}`, nil, badArguments},
		{full, terms.ExternalSend, execTool, call, nil, badArguments},
	} {
		v := Judge(parse(t, c.policy), wish(t, c.action, c.tool, c.args), Asker{Trust: terms.System}, c.world)
		if v.Reason != c.want || (c.want == "") != (v.Outcome == terms.Allow) || c.want != "" && (v.Rule == "" || v.Why == "") {
			t.Errorf("%s %q %s: %+v, want %q", c.action, c.tool, c.args, v, c.want)
		}
	}
	if v := Judge(policy.Default(), nil, Asker{Trust: terms.System}, nil); v.Outcome != terms.Allow {
		t.Errorf("no request: %+v", v)
	}
}

func TestMatchArg(t *testing.T) {
	for _, c := range []struct {
		glob, arg string
		want      bool
	}{
		{"*", "x", true}, {"*", "", true}, {"*", "a b;c\n$(d)", true}, {"*", "-x", false}, {"*", "--", false}, {"*", "+x", false}, {"*", "@file", false},
		{"-*", "-x", true}, {"-*", "x", false}, {"-n*", "-n5", true}, {"-n*", "-o5", false}, {"--", "--", true}, {"--*", "-x", false}, {"@*", "@x", true}, {"+*", "-x", false},
		{"*x", "-x", false}, {"**", "-x", false}, {"", "", true}, {"", "x", false}, {"a", "a", true}, {"a", "A", false}, {"a*", "abc", true},
		{"*", "a/b", false}, {"*/*", "a/b", true}, {"*/*", "a/b/c", false}, {"a/*", "a/", true}, {"a/*", "a/..", false}, {"a/*", "a/../b", false},
		{"*", "..", false}, {"..", "..", true}, {"../a", "../a", true}, {"../*", "../a", false}, {"--out=*", "--out=x", true}, {"--out=*", "--out=..", false},
		{"--out=*", "--out=/etc/passwd", false}, {"*", "a..b", true}, {"*:*", "x:..", false}, {"reports/*.txt", "reports/a.txt", true}, {"/a/*", "/a/b", true}, {"*a", "/a", false},
	} {
		if got := matchArg(c.glob, c.arg); got != c.want {
			t.Errorf("matchArg(%q, %q) = %v", c.glob, c.arg, got)
		}
	}
}

// FuzzMatchArg: a glob matches what the regular expression it looks like matches, minus
// what the rules about the first byte, slashes and .. refuse. Without a star it matches
// only itself.
func FuzzMatchArg(f *testing.F) {
	for _, s := range [][2]string{{"*", "-x"}, {"a*b/c*", "aab/c"}, {"*..*", "x..y"}, {"-*", "--exec=/bin/sh"}, {"", ""}, {"***", "@"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, glob, arg string) {
		got := matchArg(glob, arg)
		if !strings.Contains(glob, "*") {
			if got != (glob == arg) {
				t.Fatalf("%q %q: %v", glob, arg, got)
			}
			return
		}
		parts := strings.Split(glob, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		re, err := regexp.Compile(`(?s)\A` + strings.Join(parts, "[^/]*") + `\z`)
		if err == nil && got && !re.MatchString(arg) && validUTF8(glob, arg) {
			t.Fatalf("%q matches %q", glob, arg)
		}
		if got && arg != "" && strings.ContainsAny(arg[:1], "-+@") && glob[0] != arg[0] {
			t.Fatalf("%q matches %q, which may be an option", glob, arg)
		}
		if got && slices.Contains(strings.Split(arg, "/"), "..") {
			t.Fatalf("%q matches %q, which goes up", glob, arg)
		}
	})
}

func validUTF8(list ...string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return strings.ToValidUTF8(s, "?") != s })
}

// FuzzJudge: no arguments can start a program that is not listed, or touch a path that
// was not looked at.
func FuzzJudge(f *testing.F) {
	f.Add("exec", "code_or_computer", `{"argv":["/opt/report","--for","x","reports/y.txt"],"dir":"ok"}`)
	f.Add("exec", "code_or_computer", `{"argv":["/bin/sh"],"dir":"ok"}`)
	f.Add("fs.read", "read_private", `{"path":["ok","x"]}`)
	f.Add("", "code_or_computer", `{"\u0061rgv":[]}`)
	p := parse(f, allowlist)
	f.Fuzz(func(t *testing.T, tool, action, args string) {
		rec, err := record.Parse([]byte(fmt.Sprintf(`{"request":{"args":%s}}`, args)), request.Member)
		if err != nil {
			return
		}
		v, err := rec.Get(request.Member)
		if err != nil {
			return
		}
		r, err := request.Decode(v)
		if err != nil {
			return
		}
		r.Action, r.Tool = terms.Action(action), tool
		w := &world{program: Program{SHA256: sum}}
		got := Judge(p, &r, Asker{Trust: terms.ExternalVerified}, w)
		if got.rejects() {
			return
		}
		if c, err := decodeCall(p, r.Args); tool == execTool && (err != nil || c.argv[0] != "/opt/report" || r.Action != terms.CodeOrComputer) {
			t.Fatalf("%s: %+v", args, got)
		}
		if strings.HasPrefix(tool, "fs.") && (len(w.asked) == 0 || slices.ContainsFunc(w.asked, func(s string) bool { return !strings.HasPrefix(s, "ok") })) {
			t.Fatalf("%s %s: %+v, asked %q", tool, args, got, w.asked)
		}
	})
}
