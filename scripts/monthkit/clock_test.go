package monthkit

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// nowFrom and nowTo are the change to package time: the file clock beside a command that
// buildSkewed made says by how many seconds its clock is ahead. What pulse is built of has nothing
// like it. The monotonic part stays the kernel's, so that deadlines, timers and what a step takes
// are in real time. The file is read when a process begins, because later a confined one could
// not open it.
const nowFrom = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
const nowTo = `
var skewed = readSkew()

func readSkew() (n int64) {
	var b [4096]byte
	end, _ := syscall.Readlink("/proc/self/exe", b[:])
	for end > 0 && b[end-1] != '/' {
		end--
	}
	fd, err := open(string(b[:max(end, 0)]) + "clock")
	if err != nil {
		return 0
	}
	got, _ := read(fd, b[:])
	closefd(fd)
	for _, c := range b[:max(got, 0)] {
		if '0' <= c && c <= '9' {
			n = 10*n + int64(c-'0')
		}
	}
	if b[0] == '-' {
		n = -n
	}
	return n
}

`

// buildSkewed builds the commands with a clock that the environment sets.
func buildSkewed(t *testing.T, dir string) {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src/time/time.go")
	b, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, part := range []string{nowFrom, "import (\n"} {
		if strings.Count(text, part) != 1 {
			t.Fatalf("package time of this Go has not once: %s", part)
		}
	}
	text = strings.Replace(text, nowFrom, nowTo+nowFrom+"\tsec += skewed\n", 1)
	text = strings.Replace(text, "import (\n", "import (\n\t\"syscall\"\n", 1)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: dir + "/time.go"}})
	if err == nil {
		err = os.WriteFile(dir+"/time.go", []byte(text), 0o644)
	}
	if err == nil {
		err = os.WriteFile(dir+"/overlay.json", overlay, 0o644)
	}
	if err == nil {
		err = cmdlinetest.BuildWith(dir, []string{"-overlay", dir + "/overlay.json"})
	}
	if err != nil {
		t.Fatal(fmt.Errorf("with a clock of its own: %w", err))
	}
}
