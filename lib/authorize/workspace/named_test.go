package workspace

import (
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
