package lib_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOtherSystems: on a system that is not Linux, a build says so in one line. Under CI the commands are built for
// one of the systems: the line is the same for all.
func TestOtherSystems(t *testing.T) {
	commands, imports := []string{"../cmd/pulse-classify", "../cmd/pulse-authorize"}, []string{"./shared/linux"} // which imports nothing
	for i, system := range []string{"darwin", "freebsd"} {
		targets := commands
		if testing.Short() || os.Getenv("CI") != "" && i > 0 {
			targets = imports
		}
		cmd := exec.Command("go", append([]string{"build", "-o", os.DevNull}, targets...)...)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err == nil || len(lines) != 2 || !strings.Contains(lines[1], "undefined: pulse_needs_Linux_") {
			t.Errorf("%s: %v, %s", system, err, out)
		}
	}
}
