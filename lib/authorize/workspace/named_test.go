package workspace

import (
	"os"
	"strings"
	"testing"

	"pulse/lib/shared/policy"
)

func TestNamed(t *testing.T) {
	if got := Named(nil); got != nil {
		t.Errorf("%q", got)
	}
	if got := Named(policy.Default()); got != nil {
		t.Errorf("%q", got)
	}
	p := policy.Default()
	p.Exec.Workspace, p.Exec.Allow = "/srv/agent", []policy.Program{{Path: "/opt/report"}}
	if got := strings.Join(Named(p), " "); !strings.HasPrefix(got, "/srv/agent /opt/report /bin ") {
		t.Errorf("%q", got)
	}
}

// A program that an agent can replace, or can lead elsewhere, lies in the workspace.
func TestHolds(t *testing.T) {
	dir, at := place(t)
	must(t, os.Symlink("/usr/bin/true", at("in/to-true")))
	must(t, os.Symlink(at("in/file"), at("out-link")))
	must(t, os.Symlink(dir, at("alias")))
	for program, want := range map[string]bool{
		at("in/file"): true, at("in/to-true"): true, at("out-link"): true, at("alias/file"): true, dir: true, at("in/none"): true,
		at("in-not"): false, "/usr/bin/true": false, at("in/../out"): false,
	} {
		if holds(dir, program) != want || holds(at("alias"), program) != want {
			t.Errorf("%s: %v", program, !want)
		}
	}
	if holds("", "/usr/bin/true") {
		t.Error("there is none")
	}
}

// What an interpreter is told to run counts as the program does; the directory that a server is to
// serve does not, unless it can be run.
func TestReplaceable(t *testing.T) {
	dir, at := place(t)
	must(t, os.Mkdir(at("in/[app]"), 0o755))
	must(t, os.WriteFile(at("in/[app]/index.js"), nil, 0o644))
	must(t, os.Mkdir(at("in/notes"), 0o755))
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{at("in/file")}, at("in/file")},
		{[]string{"/usr/bin/node", at("in/file")}, at("in/file")},
		{[]string{"/usr/bin/node", "--no-warnings", "../in/file"}, "../in/file"},
		{[]string{"/usr/bin/node", "file"}, ""},
		{[]string{"/usr/bin/node", "--require=" + at("in/file"), "/opt/server.js"}, "--require=" + at("in/file")},
		{[]string{"/usr/bin/node", at("in/later.js")}, at("in/later.js")},
		{[]string{"/usr/bin/node", at("in/[app]")}, at("in/[app]")},
		{[]string{"/opt/filesystem", at("in/notes"), "--root=" + at("in/notes"), "--watch"}, ""},
		{[]string{"/bin/sh", "-c", "exec " + at("in/file") + " x"}, "exec " + at("in/file") + " x"},
		{[]string{"/usr/bin/env", "NODE_OPTIONS=-r" + at("in/file"), "node"}, "NODE_OPTIONS=-r" + at("in/file")},
		{[]string{"/usr/bin/node", "-r" + at("in/file")}, "-r" + at("in/file")},
		{[]string{"/bin/sh", "-c", "cd " + at("in") + " && ./x"}, "cd " + at("in") + " && ./x"},
		{[]string{"/bin/sh", "-c", strings.Replace(at("in/file"), "/in/", "//./in//", 1)}, strings.Replace(at("in/file"), "/in/", "//./in//", 1)},
		{[]string{"/usr/bin/env", "PYTHONPATH=" + at("in"), "python3", "-m", "s"}, "PYTHONPATH=" + at("in")},
		{[]string{"/usr/bin/perl", "-I" + at("in"), "/opt/s.pl"}, "-I" + at("in")},
		{[]string{"/usr/bin/uv", "--directory", at("in/notes"), "run", "s.py"}, at("in/notes")},
		{[]string{"/usr/bin/uv", "--directory=" + at("in/notes"), "run", "s.py"}, "--directory=" + at("in/notes")},
		{[]string{"/bin/sh", "-c", "exec " + at("in-not") + "/x " + at("in-not")}, ""},
		{[]string{"/usr/bin/node", at("out")}, ""},
		{nil, ""},
	} {
		if got := Replaceable(at("in"), at("in2"), c.command); got != c.want {
			t.Errorf("%q: %q, want %q", c.command, got, c.want)
		}
	}
	if got := Replaceable("", "/", []string{dir}); got != "" {
		t.Error(got)
	}
}
