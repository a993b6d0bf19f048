package man

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pulse/lib/shared/cmdline/cmdlinetest"
)

// entry is a line of a crontab that starts something, and the account if it names one.
type entry struct{ account, command string }

// crontab reads a crontab the way cron(8) does: no expansion of variables, and a
// percent sign would end the command.
func crontab(t *testing.T, text string) (env []string, entries []entry) {
	t.Helper()
	variable := regexp.MustCompile(`^[A-Z_]+=`)
	command := regexp.MustCompile(`^(?:[0-9*/,-]+ +){5}(?:(root|pulse) )?(.+)$`)
	for line := range strings.SplitSeq(text, "\n") {
		m := command.FindStringSubmatch(line)
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case variable.MatchString(line) && !strings.ContainsAny(line, "$~"):
			env = append(env, line)
		case m != nil && !strings.Contains(line, "%"):
			entries = append(entries, entry{m[1], m[2]})
		default:
			t.Errorf("cron would not read this as it is meant: %s", line)
		}
	}
	return env, entries
}

// job is the part of a gate that an entry starts.
func job(t *testing.T, entries []entry, words string) entry {
	t.Helper()
	for _, e := range entries {
		if strings.Contains(e.command, words) {
			return e
		}
	}
	t.Fatalf("no entry has %q", words)
	return entry{}
}

// gate is a home in which pulse-authorize init wrote a policy and a queue, and what cron would start there.
// In place of what is installed are the commands and scripts of this source, with the
// programs in ~/bin before them.
type gate struct {
	home    string
	env     []string
	entries []entry
	given   bool // to an ordinary account
}

// give makes all of it an ordinary account's, which a box needs.
func (g *gate) give(t *testing.T) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(g.home), 0o755); err != nil {
		t.Fatal(err)
	}
	cmdlinetest.Own(t, g.home)
	g.given = true
}

// gateOf makes one, with the policy of the world and what is said of the environment.
func gateOf(t *testing.T, set func(environment string) string) *gate {
	t.Helper()
	home := world(t)
	local := filepath.Join(home, "bin")
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReplacer("PATH=/usr/local/bin", "PATH="+local+":"+bin,
		"/usr/local/libexec/pulse/box ", scripts+"/box --ro "+local+" ", "/usr/local/libexec/pulse", scripts)
	cmd := exec.Command(bin+"/pulse-authorize", "init", "--owner", "me@example.com", "--inbox", "imaps://agent%40example.com@imap.example.com/INBOX", "--dir", home+"/pulse")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text := func(name string) string {
		return in.Replace(strings.Join(read(t, home+"/pulse/"+name), "\n") + "\n")
	}
	put(t, home, "pulse/environment", set(text("environment")))
	put(t, home, "pulse/policy.toml", strings.Join(read(t, home+"/policy.toml"), "\n")+"\n[extract]\nschema = \"request\"\nrequire = [\"external_verified\"]\n")
	put(t, home, "pulse/key", "OPENAI_API_KEY=\"k1\"\n")
	g := &gate{home: home}
	g.env, g.entries = crontab(t, text("crontab"))
	if out, err := g.cron("pulse-queue init"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return g
}

// cron runs a line as cron(8) does, and returns what it would mail.
func (g *gate) cron(line string) (string, error) {
	cmd := exec.Command("/bin/bash", "-c", line)
	cmd.Dir, cmd.Env = g.home, append([]string{"HOME=" + g.home, "LOGNAME=me", "XDG_STATE_HOME=" + g.home + "/.local/state"}, g.env...)
	if g.given {
		cmdlinetest.Ordinary(cmd)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// suggested takes the suggestions for READER and WORKER in the environment.
func suggested(environment string) string {
	return regexp.MustCompile(`(?m)^# (READER|READ_FLAGS|WORKER|RUN_FLAGS)=`).ReplaceAllString(environment, "$1=")
}

// The crontab that pulse-authorize init writes for one account is run as cron runs it, in a
// home of its own. In place of a mailbox a wrapper of pulse-fetch, first in PATH, reads a
// Maildir; in place of llm a script says what it sees, in the box; and in place of the ways
// out, of which there must be exactly those two sockets, are two to nowhere.
func TestCrontab(t *testing.T) {
	g := gateOf(t, suggested)
	local, home := filepath.Join(g.home, "bin"), g.home
	if len(g.entries) != 9 {
		t.Fatalf("%d entries", len(g.entries))
	}
	wrapper := func(script string) { executable(t, local, "pulse-fetch", script) }
	wrapper(`[ "$*" = "--wait 4m --password-file ` + home + `/pulse/password imaps://agent%40example.com@imap.example.com/INBOX" ] || exit 64
exec ` + bin + `/pulse-fetch "maildir:$HOME/Maildir"`)
	executable(t, local, "pulse-queue", `[ "$1" != way ] || { echo "$*" >>`+home+`/ways; exit; }; exec `+bin+`/pulse-queue "$@"`)
	executable(t, local, "llm", `cat >/tmp/given
[ "$OPENAI_API_KEY" = k1 ] && [ -S /run/model ] && [ ! -e `+home+`/pulse ] && [ ! -e /etc/passwd ] || exit 1
if grep -q '"schema"' /tmp/given; then echo '{"request":"question"}'; else jq -c '{action: "external_send", target: "friend@partner.example", args: {text: "\(.extract.request), \(.message.subject), \(.message.text)"}}' /tmp/given; fi`)
	if err := os.Mkdir(home+"/pulse/out", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pulse-reader", "pulse-worker"} {
		put(t, home, "pulse/out-"+name, "TO=\"api.openai.com:443\"\n")
		l, err := net.Listen("unix", home+"/pulse/out/"+name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	g.give(t)
	for range 2 { // the second time there is nothing to do
		for _, e := range g.entries {
			if out, err := g.cron(e.command); e.account != "" || out != "" || err != nil {
				t.Errorf("%s\n%v, and cron would mail %q", e, err, out)
			}
		}
	}
	want := "null, what is new?, Please sum up today's news.\nquestion, null, null\n"
	if seen, err := g.cron("pulse-queue list --state awaiting_review --json | jq -r .request.args.text | sort -u"); seen != want || err != nil {
		t.Errorf("%v: the worker was given %q, want %q", err, seen, want)
	}
	ways := "way --listen " + home + "/pulse/out/pulse-reader api.openai.com:443\n"
	ways += strings.Replace(ways, "reader", "worker", 1)
	if seen, err := g.cron("sort -u ways"); seen != ways || err != nil {
		t.Errorf("%v: the ways out are %q", err, seen)
	}
	wrapper("exit 75")
	if _, err := g.cron(g.entries[0].command); status(err) != 75 {
		t.Errorf("a fetch that failed: %v, want exit 75", err)
	}
}

func executable(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.Chmod(put(t, dir, name, "#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func status(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}
