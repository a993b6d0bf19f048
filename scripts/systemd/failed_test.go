package systemd_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A unit that fails leaves one notice, and NOTIFY is started once: not each minute, not if it
// fails and works by turns, and not at once again if it fails itself, which the notice then
// says. Time passes by making what is there older.
func TestNotice(t *testing.T) {
	need(t, "unshare", "bash")
	script, err := filepath.Abs("../failed")
	if err != nil {
		t.Fatal(err)
	}
	told := t.TempDir() + "/told"
	const line = "pulse: pulse-run.service fails since T: journalctl -u 'pulse-run.service'\n"
	for _, c := range []struct {
		name, steps, notice, told string
		fails                     bool
	}{
		{"once", "fail; fail; fail", line, "1", false},
		{"each day", "fail; later 23 hours; fail; later 2 hours; fail", line, "2", false},
		{"by turns", "fail; works; fail; works; fail", line, "1", false},
		{"again", "fail; works; later 61 minutes; fail", line, "2", false},
		{"works", "fail; works", "", "1", false},
		{"NOTIFY fails", "NOTIFY=false; fail", line + "pulse: NOTIFY failed, so nobody was told: journalctl -u \"pulse-failed@*\"\n", "0", true},
		{"NOTIFY fails, and not each minute", "NOTIFY=\"tee /run/x -a /nonexistent/x\"; fail; rm /run/x; fail && [ ! -e /run/x ]", line + "pulse: NOTIFY failed, so nobody was told: journalctl -u \"pulse-failed@*\"\n", "0", false},
		{"NOTIFY is not there", "NOTIFY=/nonexistent; fail", line + "pulse: NOTIFY failed, so nobody was told: journalctl -u \"pulse-failed@*\"\n", "0", true},
		{"NOTIFY works again", "n=$NOTIFY; NOTIFY=false; fail; NOTIFY=$n; fail; later 61 minutes; fail", line, "1", false},
		{"no NOTIFY", "NOTIFY=; fail; fail", line, "0", false},
		{"nowhere to write", "mount -t tmpfs -o ro none /run; fail", "", "0", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("unshare", "--map-root-user", "--mount", "bash", "-c", `mount -t tmpfs none /run || exit 3
export NOTIFY="tee -a `+told+`"; rm -f `+told+`
fail() { "$0" pulse-run.service 2>/dev/null; }
works() { rm -f /run/motd.d/pulse-run.service; }
later() { find /run -type f -exec sh -c 'touch -d "$(date -r "$2") - $1" "$2"' - "$1 $2" {} \;; }
`+c.steps+`
status=$?
cat /run/motd.d/* 2>/dev/null | sed 's/since .* [-+A-Z0-9]*:/since T:/'
grep -c . `+told+` 2>/dev/null || [ -e `+told+` ] || echo 0
exit $status`, script)
			out, err := cmd.CombinedOutput()
			if string(out) != c.notice+c.told+"\n" {
				t.Errorf("%v: %s", err, out)
			}
			if (err != nil) != c.fails {
				t.Errorf("exit %v", err)
			}
		})
	}
	for _, name := range []string{"", "../passwd", "a b", "a\nb", "$(id)"} {
		if out, err := exec.Command(script, name).CombinedOutput(); err == nil || !strings.Contains(string(out), "the name of a unit") {
			t.Errorf("%q: %v: %s", name, err, out)
		}
	}
}
