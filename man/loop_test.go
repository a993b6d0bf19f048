package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The entries of an agent that sends are run as cron runs them, with a worker without a box
// and a stand-in for msmtp: what the agent wants goes out once a person agreed, once.
func TestCrontabOfTheLoop(t *testing.T) {
	g := gateOf(t, func(environment string) string {
		return strings.Replace(environment, "# SENDER=", "SENDER=", 1) + "WORKER=\"agent\"\nRUN_FLAGS=\"--proposals\"\n"
	})
	dir, local := g.home, filepath.Join(g.home, "bin")
	executable(t, local, "agent", `echo '`+read(t, "pulse-agents.7").marked(t, "file: proposed")+`'`)
	executable(t, local, "msmtp", `[ "$1" = --pretend ] || { echo "$@" >>`+dir+`/sent; cat >/dev/null; }`)
	executable(t, local, "pulse-fetch", "exec "+bin+`/pulse-fetch $HOME/mail/owner.eml`)
	cron := func() {
		t.Helper()
		for _, words := range []string{"pulse-fetch ", "run $RUN_FLAGS", "outbox", "external_send"} {
			if out, err := g.cron(job(t, g.entries, words).command); out != "" || err != nil {
				t.Errorf("%s\n%v, and cron would mail %q", words, err, out)
			}
		}
	}
	cron()
	cron()
	if b, err := os.ReadFile(dir + "/sent"); err == nil {
		t.Fatalf("before anybody agreed: %s", b)
	}
	sh := start(t, dir)
	sh.run(t, "export PULSE_QUEUE="+dir+"/pulse/queue PULSE_POLICY="+dir+"/pulse/policy.toml")
	if out, status := sh.run(t, "pulse-approve yes $(pulse-queue list --state awaiting_review --json | jq -r .task.id)"); status != "0" {
		t.Fatal(out)
	}
	cron()
	cron()
	if b, err := os.ReadFile(dir + "/sent"); string(b) != "--debug -C "+dir+"/pulse/msmtprc -- bob@partner.example\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// What pulse-authorize init suggests for drafts, and the flags in pulse-agents(7), are those of the
// sender.
func TestCrontabOfDrafts(t *testing.T) {
	page := read(t, "pulse-agents.7")
	var suggested string
	g := gateOf(t, func(environment string) string {
		_, suggested, _ = strings.Cut(environment, "# DRAFTER=\"")
		suggested, _, _ = strings.Cut(suggested, "\"\n")
		return environment
	})
	job(t, g.entries, "--effect write_local -- $DRAFTER")
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
	if out := run(strings.Fields(suggested)[1:]...); out != "drafts: nothing was drafted: --password-file: No such file or directory\n" {
		t.Error(out)
	}
	_, section, _ := strings.Cut(strings.Join(page, "\n"), ".Ss Drafts in your own mail client")
	section, _, _ = strings.Cut(section, ".Ss ")
	flags := regexp.MustCompile(`(?m)^\.It Fl -([a-z-]+) Ar `).FindAllStringSubmatch(section, -1)
	if len(flags) != 6 {
		t.Errorf("%d flags", len(flags))
	}
	for _, flag := range flags {
		if out := run("--" + flag[1]); !strings.Contains(out, "wants a value") {
			t.Errorf("--%s: %s", flag[1], out)
		}
	}
}
