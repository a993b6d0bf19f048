package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ours is a path of pulse.
var ours = regexp.MustCompile(`/usr/local/(?:bin/pulse|libexec|share).*`)

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
			if at := ours.Find(b); at != nil {
				t.Errorf("%s names %s", path, at)
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
	if b, err := os.ReadFile(dir + "/opt/pulse/share/doc/pulse/crontab"); err != nil || !strings.Contains(string(b), "\nPATH=/opt/pulse/bin:/usr/local/bin:/usr/bin:") {
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

// What belongs to other programs stays where it is: a package does not say that pipx may write
// to the directory of dpkg, and units find in /usr/local/bin what was put there.
func TestInstallOthersPaths(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("../install")
	cmd.Env = append(os.Environ(), "DESTDIR="+dir, "PREFIX=/usr", "SYSTEMDUNITDIR=/usr/lib/systemd/system")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{
		"lib/systemd/system/pulse-.service.d/hardening.conf": "=PATH=/usr/local/bin:/usr/bin:/bin\n",
		"share/doc/pulse/crontab":                            "\nPATH=/usr/local/bin:/usr/bin:/bin\n",
		"share/man/man7/pulse-deploy.7":                      "PIPX_HOME=/usr/local/lib/pipx PIPX_BIN_DIR=/usr/local/bin ",
	} {
		if b, err := os.ReadFile(dir + "/usr/" + name); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v: no %q", name, err, want)
		}
	}
}
