package man

import (
	"net"
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
// a mailbox a wrapper of pulse-fetch, first in PATH, reads a Maildir; in place of llm a script
// says what it sees, in the box; and in place of the way out, of which there must be exactly
// the socket, is one to nowhere.
func TestCrontab(t *testing.T) {
	home := world(t)
	local := filepath.Join(home, "bin")
	scripts, err := filepath.Abs("../scripts")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/home/me", home, "PATH=/usr/local/bin", "PATH="+local+":"+bin,
		"/usr/local/libexec/pulse/box ", scripts+"/box --ro "+local+" ", "/usr/local/libexec/pulse", scripts).
		Replace(read(t, "pulse.7").marked(t, "crontab"))
	env, entries := crontab(t, text)
	if len(entries) != 7 {
		t.Fatalf("%d entries", len(entries))
	}
	policy, err := os.ReadFile(home + "/policy.toml")
	if err != nil {
		t.Fatal(err)
	}
	put(t, home, "pulse/policy.toml", string(policy)+"\n[extract]\nschema = \"request\"\nrequire = [\"external_verified\"]\n")
	put(t, home, "pulse/key", "k1\n")
	wrapper := func(script string) { executable(t, local, "pulse-fetch", script) }
	wrapper(`[ "$*" = "--password-file password imaps://me@imap.example.com/INBOX" ] || exit 64
exec ` + bin + `/pulse-fetch "maildir:$HOME/Maildir"`)
	executable(t, local, "socat", `case $1 in UNIX-LISTEN:*) [ "$*" = "UNIX-LISTEN:model,fork,unlink-early,mode=600 TCP:api.openai.com:443" ] || exit 64 ;; *) exec /usr/bin/socat "$@" ;; esac`)
	executable(t, local, "llm", `cat >/tmp/given
[ "$OPENAI_API_KEY" = k1 ] && [ -S /run/model ] && [ ! -e `+home+`/pulse ] && [ ! -e /etc/passwd ] || exit 1
if grep -q '"schema"' /tmp/given; then echo '{"request":"question"}'; else jq -c '{action: "external_send", target: "friend@partner.example", args: {text: "\(.extract.request), \(.message.subject), \(.message.text)"}}' /tmp/given; fi`)
	l, err := net.Listen("unix", home+"/pulse/model")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cron := func(line string) (string, error) {
		cmd := exec.Command("/bin/bash", "-c", line)
		cmd.Dir, cmd.Env = home, append([]string{"HOME=" + home, "LOGNAME=me", "XDG_STATE_HOME=" + home + "/state"}, env...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := cron("pulse-queue init"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for range 2 { // the second time there is nothing to do
		for _, e := range entries {
			if out, err := cron(e.command); out != "" || err != nil {
				t.Errorf("%s\n%v, and cron would mail %q", e.command, err, out)
			}
		}
	}
	want := "null, what is new?, Please sum up today's news.\nquestion, null, null\n"
	if seen, err := cron("pulse-queue list --state awaiting_review --json | jq -r .request.args.text | sort -u"); seen != want || err != nil {
		t.Errorf("%v: the worker was given %q, want %q", err, seen, want)
	}
	wrapper("exit 75")
	if _, err := cron(entries[0].command); status(err) != 75 {
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
