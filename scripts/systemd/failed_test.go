package systemd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A person is told when a unit begins to fail, once a day while it lasts, and when it ends, and of
// nothing else: not each minute, not if it comes and goes, and not at once again if NOTIFY fails
// itself, which the notice then says. A unit that is silent remembers what was told. Time passes by
// making what is there older; systemctl and journalctl are those of the test.
func TestNotice(t *testing.T) {
	need(t, "unshare", "bash", "systemctl", "journalctl")
	script, err := filepath.Abs("../failed")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		// Each run of a unit has the files of its name: what it printed, and that it was started.
		"journalctl": "case $6 in _*=7) cat /run/said ;; INVOCATION_ID=7) cat /run/kept ;; esac 2>/dev/null; [ $1 = --sync ] || [ $# = 6 ] || echo journalctl \"$@\"",
		"systemctl":  "case $3 in InvocationID) cat /run/id ;; Result) cat /run/result ;; ExecMainStatus) echo 0 ;; *) [ \"$1 $2 $3\" = \"start --no-block pulse-failed@$(cat /run/unit).service\" ] && touch /run/started ;; esac",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const (
		begins = "run fails since T\n"
		again  = "run works again\n"
		hbegin = "health fails since T\n"
		untold = "pulse: NOTIFY failed, so nobody was told: journalctl -u \"pulse-failed@*\"\n"
	)
	for _, c := range []struct {
		name, steps, notice, told string
		fails                     bool
	}{
		{"once", "say x; fail 64; fail 64; fail 64", begins, begins + "x\n", false},
		{"each day", "say x; fail 1; later 23 hours; fail 1; later 2 hours; fail 1", begins, begins + "x\n" + begins + "x\n", false},
		{"killed without a word", "fail killed; fail killed", begins, begins, false},
		{"works", "say x; fail 64; say; works; works", "", begins + "x\n" + again, false},
		{"works by turns", "say x; fail 64; works; fail 64; works; later 2 hours; fail 64; works", "", begins + "x\n" + again + "x\n", false},
		{"works by turns for days", "say x; fail 64; works; later 13 hours; fail 64", begins, begins + "x\n" + again + "x\n" + begins + "x\n", false},
		{"by turns, and then it lasts", "say x; fail 64; say; works; fail 64; later 59 minutes; fail 64; later 2 minutes; fail 64; fail 64", begins, begins + "x\n" + again + begins, false},

		// A stage that can't reach its source, or a queue whose disk is full.
		{"silent", "say unreachable; fail 75; say; fail 75; later 30 hours; fail 75", begins, begins + "unreachable\n", false},
		{"silent, reminded", "say unreachable; fail 75; say; fail 75; later 25 hours; say unreachable; fail 75; say; fail 75", begins, begins + "unreachable\n" + begins + "unreachable\n", false},
		{"silent, and ends", "say login; fail 1; say; fail 1; say ended: login; works; say; works", "", begins + "login\n" + again + "ended: login\n", false},
		{"silent, and health tells the end", "say full; fail 75; say; fail 75; works", "", begins + "full\n", false},
		{"silent, over a reboot", "fail 75; rm -r /run/pulse-failed; say pulse-fetch: ended: login; works", "", again + "pulse-fetch: ended: login\n", false},
		{"comes and goes in silence", "fail 75; works; fail 75; works", "", "", false},
		{"silent, but the journal is not kept", "rm /run/kept; fail 75; fail 75", begins, begins, false},
		{"started by hand", "\"$0\" pulse-run.service", "", "", false},
		{"silent in another way", "fail 64; fail 64", begins, begins, false},

		// Health prints what is news, and fails as long as anything is wrong.
		{"health", "unit health; say failed: 1; fail 1; say; fail 1; say held; fail 1; say; fail 1; say ended: held; fail 1; say; fail 1; say ended: failed: 1; works; say; works",
			"", hbegin + "failed: 1\n" + hbegin + "held\n" + hbegin + "ended: held\n" + "health works again\nended: failed: 1\n", false},
		{"health, each day", "unit health; say held; fail 1; say; fail 1; later 24 hours; say held; fail 1; say; fail 1", hbegin, hbegin + "held\n" + hbegin + "held\n", false},
		{"health can't look", "unit health; say locked; fail 75; fail 75; say; fail 75; works", "", hbegin + "locked\n", false},

		{"NOTIFY fails", "say x; NOTIFY=false; fail 64", begins + untold, "", true},
		{"NOTIFY fails, and not each minute", "NOTIFY=\"tee /run/x -a /nonexistent/x\"; say x; fail 64; rm /run/x; fail 64 && [ ! -e /run/x ]", begins + untold, "", false},
		{"NOTIFY is not there", "NOTIFY=/nonexistent; fail 64", begins + untold, "", true},
		{"NOTIFY works again", "n=$NOTIFY; unit health; NOTIFY=false; say failed: 1; fail 1; NOTIFY=$n; say; fail 1; later 61 minutes; say held; fail 1; say; fail 1",
			hbegin, hbegin + "failed: 1\nheld\n", false},
		{"NOTIFY fails in the end", "n=$NOTIFY; unit health; say held; fail 1; NOTIFY=false; say ended: held; works; NOTIFY=$n; say; works; later 61 minutes; works; works",
			"", hbegin + "held\n" + "health works again\nended: held\n", false},
		{"no NOTIFY", "NOTIFY=; say x; fail 64; fail 64", begins, "", false},
		{"no NOTIFY, works", "NOTIFY=; say x; fail 64; works", "", "", false},
		{"hostile", "say '$(touch /run/x)\n`touch /run/x`\nEND'; fail 64; [ ! -e /run/x ]", begins, begins + "$(touch /run/x)\n`touch /run/x`\nEND\n", false},
		{"what a terminal would obey", "say 'a\\tb\\033[2J\\302\\2330m\\342\\200\\256c\\303\\251'; fail 64", begins, begins + "a\tb?[2J?0m?c\u00e9\n", false},
		{"a flood", "say \"$(head -c 1000000 /dev/zero | tr '\\0' x)\"; fail 64; size=$(wc -c <\"$2\"); : >\"$2\"; ((size > 16384 && size < 17000))", begins, "", false},
		{"NOTIFY is slow, and it works by then", "say x; slow 'ended: x'; fail 64", "", begins + "x\n" + again + "ended: x\n", false},
		{"NOTIFY is slow, and it works in silence", "say x; slow; fail 64", "", begins + "x\n" + again, false},
		{"NOTIFY is slow, and the end is remembered", "say x; slow 'ended: x'; fail 75", "", begins + "x\n" + again + "ended: x\n", false},
		{"only root reads it", "mkdir /run/pulse-failed; say x; NOTIFY=false; fail 64; rm /run/motd.d/*.untold; [ \"$(stat -c %a /run/pulse-failed /run/pulse-failed/*.not /run/motd.d /run/motd.d/* | xargs)\" = '700 600 755 644' ]", begins, "", false},
		{"nowhere to write", "mount -t tmpfs -o ro none /run; fail 64", "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			told := filepath.Join(t.TempDir(), "told")
			cmd := exec.Command("unshare", "--map-root-user", "--mount", "bash", "-c", `mount -t tmpfs none /run || exit 3
for name in systemctl journalctl; do mount --bind "$1/$name" "$(readlink -f "$(command -v $name)")" || exit 3; done
export NOTIFY="tee -a $2" told=$2
unit() { unit=pulse-$1.service; echo "$unit" >/run/unit; }
say() { printf "${*:+${*//\%/%%}\n}" >/run/said; }
fail() { # STATUS, or another result
	result=exit-code status=$1
	[ "$1" != killed ] || result=signal status=9
	env MONITOR_INVOCATION_ID=7 MONITOR_SERVICE_RESULT=$result MONITOR_EXIT_STATUS=$status "$0" "$unit" 2>/dev/null
}
works() { # as the unit starts it, and systemd then
	"$0" --works "$unit"
	if [ -e /run/started ]; then rm /run/started; "$0" "$unit" 2>/dev/null; fi
}
slow() { # WORDS: the unit works while NOTIFY runs, and then is in another run; systemd merges the start
	printf '%s\n' "cat >>'$told'" "[ ! -e /run/worked ] || exit 0; touch /run/worked" "echo '$1' >/run/said" \
		"INVOCATION_ID=7 '$0' --works $unit; rm /run/started; echo 8 >/run/id" >/run/slow
	NOTIFY="bash /run/slow"
}
later() { find /run -type f -exec sh -c 'touch -d "$(date -r "$2" "+%F %T.%N %z") $1 ago" "$2"' - "$1 $2" {} \;; }
unit run; say; echo Starting >/run/kept; echo success >/run/result; echo 7 >/run/id
`+c.steps+`
status=$?
cat /run/motd.d/* 2>/dev/null
exit $status`, script, dir, told)
			out, err := cmd.CombinedOutput()
			if got := times.ReplaceAllString(string(out), "$1$2 since T\n"); got != c.notice {
				t.Errorf("%v: notice %s", err, got)
			}
			if (err != nil) != c.fails {
				t.Errorf("exit %v", err)
			}
			b, err := os.ReadFile(told)
			if err != nil && c.told != "" {
				t.Error(err)
			}
			host, err := os.Hostname()
			got := strings.ReplaceAll(string(b), " on "+host+"\n", "\n")
			got = works.ReplaceAllString(times.ReplaceAllString(got, "$1$2 since T\n"), "$1$2")
			if got != c.told || err != nil {
				t.Errorf("told %s, want %s", got, c.told)
			}
		})
	}
	for _, name := range []string{"", "../passwd", "a b", "a\nb", "$(id)"} {
		if out, err := exec.Command(script, name).CombinedOutput(); err == nil || !strings.Contains(string(out), "the name of a unit") {
			t.Errorf("%q: %v: %s", name, err, out)
		}
	}
}

var (
	times = regexp.MustCompile(`pulse: pulse-(\w+)\.service( fails) since .*: journalctl -u 'pulse-\w+\.service'\n`)
	works = regexp.MustCompile(`pulse: pulse-(\w+)\.service( works again\n)`)
)
