package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The line of pulse(7) for an agent that sends is run as cron runs it, after the entries
// that lead there, with a worker without a box and a stand-in for msmtp: what the agent
// wants goes out once a person agreed, once.
func TestCrontabOfTheLoop(t *testing.T) {
	dir := world(t)
	page := read(t, "pulse.7")
	_, loop := crontab(t, page.marked(t, "crontab: loop"))
	_, above := crontab(t, page.marked(t, "crontab"))
	if len(loop) != 1 {
		t.Fatalf("%d entries", len(loop))
	}
	source, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(dir, "bin")
	executable(t, local, "agent", `echo '`+page.marked(t, "file: proposed")+`'`)
	executable(t, local, "msmtp", `[ "$1" = --pretend ] || { echo "$@" >>`+dir+`/sent; cat >/dev/null; }`)
	executable(t, local, "pulse-fetch", "exec "+bin+`/pulse-fetch $HOME/mail/owner.eml`)
	put(t, dir, "pulse/key", "k1\n")
	sh := start(t, dir)
	sh.run(t, "export SHELL=/bin/bash BOX= WORKER=agent PATH="+local+":$PATH PULSE_QUEUE="+dir+"/pulse/queue; pulse-queue init")
	cron := func(e entry) {
		t.Helper()
		put(t, dir, "entry", strings.ReplaceAll(e.command, "/usr/local/libexec/pulse", source))
		if out, status := sh.run(t, "bash -c \"$(cat entry)\""); out != "" || status != "0" {
			t.Errorf("%s\nexit %s, and cron would mail %q", e.command, status, out)
		}
	}
	for range 2 {
		for _, e := range slices.Concat(above[:1], above[3:5], loop) {
			cron(e)
		}
	}
	if b, err := os.ReadFile(dir + "/sent"); err == nil {
		t.Fatalf("before anybody agreed: %s", b)
	}
	if out, status := sh.run(t, "pulse-approve yes $(pulse-queue list --state awaiting_review --json | jq -r .task.id)"); status != "0" {
		t.Fatal(out)
	}
	for range 2 {
		cron(loop[0])
	}
	if b, err := os.ReadFile(dir + "/sent"); string(b) != "--debug -- bob@partner.example\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// The configuration of msmtp is one that it takes.
func TestConfigurationOfMsmtp(t *testing.T) {
	rc := put(t, t.TempDir(), "msmtprc", read(t, "pulse.7").marked(t, "msmtprc"))
	cmd := exec.Command("msmtp", "-C", rc, "--pretend", "--", "bob@partner.example")
	cmd.Stdin = strings.NewReader("\n")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "socket = /run/pulse-out/pulse-sender\n") || !strings.Contains(string(out), "from = agent@example.com\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// The line of pulse(7) for drafts, and the flags beside it, are those of the sender.
func TestCrontabOfDrafts(t *testing.T) {
	page := read(t, "pulse.7")
	_, drafts := crontab(t, page.marked(t, "crontab: drafts"))
	if len(drafts) != 1 {
		t.Fatalf("%d entries", len(drafts))
	}
	_, sender, _ := strings.Cut(drafts[0].command, " -- ")
	script, err := filepath.Abs("../scripts/senders/drafts")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		cmd := exec.Command(script, args...)
		cmd.Dir = t.TempDir()
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := run(strings.Fields(sender)[1:]...); out != "drafts: nothing was drafted: --password-file: No such file or directory\n" {
		t.Error(out)
	}
	_, section, _ := strings.Cut(strings.Join(page, "\n"), ".Ss Drafts in your own mail client")
	section, _, _ = strings.Cut(section, ".Ss ")
	flags := regexp.MustCompile(`(?m)^\.It Fl Fl ([a-z-]+) Ar `).FindAllStringSubmatch(section, -1)
	if len(flags) != 6 {
		t.Errorf("%d flags", len(flags))
	}
	for _, flag := range flags {
		if out := run("--" + flag[1]); !strings.Contains(out, "wants a value") {
			t.Errorf("--%s: %s", flag[1], out)
		}
	}
}
