package man

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// entry is a line of a crontab that starts something.
type entry struct{ command string }

// crontab reads a crontab the way cron(8) does: no expansion of variables, and a
// percent sign would end the command.
func crontab(t *testing.T, text string) (env []string, entries []entry) {
	t.Helper()
	variable := regexp.MustCompile(`^[A-Z_]+=`)
	command := regexp.MustCompile(`^(?:[0-9*/,-]+ +){5}(.+)$`)
	for line := range strings.SplitSeq(text, "\n") {
		m := command.FindStringSubmatch(line)
		switch {
		case line == "":
		case variable.MatchString(line) && !strings.ContainsAny(line, "$~"):
			env = append(env, line)
		case m != nil && !strings.Contains(line, "%"):
			entries = append(entries, entry{m[1]})
		default:
			t.Errorf("cron would not read this as it is meant: %s", line)
		}
	}
	return env, entries
}

// The crontab of pulse(7) is run as cron runs it, in a home of its own. In place of
// a mailbox a wrapper of pulse-fetch, first in PATH, reads a Maildir.
func TestCrontab(t *testing.T) {
	home := world(t)
	local := filepath.Join(home, "bin")
	text := read(t, "pulse.7").marked(t, "crontab")
	text = strings.ReplaceAll(text, "/home/me", home)
	text = strings.Replace(text, "PATH=/usr/local/bin", "PATH="+local+":"+bin, 1)
	env, entries := crontab(t, text)
	if len(entries) != 4 {
		t.Fatalf("%d entries", len(entries))
	}
	policy, err := os.ReadFile(home + "/policy.toml")
	if err != nil {
		t.Fatal(err)
	}
	put(t, home, "pulse/policy.toml", string(policy))
	wrapper := func(script string) { executable(t, local, "pulse-fetch", script) }
	wrapper(`[ "$*" = "--password-file password imaps://me@imap.example.com/INBOX" ] || exit 64
exec ` + bin + `/pulse-fetch "maildir:$HOME/Maildir"`)
	executable(t, local, "agent", "jq -r .message.subject >>"+home+"/seen")
	if out, err := exec.Command(bin+"/pulse-queue", "init", "--queue", home+"/pulse/queue").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cron := func(e entry) (string, error) {
		cmd := exec.Command("/bin/bash", "-c", e.command)
		cmd.Dir, cmd.Env = home, append([]string{"HOME=" + home, "LOGNAME=me", "XDG_STATE_HOME=" + home + "/state"}, env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for range 2 { // the second time there is nothing to do
		for _, e := range entries {
			if out, err := cron(e); out != "" || err != nil {
				t.Errorf("%s\n%v, and cron would mail %q", e.command, err, out)
			}
		}
	}
	if seen, _ := os.ReadFile(home + "/seen"); string(seen) != "what is new?\nlunch\n" {
		t.Errorf("the agent saw %q", seen)
	}
	wrapper("exit 75")
	if _, err := cron(entries[0]); status(err) != 75 {
		t.Errorf("a fetch that failed: %v, want exit 75", err)
	}
}

func executable(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.Chmod(put(t, dir, name, "#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func status(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}
