package sandbox

import (
	"strings"
	"testing"

	"pulse/lib/shared/fault"
)

// TestRequire: a kernel that can't enforce a profile completely is a temporary error,
// before anything is done.
func TestRequire(t *testing.T) {
	for _, c := range []struct {
		here    Level
		profile Profile
		want    string
	}{
		{Level{}, Pipe(), "this kernel has no seccomp filters"},
		{Level{Landlock: 7}, Pipe(), "this kernel has no seccomp filters"},
		{Level{Seccomp: true}, Pipe(), "this kernel has no Landlock"},
		{Level{Landlock: 2, Seccomp: true}, Queue("/tmp"), "this kernel has Landlock 2, and 3 is needed"},
		{Level{Landlock: 3, Seccomp: true}, Source(53), "this kernel has Landlock 3, and 4 is needed"},
	} {
		got, err := enforce(c.profile, Require, c.here)
		if err == nil || got != (Level{}) || fault.KindOf(err) != fault.Temporary || !strings.Contains(err.Error(), c.want) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v, %v, want %s", c.here, got, err, c.want)
		}
	}
	for _, enough := range []Level{{Landlock: 3, Seccomp: true}, {Landlock: 11, Seccomp: true}} {
		if why := enough.lacks(Queue("/tmp")); why != "" {
			t.Errorf("%s: %s", enough, why)
		}
	}
}

func TestLevels(t *testing.T) {
	for want, l := range map[string]Level{
		"none": {}, "seccomp": {Seccomp: true}, "landlock-7": {Landlock: 7}, "landlock-7+seccomp": {Landlock: 7, Seccomp: true},
	} {
		if l.String() != want {
			t.Errorf("%s, want %s", l, want)
		}
	}
	for _, m := range modes {
		if !m.Valid() {
			t.Errorf("%s is not a mode", m)
		}
	}
	for _, m := range []Mode{"", "AUTO", "on", "none"} {
		if m.Valid() {
			t.Errorf("%q is a mode", m)
		}
	}
}
