package lib_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestOtherSystems: on a system that is not Linux, a build says so in one line.
func TestOtherSystems(t *testing.T) {
	targets := []string{"../cmd/pulse-classify", "../cmd/pulse-authorize"}
	if testing.Short() {
		targets = []string{"./shared/linux"} // which imports nothing
	}
	for _, system := range []string{"darwin", "freebsd"} {
		cmd := exec.Command("go", append([]string{"build", "-o", os.DevNull}, targets...)...)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err == nil || len(lines) != 2 || !strings.Contains(lines[1], "undefined: pulse_needs_Linux_") {
			t.Errorf("%s: %v, %s", system, err, out)
		}
	}
}
