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
		if Holds(dir, program) != want || Holds(at("alias"), program) != want {
			t.Errorf("%s: %v", program, !want)
		}
	}
	if Holds("", "/usr/bin/true") {
		t.Error("there is none")
	}
}
