package main

import (
	"fmt"
	"testing"
)

// TestDigestTakesTheFlagsOfHealth: HEALTH_FLAGS of a gate may be given to both.
func TestDigestTakesTheFlagsOfHealth(t *testing.T) {
	flags := map[string]map[string]string{}
	for _, c := range app().Commands {
		flags[c.Name] = map[string]string{}
		for _, f := range c.Flags {
			flags[c.Name][f.Names()[0]] = fmt.Sprintf("%T", f)
		}
	}
	for name, kind := range flags["health"] {
		if name != "all" && name != "json" && flags["digest"][name] != kind {
			t.Errorf("--%s of health is %q, and of digest %q", name, kind, flags["digest"][name])
		}
	}
	if len(flags["health"]) < 6 {
		t.Error(flags)
	}
}
