// Package systemd_test holds the units against systemd, and against what the commands
// do when they are run as the units run them.
package systemd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// need fails where a program of systemd, or strace, is missing.
func need(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
}

// installed copies the units to a directory, with our commands in place of those that
// are installed and a name for instances, and returns their paths.
func installed(t *testing.T) (units []string) {
	t.Helper()
	dir := t.TempDir()
	for _, pattern := range []string{"*.service", "*.timer", "*.socket", "*.target", "*.d/*.conf"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, strings.Replace(name, "@.", "@pulse.", 1))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			text := strings.NewReplacer("/usr/local/bin", bin, "/usr/local/libexec/pulse", filepath.Dir(cwd(t))).Replace(string(b))
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, ".conf") {
				units = append(units, path)
			}
		}
	}
	return units
}

// Every unit is one that systemd takes without a word, and every service exposes no
// more than 1.5 of 10, or 3 if what it starts makes a box: the namespaces of bubblewrap alone
// count 0.9, and fewer calls than @mount, which they have, are not counted. What leaves a notice
// has all rights of root, and says so; no figure counts that.
func TestUnits(t *testing.T) {
	need(t, "systemd-analyze")
	for _, unit := range installed(t) {
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(unit), err, out)
		}
		if !strings.HasSuffix(unit, ".service") || strings.HasPrefix(filepath.Base(unit), "pulse-failed@") {
			continue
		}
		threshold := "--threshold=15"
		if _, err := os.Stat(unit + ".d/in-a-box.conf"); err == nil {
			threshold = "--threshold=30"
		}
		out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", threshold, unit).CombinedOutput()
		level := regexp.MustCompile(`Overall exposure level for .*`).Find(out)
		if err != nil || level == nil {
			t.Errorf("%s: %v\n%s", filepath.Base(unit), err, out)
		}
		t.Logf("%s", level)
	}
}

// A service that lacks the drop-in would be found out.
func TestThresholdIsAsked(t *testing.T) {
	need(t, "systemd-analyze")
	unit := filepath.Join(t.TempDir(), "pulse-naked.service")
	if err := os.WriteFile(unit, []byte("[Service]\nExecStart=/bin/true\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=15", unit).Run(); err == nil {
		t.Error("an open service passes")
	}
}

// matching returns the names of the units that match, without their extension.
func matching(t *testing.T, pattern string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	for _, name := range files {
		names = append(names, strings.TrimSuffix(name, filepath.Ext(name)))
	}
	return names
}

// Every service except those that are started by a socket or a failure has a timer, and every
// timer a service. The target starts each timer that is not of an instance, and its stop stops
// all.
func TestTimers(t *testing.T) {
	timers := matching(t, "*.timer")
	starts := append(append(matching(t, "*.socket"), "pulse-failed@"), timers...)
	services := matching(t, "*.service")
	slices.Sort(starts)
	slices.Sort(services)
	if !slices.Equal(services, starts) {
		t.Errorf("services %v, started %v", services, starts)
	}
	var also []string
	for _, name := range timers {
		if !strings.HasSuffix(name, "@") {
			also = append(also, name+".timer")
		}
		for _, line := range []string{"\nPartOf=pulse.target\n", "\nWantedBy=pulse.target\n"} {
			if b, err := os.ReadFile(name + ".timer"); err != nil || !strings.Contains(string(b), line) {
				t.Errorf("%s: no %q, %v", name, line, err)
			}
		}
	}
	list := strings.Fields(own(t, "pulse.target", "Also")[0])
	slices.Sort(list)
	slices.Sort(also)
	if !slices.Equal(list, also) {
		t.Errorf("the target has %v, want %v", list, also)
	}
}

// Whatever fails leaves a notice, except what leaves it: that would be a loop.
func TestOnFailure(t *testing.T) {
	for _, name := range matching(t, "*.service") {
		want := []string{"pulse-failed@%n.service"}
		if name == "pulse-failed@" {
			want = nil
		}
		if got := own(t, name+".service", "OnFailure"); !slices.Equal(got, want) {
			t.Errorf("%s: OnFailure %v", name, got)
		}
		rights := slices.ContainsFunc(own(t, name+".service", "ExecStart"), func(s string) bool { return strings.HasPrefix(s, "+") })
		if rights != (name == "pulse-failed@") {
			t.Errorf("%s: all rights: %v", name, rights)
		}
	}
	if !slices.Contains(setting(t, "pulse-run.service", "ExecStartPost"), "-+/usr/local/libexec/pulse/failed --works %n") {
		t.Error("a unit that works again leaves its notice")
	}
}

// Further mailboxes are read as the first one is, with a file of their own that comes after
// the one of all units.
func TestFurtherMailboxes(t *testing.T) {
	first, err := os.ReadFile("pulse-intake.service")
	if err != nil {
		t.Fatal(err)
	}
	further, err := os.ReadFile("pulse-intake@.service")
	want := strings.NewReplacer("=Mail becomes", "=Mail of %i becomes", "/etc/pulse/password ", "/etc/pulse/password-%i ").Replace(string(first))
	if err != nil || string(further) != want {
		t.Errorf("%v: %s", err, further)
	}
	names, err := filepath.Glob("pulse-intake@.service.d/*.conf")
	if err != nil || len(names) != 1 || filepath.Base(names[0]) < "hardening.conf" {
		t.Errorf("%v, %v: read before hardening.conf", names, err)
	}
}

// scripts/crontab has the command lines of the units, and no others except the way out. Nobody starts
// one of its lines by hand, as they do with a unit.
func TestCrontab(t *testing.T) {
	b, err := os.ReadFile("../crontab")
	if err != nil {
		t.Fatal(err)
	}
	var units []string
	for _, name := range matching(t, "*.service") {
		if strings.HasSuffix(name, "@") {
			continue
		}
		account := own(t, name+".service", "User")[0]
		for _, line := range own(t, name+".service", "ExecStart") {
			units = append(units, account+" "+strings.NewReplacer("((EPOCHSECONDS - $${TRIGGER_TIMER_REALTIME_USEC:-0}/1000000 < 5)) || WAIT_FLAGS=; ", "", "$$", "$", "/usr/local/bin/", "").Replace(line))
		}
	}
	entry := regexp.MustCompile(`(?m)^[0-9*/ ]+ (root |pulse )(?:.*flock -no \S+ )?((?:/bin/bash|pulse-queue) .*)$`)
	var crons []string
	for _, m := range entry.FindAllStringSubmatch(string(b), -1) {
		if !strings.HasPrefix(m[2], "pulse-queue way ") {
			crons = append(crons, m[1]+m[2])
		}
	}
	slices.Sort(units)
	slices.Sort(crons)
	if !slices.Equal(units, crons) {
		t.Errorf("units\n%s\ncrontab\n%s", strings.Join(units, "\n"), strings.Join(crons, "\n"))
	}
}

// The accounts and directories are those that the units name.
func TestAccounts(t *testing.T) {
	need(t, "systemd-sysusers", "systemd-tmpfiles")
	if os.Geteuid() != 0 {
		t.Skip("only root can make accounts and give directories to them, even in a root of their own: sysusers and tmpfiles were not tried")
	}
	root := t.TempDir()
	if err := os.Mkdir(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{
		exec.Command("systemd-sysusers", "--root="+root, filepath.Join(cwd(t), "sysusers.conf")),
		exec.Command("systemd-tmpfiles", "--root="+root, "--create", filepath.Join(cwd(t), "tmpfiles.conf")),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	passwd, err := os.ReadFile(root + "/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`(?m)^User=(\S+)|--as (\S+)`)
	for _, unit := range installed(t) {
		b, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(b), -1) {
			if name := m[1] + m[2]; name != "root" && !regexp.MustCompile(`(?m)^`+name+`:`).Match(passwd) {
				t.Errorf("%s: there is no account %s", filepath.Base(unit), name)
			}
		}
	}
	for _, name := range []string{"pulse/queue", "pulse/lock", "pulse/.local/state/pulse", "pulse-seen"} {
		if info, err := os.Stat(root + "/var/lib/" + name); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
	}
}

func cwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bin holds the commands, where any account can reach them.
var bin string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pulse-units-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	if err := cmdlinetest.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// A service of Type=notify is ended when it does not say that it is ready.
func TestReady(t *testing.T) {
	for _, unit := range installed(t) {
		b, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`(?m)^Type=notify`).Match(b) {
			continue
		}
		command := regexp.MustCompile(`(?m)^ExecStart=(\S+)`).FindSubmatch(b)
		if program, err := os.ReadFile(string(command[1])); err != nil || !strings.Contains(string(program), "READY=1") {
			t.Errorf("%s: %s never says that it is ready: %v", filepath.Base(unit), command[1], err)
		}
	}
}
