package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is installed elsewhere says so: units, crontab and pages. Each unit of the tree is
// installed.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("../install")
	cmd.Env = append(os.Environ(), "DESTDIR="+dir, "PREFIX=/opt/pulse", "SYSTEMDUNITDIR=/lib/systemd/system")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	units := dir + "/lib/systemd/system"
	for _, root := range []string{units, dir + "/opt/pulse/share"} {
		err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), "/usr/local/") {
				t.Errorf("%s names /usr/local", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	b, err := os.ReadFile(units + "/pulse-failed@.service")
	command, _, _ := strings.Cut(strings.SplitAfter(string(b), "ExecStart=+")[1], " ")
	if info, err2 := os.Stat(dir + command); err != nil || err2 != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v: what leaves a notice is not installed", err, err2)
	}
	if b, err := os.ReadFile(dir + "/opt/pulse/share/doc/pulse/crontab"); err != nil || !strings.Contains(string(b), "\nPATH=/opt/pulse/bin:") {
		t.Errorf("%v: %s", err, b)
	}
	for _, pattern := range []string{"*.service", "*.timer", "*.socket", "*.target", "*.d/*.conf"} {
		names, err := filepath.Glob(pattern)
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(units, name)); err != nil {
				t.Error(err)
			}
		}
		if err != nil || len(names) == 0 {
			t.Error(pattern, err)
		}
	}
}
